#include "formats/torch/declared_type.h"

#include "base/whole_tensor.h"
#include "ops/expect.h"

namespace convoy::torch {

Tensor as_declared(const Tensor& tensor, DType dtype) {
  if (is_floating(dtype)) return tensor.converted(dtype);
  if (dtype != DType::Bool) {
    if (tensor.dtype() != DType::I64 || dtype == DType::I64) return tensor;
    const auto numbers = tensor.raw<std::int64_t>();
    return whole_tensor(dtype, tensor.shape(), {numbers.begin(), numbers.end()});
  }
  std::vector<std::byte> truths;
  for (const double value : tensor.doubles()) truths.push_back(static_cast<std::byte>(value != 0));
  return *Tensor::owning(DType::Bool, tensor.shape(), std::move(truths));
}

}  // namespace convoy::torch
