#include "formats/keras/source/seeds.h"

#include <algorithm>
#include <vector>

namespace convoy::keras {

void Seeds::restart(std::uint64_t seed) {
  const std::size_t n = state_.size();
  state_[0] = 19650218;
  for (std::size_t i = 1; i < n; ++i)
    state_[i] = 1812433253U * (state_[i - 1] ^ state_[i - 1] >> 30U) + static_cast<std::uint32_t>(i);
  // The seed in words of 32 bits, the lowest first.
  std::vector<std::uint32_t> key{static_cast<std::uint32_t>(seed)};
  if (seed >> 32U) key.push_back(static_cast<std::uint32_t>(seed >> 32U));
  std::size_t i = 1, j = 0;
  const auto go_on = [&] {
    if (++i < n) return;
    state_[0] = state_[n - 1];
    i = 1;
  };
  for (std::size_t k = std::max(n, key.size()); k > 0; --k) {
    state_[i] =
        (state_[i] ^ (state_[i - 1] ^ state_[i - 1] >> 30U) * 1664525U) + key[j] + static_cast<std::uint32_t>(j);
    go_on();
    j = (j + 1) % key.size();
  }
  for (std::size_t k = n - 1; k > 0; --k) {
    state_[i] = (state_[i] ^ (state_[i - 1] ^ state_[i - 1] >> 30U) * 1566083941U) - static_cast<std::uint32_t>(i);
    go_on();
  }
  state_[0] = 0x80000000U;
  at_ = n;
}

std::uint32_t Seeds::bits() {
  const std::size_t n = state_.size();
  if (at_ == n) {
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t both = (state_[i] & 0x80000000U) | (state_[(i + 1) % n] & 0x7FFFFFFFU);
      state_[i] = state_[(i + 397) % n] ^ both >> 1U ^ (both & 1U ? 0x9908B0DFU : 0U);
    }
    at_ = 0;
  }
  std::uint32_t x = state_[at_++];
  x ^= x >> 11U;
  x ^= x << 7U & 0x9D2C5680U;
  x ^= x << 15U & 0xEFC60000U;
  return x ^ x >> 18U;
}

// 30 bits at a time, until they are below 10 ** 9.
std::int64_t Seeds::next() {
  std::uint32_t drawn = bits() >> 2U;
  while (drawn >= 1000000000U) drawn = bits() >> 2U;
  return std::int64_t{drawn} + 1;
}

}  // namespace convoy::keras
