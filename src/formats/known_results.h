// What nodes give that read known tensors alone: readers compute it before the model runs.
#pragma once
#include "graph/graph.h"
#include "run/cost.h"

#include <vector>

namespace convoy {

// Of the nodes behind the first `given` values, by the plain kernels in float64, with the element types that the graph says;
// what is rounded to steps is computed in those types throughout.
Result<std::vector<Tensor>> known_results(Graph& graph, std::size_t given, const std::vector<ValueId>& outputs,
                                          Allowance& allowance);

}  // namespace convoy
