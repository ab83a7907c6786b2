// Nodes of operator sets 1 to 6 as nodes of set 7, from which on the rows of the catalogue tell what is what: operands were
// stretched along a named axis, some inputs were attributes, and layers said whether they train.
#pragma once
#include "convoy/result.h"
#include "formats/numbers.h"
#include "formats/onnx/model.h"
#include "graph/graph.h"

#include <optional>
#include <vector>

namespace convoy::onnx {

// What is known of an input beforehand.
struct InputFacts {
  std::optional<Shape> shape;
  const Numbers* numbers = nullptr;
};

// In their order. Fails: a form that trains, or whose meaning hangs on what is known only when the model runs.
Result<std::vector<ModelNode>> in_operators_of_set_7(const ModelNode& node, Size opset,
                                                     const std::vector<InputFacts>& inputs);

}  // namespace convoy::onnx
