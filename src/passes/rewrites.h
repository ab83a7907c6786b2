// The passes' functions, one per file of the same name.
#pragma once
#include "graph/patch.h"
#include "passes/passes.h"

namespace convoy {

Result<Patch> drop_identities(const Graph& graph, const Target& target);
Result<Patch> move_axes(const Graph& graph, const Target& target);
Result<Patch> order_kernels(const Graph& graph, const Target& target);
Result<Patch> order_gates(const Graph& graph, const Target& target);
Result<Patch> fold_padding(const Graph& graph, const Target& target);
Result<Patch> fold_crops(const Graph& graph, const Target& target);
Result<Patch> spell_crops(const Graph& graph, const Target& target);
Result<Patch> spell_patches(const Graph& graph, const Target& target);
Result<Patch> spell_padding(const Graph& graph, const Target& target);
Result<Patch> spell_pads(const Graph& graph, const Target& target);
Result<Patch> spell_transposed(const Graph& graph, const Target& target);
Result<Patch> spell_adaptive(const Graph& graph, const Target& target);
Result<Patch> spell_powers(const Graph& graph, const Target& target);
Result<Patch> spell_dilation(const Graph& graph, const Target& target);
Result<Patch> spell_pools(const Graph& graph, const Target& target);
Result<Patch> spell_resize(const Graph& graph, const Target& target);
Result<Patch> spell_norms(const Graph& graph, const Target& target);
Result<Patch> spell_softmax(const Graph& graph, const Target& target);
Result<Patch> spell_divisions(const Graph& graph, const Target& target);
Result<Patch> cast_whole_numbers(const Graph& graph, const Target& target);
Result<Patch> spell_top_k(const Graph& graph, const Target& target);
Result<Patch> spell_grid_sample(const Graph& graph, const Target& target);
Result<Patch> shuffle_channels(const Graph& graph, const Target& target);

}  // namespace convoy
