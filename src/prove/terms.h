// How many numbers meet in one output of an operator that sums: K of every bound.
#pragma once
#include "graph/graph.h"

#include <vector>

namespace convoy {

using Lengths = std::vector<const Sizes*>;  // the shapes of a node's inputs; null: absent
Lengths lengths_of(const std::vector<const Tensor*>& inputs);

Size terms_of(const Conv& op, const Lengths& inputs);
Size terms_of(const ConvTranspose& op, const Lengths& inputs);
Size terms_of(const Linear& op, const Lengths& inputs);
Size terms_of(const MatMul& op, const Lengths& inputs);
Size terms_of(const Einsum& op, const Lengths& inputs);
Size terms_of(const AveragePool& op, const Lengths& inputs);
Size terms_of(const LpPool& op, const Lengths& inputs);
Size terms_of(const Fold& op, const Lengths& inputs);
Size terms_of(const AdaptivePool& op, const Lengths& inputs);
Size terms_of(const Reduce& op, const Lengths& inputs);
Size terms_of(const Accumulate& op, const Lengths& inputs);

}  // namespace convoy
