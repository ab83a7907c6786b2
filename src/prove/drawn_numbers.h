// Random numbers to ask two graphs with.
#pragma once
#include "convoy/tensor.h"

#include <cstdint>
#include <random>
#include <span>

namespace convoy {

// A short generator for millions of numbers: splitmix64.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
  }

 private:
  std::uint64_t state_;
};

// number(bits) in every place, with 32 bits for each.
template <class T, class Number>
void draw_into(std::span<T> values, Draws draws, const Number& number) {
  for (std::size_t i = 0; i < values.size();) {
    const std::uint64_t bits = draws.next();
    values.data()[i++] = number(static_cast<std::uint32_t>(bits));
    if (i < values.size()) values.data()[i++] = number(static_cast<std::uint32_t>(bits >> 32));
  }
}

// Between 0 and 1, of the 24 bits that a float32 holds.
inline float drawn_share(std::uint64_t bits) { return static_cast<float>(bits >> 40) * 0x1p-24F; }
// Both signs; magnitudes between 0.25 and 6, so that thresholds such as ReLU6's are passed, and never near zero: a
// border of zeros would look like padding.
Tensor drawn_numbers(const Sizes& shape, std::mt19937_64& random);

}  // namespace convoy
