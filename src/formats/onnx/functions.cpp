// The one table of ONNX's operators.
#include "formats/onnx/functions.h"

#include "formats/onnx/comparison.h"

namespace convoy::onnx {

std::span<const FunctionRow> functions() {
  static const std::vector<FunctionRow> all = [] {
    std::vector<FunctionRow> rows;
    for (const auto family : {convolution_functions(), pooling_functions(), padding_functions(), resize_functions(),
                              reshape_functions(), slice_concat_functions(), scatter_functions(),
                              normalization_functions(), activation_functions(), elementwise_functions(),
                              comparison_functions(), reduction_functions(), linear_functions(), recurrent_functions()})
      rows.insert(rows.end(), family.begin(), family.end());
    return rows;
  }();
  return all;
}

}  // namespace convoy::onnx
