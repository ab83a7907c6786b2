// The file's own tensor behind a constant that its reader put in another order: the constant's origin names it.
#pragma once
#include "graph/graph.h"

namespace convoy {

// What a constant of a graph as it was read is called in the file.
const std::string& stored_name(const Value& constant);
Sizes stored_shape(const Value& constant);
// `numbers`, which lie as the constant's own do, as they lie in the file; and back.
Tensor as_stored(const Value& constant, const Tensor& numbers);
Tensor as_read(const Value& constant, const Tensor& stored);

// The weight of the source whose numbers a constant of a graph with origins has; empty: none that training moves. Two
// constants of one weight are one thing to learn where the source's framework keeps weights as objects; files of ONNX and
// TFLite have equal numbers once, whoever learns them.
std::string learnt_weight(const Graph& graph, ValueId constant);

// Whether an operator gives the numbers of its input in their order, under another shape; what it makes of a constant has
// the origin that `stored_origin` says.
bool only_reshapes(const Op& op);
Origin stored_origin(const Value& constant);

}  // namespace convoy
