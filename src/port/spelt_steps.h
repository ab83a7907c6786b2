// Models of TFLite that compute with whole numbers, as float32 that is rounded to the same steps behind each operator.
#pragma once
#include "graph/graph.h"
#include "prove/prove.h"

#include <string>
#include <vector>

namespace convoy {

// Whether any value is held as whole numbers.
bool holds_whole_numbers(const Graph& graph);

// The graph becomes one of real numbers: inputs and outputs stay whole numbers, constants are widened, and each result is rounded to
// its steps and widened again. One sentence on how far that is from the kernels of whole numbers, which round on other ways.
// Fails: as inference and runs do.
Result<std::vector<std::string>> spell_out_steps(Graph& graph, const ProofOptions& options);

}  // namespace convoy
