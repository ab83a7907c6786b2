// Inputs of a model that somebody gives numbers beforehand, such as a sample rate that chooses between two networks: they are
// constants then, and no inputs of the graph.
#pragma once
#include "formats/format.h"
#include "formats/onnx/model.h"

#include <map>
#include <string>

namespace convoy::onnx {

// By LoadOptions::names, "NAME=VALUE": a number, which fills a declared shape, or lists of numbers, in Python's words.
// Fails: no such input, no numbers, another shape or type than the input declares.
Result<std::map<std::string, Tensor>> inputs_set(const Model& model, const LoadOptions& options);

}  // namespace convoy::onnx
