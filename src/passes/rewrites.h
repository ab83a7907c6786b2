// The passes' functions, one per file of the same name.
#pragma once
#include "graph/patch.h"

namespace convoy {

Result<Patch> drop_identities(const Graph& graph);
Result<Patch> move_axes(const Graph& graph);
Result<Patch> order_kernels(const Graph& graph);
Result<Patch> order_gates(const Graph& graph);
Result<Patch> spell_crops(const Graph& graph);
Result<Patch> spell_padding(const Graph& graph);
Result<Patch> spell_pools(const Graph& graph);
Result<Patch> spell_resize(const Graph& graph);
Result<Patch> spell_norms(const Graph& graph);
Result<Patch> spell_softmax(const Graph& graph);
Result<Patch> shuffle_channels(const Graph& graph);

}  // namespace convoy
