// A node in the words of its row: attributes as JSON, inputs by the names of the row's parameters. And what a node gives
// whose inputs are all known.
#pragma once
#include "formats/onnx/catalogue/catalogue.h"
#include "formats/onnx/tensor.h"
#include "run/cost.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace convoy::onnx {

struct RowCall {
  const FunctionRow* row = nullptr;
  Json attributes;
  std::vector<std::string> inputs;  // the parameter of each input of the node
  CallSetting setting;
};

// `results`: how many of the node's outputs anybody reads. Fails: an operator without a row, an attribute that holds a
// tensor or a graph, more inputs than the operator has.
Result<RowCall> row_call(const ModelNode& node, Size opset, std::size_t results);

// Runs the node's row by the plain kernels in float64. `inputs`: nothing where absent. Results keep the element type
// that the operator gives. Fails: Limit, before anything is computed.
Result<std::vector<Tensor>> compute(const ModelNode& node, Size opset, const std::vector<std::optional<Tensor>>& inputs,
                                    Allowance& allowance);

}  // namespace convoy::onnx
