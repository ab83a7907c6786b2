// Runs a graph as it was read, or rewritten for a target, and brings the answers back into the source's order of axes.
#pragma once
#include "graph/graph.h"
#include "run/run.h"

#include <vector>

namespace convoy::testing {

enum class Through : std::uint8_t { Nothing, Torch, Keras };

// Inputs and outputs are those of the source, whatever the rewritten graph makes of them. One output per graph output.
Result<std::vector<Tensor>> run_through(Graph graph, const std::vector<Tensor>& inputs, Through through);

// The tensor of the source that a value with this origin carries, brought into the value's order; an empty `shape`
// leaves out the last reshape.
Result<Tensor> carried(const Tensor& source, const std::optional<Origin>& origin, const Sizes& shape);
// The other way round: from the value's order to that of the source, whose shape may have unknown sizes.
Result<Tensor> restored(const Tensor& value, const std::optional<Origin>& origin, const Shape& source_shape);

}  // namespace convoy::testing
