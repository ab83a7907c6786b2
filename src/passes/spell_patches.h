// Laying windows side by side, and adding them back, for targets that have no word for it.
#pragma once
#include "graph/patch.h"
#include "passes/passes.h"

namespace convoy {

// Unfold is a convolution of each channel with one kernel per tap, of which that tap alone is 1: its channels are the rows,
// c * taps + tap. Fold is the transposed one. For graphs whose tensors are channels first still.
Result<Patch> spell_patches(const Graph& graph, const Target& target);

}  // namespace convoy
