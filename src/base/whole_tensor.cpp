#include "base/whole_tensor.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <limits>
#include <utility>

namespace convoy {

std::int64_t wrapped(std::int64_t value, DType dtype) {
  switch (dtype) {
    case DType::I8: return static_cast<std::int8_t>(value);
    case DType::I16: return static_cast<std::int16_t>(value);
    case DType::I32: return static_cast<std::int32_t>(value);
    case DType::U8: return static_cast<std::uint8_t>(value);
    case DType::U16: return static_cast<std::uint16_t>(value);
    case DType::U32: return static_cast<std::uint32_t>(value);
    default: return value;
  }
}

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

bool beyond_double(const Tensor& tensor) {
  if (tensor.dtype() == DType::U64)
    return std::ranges::any_of(tensor.integers(), [](std::int64_t number) {
      if (number < 0) return number != -1;
      return static_cast<double>(number) >= 0x1p63 || static_cast<std::int64_t>(static_cast<double>(number)) != number;
    });
  if (tensor.dtype() != DType::I64) return false;
  return std::ranges::any_of(tensor.integers(), [](std::int64_t number) {
    const auto wide = static_cast<double>(number);
    return wide < 0x1p63 ? static_cast<std::int64_t>(wide) != number
                         : number != std::numeric_limits<std::int64_t>::max();
  });
}

}  // namespace convoy
