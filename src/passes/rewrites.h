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
Result<Patch> fold_constants(const Graph& graph, const Target& target);
Result<Patch> fold_dilation(const Graph& graph, const Target& target);
Result<Patch> fold_gelu(const Graph& graph, const Target& target);
Result<Patch> fold_crops(const Graph& graph, const Target& target);
Result<Patch> lower_crops(const Graph& graph, const Target& target);
Result<Patch> lower_blocks(const Graph& graph, const Target& target);
Result<Patch> lower_patches(const Graph& graph, const Target& target);
Result<Patch> lower_padding(const Graph& graph, const Target& target);
Result<Patch> lower_pads(const Graph& graph, const Target& target);
Result<Patch> lower_transposed(const Graph& graph, const Target& target);
Result<Patch> split_products(const Graph& graph, const Target& target);
Result<Patch> lower_adaptive(const Graph& graph, const Target& target);
Result<Patch> lower_powers(const Graph& graph, const Target& target);
Result<Patch> lower_dilation(const Graph& graph, const Target& target);
Result<Patch> lower_positions(const Graph& graph, const Target& target);
Result<Patch> turn_pads(const Graph& graph, const Target& target);
Result<Patch> lower_pools(const Graph& graph, const Target& target);
Result<Patch> lower_resize(const Graph& graph, const Target& target);
Result<Patch> lower_norms(const Graph& graph, const Target& target);
Result<Patch> separate_parameters(const Graph& graph, const Target& target);
Result<Patch> lower_cells(const Graph& graph, const Target& target);
Result<Patch> lower_softmax(const Graph& graph, const Target& target);
Result<Patch> lower_divisions(const Graph& graph, const Target& target);
Result<Patch> cast_whole_numbers(const Graph& graph, const Target& target);
Result<Patch> widen_halves(const Graph& graph, const Target& target);
Result<Patch> round_steps(const Graph& graph, const Target& target);
Result<Patch> widen_whole_numbers(const Graph& graph, const Target& target);
Result<Patch> lower_accumulate(const Graph& graph, const Target& target);
Result<Patch> say_open_bounds(const Graph& graph, const Target& target);
Result<Patch> lower_top_k(const Graph& graph, const Target& target);
Result<Patch> lower_grid_sample(const Graph& graph, const Target& target);
Result<Patch> stretch_operands(const Graph& graph, const Target& target);
Result<Patch> shuffle_channels(const Graph& graph, const Target& target);

}  // namespace convoy
