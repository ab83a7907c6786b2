// Whether a model keeps the rules that ONNX gives every model, whatever its operators mean. A file that breaks one is
// refused before its operators are looked at; what convoy writes is held to them before a byte is written.
#pragma once
#include "convoy/result.h"
#include "formats/onnx/model.h"

#include <string_view>

namespace convoy::onnx {

// Who made the model: what only other readers would stumble over is let pass in a file that somebody else wrote.
enum class Maker : std::uint8_t { Somebody, Convoy };
// The producer that our own files name.
inline constexpr const char* own_producer = "convoy";

// Names: inputs, initializers and results are each given once; every name is given before it is read, in an order of
// computation, and the outputs are given at all. Attributes: each once, of the kind that it says and that the operator
// wants. Operators: as many inputs and results as they have. Convoy's own also: no name is empty, no two nodes share
// theirs, operators, inputs and attributes are those of the model's opset, initializers are read.
// Fails: Format, or Internal for our own, with node, attribute and what was expected.
Status check_model(const Model& model, Maker maker);

// A node that stands for one of the file's, by what the catalogue tells of that opset.
Status check_node(const ModelNode& node, Size opset);

}  // namespace convoy::onnx
