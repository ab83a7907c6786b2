// Weights that 16 bits hold exactly are stored so, widened by the interpreter when it loads the model.
#include "formats/tflite/write/document.h"

#include "base/budget.h"

#include <algorithm>

namespace convoy::tflite {
namespace {

constexpr Size fewest = 128;  // below, the operator that widens them is larger

bool fits_in_halves(const Tensor& tensor) {
  if (tensor.dtype() != DType::F32 || tensor.count() < fewest) return false;
  return same_bytes(tensor, tensor.converted(DType::F16).converted(DType::F32));
}

}  // namespace

Status store_halves(Document& document) {
  std::vector<DocumentOperator> widened;
  const std::size_t count = document.tensors.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (!document.tensors[i].constant || !fits_in_halves(*document.tensors[i].constant)) continue;
    const Tensor& numbers = *document.tensors[i].constant;
    if (auto held = budget::afford(numbers.count() * 2, "weights in float16"); !held) return held;
    TensorType type{DType::F16, document.tensors[i].type.shape};
    DocumentTensor half{document.tensors[i].name + "/float16", std::move(type), numbers.converted(DType::F16)};
    numbers.let_go();
    document.tensors[i].constant.reset();
    document.tensors.push_back(std::move(half));
    const auto from = static_cast<std::int32_t>(document.tensors.size()) - 1;
    widened.push_back({"DEQUANTIZE", 3, {from}, {static_cast<std::int32_t>(i)}, {}});
  }
  document.operators.insert(document.operators.begin(), widened.begin(), widened.end());
  return {};
}

}  // namespace convoy::tflite
