// Models of TFLite that compute with whole numbers, as float32 that is rounded to the same steps behind each operator.
#pragma once
#include "graph/graph.h"
#include "prove/prove.h"

#include <map>
#include <string>
#include <vector>

namespace convoy {

// Whether any value is held as whole numbers.
bool holds_whole_numbers(const Graph& graph);

// The graph becomes one of real numbers: inputs and outputs stay whole numbers, constants are widened, and each result is rounded to
// its steps and widened again. One sentence on how far that is from the kernels of whole numbers, which round on other ways.
// Fails: as inference and runs do; Proof, where a layer is further off than rounding explains.
Result<std::vector<std::string>> spell_out_steps(Graph& graph, const ProofOptions& options);

// The same without the sentence. A value's origin is then that of the real numbers that are rounded to it; what it is widened to
// has the one that stands under its name in `widened`.
Result<Graph> spelt_out(const Graph& graph, const std::map<std::string, Origin>& widened);

// For who holds the model against another one: what the file takes and gives as whole numbers are the real ones that these stand for,
// rounded to their steps behind the inputs and widened in front of the outputs, and `given` numbers for its inputs become real as
// well. Nothing changes where the graph holds no whole numbers. Fails: as spelt_out does.
Status hold_as_reals(Graph& graph, std::vector<Tensor>& given);

// How far the kernels of whole numbers are from rounding each layer's answer to its steps: layer by layer, each given the numbers
// that the kernels gave in front of it, and at the outputs. One sentence each.
// Fails: Proof, as above.
Result<std::vector<std::string>> kernel_steps(const Graph& graph, const ProofOptions& options);

// How far a graph of the same model whose quantised numbers stand for real ones is from the kernels of whole numbers, at the outputs
// and at the values that both have a name for. Fails: as runs do.
Result<std::vector<std::string>> losses_without_steps(const Graph& whole, const Graph& real,
                                                      const ProofOptions& options);

}  // namespace convoy
