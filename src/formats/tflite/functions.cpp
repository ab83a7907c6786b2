// The one table of TFLite's operators.
#include "formats/tflite/functions.h"

namespace convoy::tflite {

std::span<const FunctionRow> operators() {
  static const std::vector<FunctionRow> all = [] {
    std::vector<FunctionRow> rows;
    for (const auto family :
         {convolution_operators(), pooling_operators(), pad_operators(), resize_operators(), reshape_operators()})
      rows.insert(rows.end(), family.begin(), family.end());
    return rows;
  }();
  return all;
}

}  // namespace convoy::tflite
