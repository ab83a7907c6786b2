// The one table of TensorFlow's functions.
#include "formats/tf/functions.h"

namespace convoy::tf {

std::span<const FunctionRow> functions() {
  static const std::vector<FunctionRow> all = [] {
    std::vector<FunctionRow> rows;
    for (const auto family :
         {convolution_functions(), conv_transpose_functions(), pooling_functions(), pad_functions(), resize_functions(),
          reshape_functions(), normalization_functions(), activation_functions()})
      rows.insert(rows.end(), family.begin(), family.end());
    return rows;
  }();
  return all;
}

}  // namespace convoy::tf
