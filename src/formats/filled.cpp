#include "formats/filled.h"

#include <utility>
#include <vector>

namespace convoy {

Result<Tensor> filled(const Tensor& value, Sizes shape, Size count) {
  const auto one = value.bytes();
  std::vector<std::byte> bytes;
  bytes.reserve(static_cast<std::size_t>(count) * one.size());
  for (Size i = 0; i < count; ++i) bytes.insert(bytes.end(), one.begin(), one.end());
  return Tensor::owning(value.dtype(), std::move(shape), std::move(bytes));
}

}  // namespace convoy
