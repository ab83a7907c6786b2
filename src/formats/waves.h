// The waves that Fourier transforms multiply by.
#pragma once
#include "ops/tensor_type.h"

#include <cmath>
#include <numbers>

namespace convoy {

// cos and sin of 2 pi k n / length, exact in the turns that are left out.
struct Wave {
  double cosine = 1, sine = 0;
};
inline Wave wave(Size k, Size n, Size length) {
  const double angle = 2 * std::numbers::pi * static_cast<double>((k * n) % length) / static_cast<double>(length);
  return {std::cos(angle), std::sin(angle)};
}

}  // namespace convoy
