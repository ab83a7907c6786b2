// How much work one node is, told from its shapes before it is done: what the budget is asked for.
#pragma once
#include "graph/graph.h"

namespace convoy {

// In steps of about a nanosecond; the inputs as they are (null where absent), the outputs as they will be.
double work_of(const Op& op, const std::vector<const Tensor*>& inputs, const TensorTypes& outputs);

}  // namespace convoy
