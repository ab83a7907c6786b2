// Random numbers to ask two graphs with.
#pragma once
#include "convoy/tensor.h"

#include <cstdint>
#include <random>

namespace convoy {

// Between 0 and 1, of the 24 bits that a float32 holds.
inline float drawn_share(std::uint64_t bits) { return static_cast<float>(bits >> 40) * 0x1p-24F; }
// Both signs; magnitudes between 0.25 and 6, so that thresholds such as ReLU6's are passed, and never near zero: a
// border of zeros would look like padding.
Tensor drawn_numbers(const Sizes& shape, std::mt19937_64& random);

}  // namespace convoy
