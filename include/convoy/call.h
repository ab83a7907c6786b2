// A framework's function by its name, with its arguments by theirs: what languages without the types of convoy/torch.h and its
// like call. The functions are those of the tables that read the frameworks' files and text.
#pragma once
#include "convoy/result.h"
#include "convoy/size.h"
#include "convoy/tensor.h"

#include <string>
#include <string_view>
#include <vector>

namespace convoy {
inline namespace v0 {

// A function, and what it takes in the order of its own signature.
struct CallableFunction {
  std::string name;  // "conv_transpose1d"; of TensorFlow "nn.conv2d", of ONNX "ConvTranspose", of Keras "conv2d"
  std::vector<std::string> parameters;  // arrays and other arguments; of Keras the arrays alone
};

// The functions of "torch" (torch.nn.functional and torch), "keras" (a layer, called with its weights), "tf" or "onnx". Fails
// (Usage): another word.
Result<std::vector<CallableFunction>> functions_of(std::string_view framework);

struct NamedArray {
  std::string name;  // the framework's: "weight"
  Tensor tensor;
};

struct CallSettings {
  Size opset = 0;  // of ONNX; 0: the newest that is read
  std::size_t results = 1;  // how many are asked for: positions of maxima come second
};

// Calls a function. `arguments`: those that are no arrays, a JSON object: {"stride": 2, "padding": [1, 0]}; what is left out has the
// framework's default. Computes in float64 where an array has it. Fails: what the framework itself refuses, an argument that there
// is not.
Result<std::vector<Tensor>> call(std::string_view framework, const std::string& function,
                                 const std::vector<NamedArray>& arrays, const std::string& arguments,
                                 const CallSettings& settings = {});

}  // namespace v0
}  // namespace convoy
