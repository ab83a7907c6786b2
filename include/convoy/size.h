// Sizes and the only arithmetic allowed on numbers that come from a file: it fails where it would wrap.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace convoy {

using Size = std::int64_t;
using Sizes = std::vector<Size>;

constexpr std::optional<Size> checked_add(Size a, Size b) {
  Size sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

constexpr std::optional<Size> checked_multiply(Size a, Size b) {
  Size product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// The number of elements of a shape. Nothing: a size is negative or the product does not fit. A zero
// does not hide the overflow of the others.
constexpr std::optional<Size> checked_count(std::span<const Size> shape) {
  Size product = 1;
  bool empty = false;
  for (const Size n : shape) {
    if (n < 0) return std::nullopt;
    if (n == 0) {
      empty = true;
      continue;
    }
    const auto next = checked_multiply(product, n);
    if (!next) return std::nullopt;
    product = *next;
  }
  return empty ? 0 : product;
}

}  // namespace convoy
