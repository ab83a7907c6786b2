// A node of a graph that has quantised values.
#pragma once
#include "graph/graph.h"

namespace convoy::quantized {

// Whether it reads or gives one.
bool is_quantized(const Graph& graph, const Node& node);

// The inputs as they are held (null where absent).
Result<std::vector<Tensor>> run_quantized_node(const Graph& graph, const Node& node,
                                               const std::vector<const Tensor*>& inputs, int threads);

// Fails (Usage): numbers of another type than the value is held in.
Status check_held(const Value& value, const Tensor& given);

}  // namespace convoy::quantized
