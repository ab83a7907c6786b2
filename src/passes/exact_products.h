// Products of matrices of whole numbers in float32, where every sum of them is a number that float32 has.
#pragma once
#include "graph/patch.h"

#include <optional>

namespace convoy {

// What stands for the node, a MatMul of whole numbers: one product in float32, or several over parts of the summed axis that are added
// up as whole numbers. Nothing: how large the numbers are is not known, or single products are too large.
Result<std::optional<ValueId>> product_in_single(const Graph& graph, const Node& node, Patch& patch);

}  // namespace convoy
