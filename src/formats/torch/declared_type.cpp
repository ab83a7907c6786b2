#include "formats/torch/declared_type.h"

#include "base/whole_tensor.h"
#include "ops/expect.h"

#include <cmath>
#include <limits>

namespace convoy::torch {
namespace {

std::vector<std::int64_t> whole_parts(const Tensor& tensor) {
  if (!is_floating(tensor.dtype())) return tensor.integers();
  std::vector<std::int64_t> wholes;
  for (const double value : tensor.doubles())
    wholes.push_back(std::abs(value) < 0x1p63 ? static_cast<std::int64_t>(value)
                                              : std::numeric_limits<std::int64_t>::min());
  return wholes;
}

}  // namespace

Tensor as_declared(const Tensor& tensor, DType dtype) {
  if (is_floating(dtype)) return tensor.converted(dtype);
  if (dtype == tensor.dtype()) return tensor;
  if (dtype != DType::Bool) return whole_tensor(dtype, tensor.shape(), whole_parts(tensor));
  std::vector<std::byte> truths;
  for (const double value : tensor.doubles()) truths.push_back(static_cast<std::byte>(value != 0));
  return *Tensor::owning(DType::Bool, tensor.shape(), std::move(truths));
}

}  // namespace convoy::torch
