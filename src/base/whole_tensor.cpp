#include "base/whole_tensor.h"

#include <array>
#include <bit>
#include <cstddef>
#include <utility>

namespace convoy {

Tensor whole_tensor(DType dtype, Sizes shape, std::vector<std::int64_t> numbers) {
  if (dtype == DType::I64) return Tensor::of(std::move(shape), std::move(numbers));
  // The low bytes of a whole number are the number in every narrower type.
  std::vector<std::byte> bytes;
  for (const std::int64_t number : numbers) {
    const auto one = std::bit_cast<std::array<std::byte, sizeof(number)>>(number);
    bytes.insert(bytes.end(), one.begin(), one.begin() + bytes_of(dtype));
  }
  auto tensor = Tensor::owning(dtype, shape, std::move(bytes));
  return tensor ? *std::move(tensor) : Tensor::of(std::move(shape), std::move(numbers));  // the count is the shape's
}

}  // namespace convoy
