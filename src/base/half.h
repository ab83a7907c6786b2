// The two 16-bit floating types as numbers: exact widening, and narrowing that rounds once, to nearest even.
#pragma once
#include <bit>
#include <cstdint>

namespace convoy {

namespace detail {

// A binary float of `mantissa_bits` and `exponent_bits` behind a sign, in the low bits of the result.
template <int exponent_bits, int mantissa_bits>
constexpr std::uint16_t narrow(double value) {
  constexpr int bias = (1 << (exponent_bits - 1)) - 1;
  constexpr std::uint64_t infinity = ((std::uint64_t{1} << exponent_bits) - 1) << mantissa_bits;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 63) << (exponent_bits + mantissa_bits));
  const auto exponent = static_cast<int>((bits >> 52) & 0x7FF);
  const std::uint64_t fraction = bits & 0xFFFFFFFFFFFFF;
  if (exponent == 0x7FF) {
    if (fraction == 0) return static_cast<std::uint16_t>(sign | infinity);
    const auto payload = fraction >> (52 - mantissa_bits);
    return static_cast<std::uint16_t>(sign | infinity | payload | (payload == 0 ? std::uint64_t{1} : 0));
  }
  if (exponent == 0) return sign;  // double denormals are far below half of the smallest value here
  const int target = exponent - 1023 + bias;
  // Below the normal range the implicit one becomes explicit and moves right.
  const int shift = 52 - mantissa_bits + (target < 1 ? 1 - target : 0);
  if (shift > 53) return sign;
  const std::uint64_t whole = fraction | (std::uint64_t{1} << 52);
  std::uint64_t kept = whole >> shift;
  const std::uint64_t rest = whole & ((std::uint64_t{1} << shift) - 1);
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
  // `kept` holds the implicit one in a normal number: adding it to exponent - 1 carries as it should.
  const std::uint64_t body = target < 1 ? kept : kept + (static_cast<std::uint64_t>(target - 1) << mantissa_bits);
  return static_cast<std::uint16_t>(sign | (target > 2 * bias || body > infinity ? infinity : body));
}

}  // namespace detail

constexpr float widen_half(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1F;
  const std::uint32_t fraction = half & 0x3FF;
  if (exponent == 0x1F) return std::bit_cast<float>(sign | 0x7F800000 | (fraction << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
  const float small = static_cast<float>(fraction) * 0x1p-24F;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(small));
}

constexpr float widen_bfloat(std::uint16_t bfloat) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bfloat) << 16);
}

constexpr std::uint16_t half_of(double value) { return detail::narrow<5, 10>(value); }
constexpr std::uint16_t bfloat_of(double value) { return detail::narrow<8, 7>(value); }

}  // namespace convoy
