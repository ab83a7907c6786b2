// TensorFlowOpLayer of files that TensorFlow 2.2 and 2.3 wrote, where a function was called on a layer's output.
#pragma once
#include "formats/keras/topology.h"

namespace convoy::keras {

// As a TFOpLambda has it: the function by its name below `tf`, tensors as {"$tensor": place}.
struct FunctionOfNode {
  std::string function;
  Json args, kwargs;
};
// Fails: an operator that no row has, or inputs that are not its own.
Result<FunctionOfNode> function_of_node(const Layer& layer, const LayerCall& call);

}  // namespace convoy::keras
