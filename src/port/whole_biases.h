// Biases as kernels of whole numbers take them.
#pragma once
#include "graph/quantized_steps.h"

#include <optional>

namespace convoy {

// Biases of layers whose input is rounded and whose weights `held` has whole numbers for become multiples of the input's scale times the
// weights', so far as 32 bits hold them. One sentence on how many moved, and how far. Nothing: none did.
Result<std::optional<std::string>> round_biases(Graph& graph, const HeldWeights& held);

}  // namespace convoy
