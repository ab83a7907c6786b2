#include "formats/torch/declared_type.h"

#include "base/whole_tensor.h"
#include "ops/expect.h"

namespace convoy::torch {

Tensor as_declared(const Tensor& tensor, DType dtype) {
  if (is_floating(dtype)) return tensor.converted(dtype);
  if (dtype == tensor.dtype()) return tensor;
  if (dtype != DType::Bool) return whole_tensor(dtype, tensor.shape(), tensor.integers());
  std::vector<std::byte> truths;
  for (const double value : tensor.doubles()) truths.push_back(static_cast<std::byte>(value != 0));
  return *Tensor::owning(DType::Bool, tensor.shape(), std::move(truths));
}

}  // namespace convoy::torch
