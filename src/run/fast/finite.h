// Whether all numbers are finite, and float32 numbers that may lie at any address.
#pragma once
#include "convoy/size.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace convoy::fast {

// Of a file that is read where it lies.
struct LooseFloat {
  std::byte bytes[sizeof(float)];
  operator float() const {
    float number;
    std::memcpy(&number, bytes, sizeof number);
    return number;
  }
};

template <class T>
bool all_finite(const T* numbers, Size count) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr Bits exponent = sizeof(T) == 4
                                ? Bits(std::bit_cast<std::uint32_t>(std::numeric_limits<float>::infinity()))
                                : Bits(std::bit_cast<std::uint64_t>(std::numeric_limits<double>::infinity()));
  constexpr Size block = 4096;  // without a way out in between: vectors of them
  for (Size first = 0; first < count; first += block) {
    Bits found = 0;
    for (Size i = first; i < std::min(count, first + block); ++i)
      found |= (std::bit_cast<Bits>(numbers[i]) & exponent) == exponent ? Bits{1} : Bits{0};
    if (found) return false;
  }
  return true;
}

}  // namespace convoy::fast
