#include "run/quantized/fixed_point.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace convoy::quantized {
namespace {

constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max(),
                       least = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t one = most;  // 1 in Q0.31, as near as it is held

// x * 2^exponent, at most as large as 32 bits hold.
std::int32_t saturated_power(std::int32_t x, int exponent) {
  const std::int64_t wide = std::int64_t{x} << exponent;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(wide, least, most));
}

// exp(x) for -1/4 <= x < 0 in Q0.31, by a polynomial around -1/8.
std::int32_t exponential_near_zero(std::int32_t x) {
  constexpr std::int32_t at_middle = 1895147668, third = 715827883;  // exp(-1/8), 1/3
  const std::int32_t t = x + (1 << 28);
  const std::int32_t t2 = high_product(t, t), t3 = high_product(t2, t), t4 = high_product(t2, t2);
  const std::int32_t tail = divided_by_power(high_product(divided_by_power(t4, 2) + t3, third) + t2, 1);
  return at_middle + high_product(at_middle, t + tail);
}

// 1 / (1 + x) for 0 <= x <= 1 in Q0.31, by three steps of Newton's.
std::int32_t reciprocal_of_one_more(std::int32_t x) {
  constexpr std::int32_t start = 1515870810, slope = -1010580540;  // 48/17, -32/17 in Q2.29
  const auto half = static_cast<std::int32_t>((std::int64_t{x} + one + 1) / 2);
  std::int32_t guess = start + high_product(half, slope);
  for (int i = 0; i < 3; ++i) {
    const std::int32_t left = (1 << 29) - high_product(half, guess);
    guess += saturated_power(high_product(guess, left), 2);
  }
  return saturated_power(guess, 1);
}

}  // namespace

Multiplier multiplier_of(double real) {
  if (real == 0 || !std::isfinite(real)) return {};
  int shift = 0;
  auto fixed = static_cast<std::int64_t>(std::round(std::frexp(real, &shift) * 0x1p31));
  if (fixed == std::int64_t{1} << 31) fixed /= 2, ++shift;
  if (shift < -31) return {};
  return {static_cast<std::int32_t>(fixed), std::min(shift, 31)};
}

std::int32_t high_product(std::int32_t a, std::int32_t b) {
  if (a == b && a == least) return most;
  const std::int64_t product = std::int64_t{a} * b;
  const std::int64_t nudge = product >= 0 ? std::int64_t{1} << 30 : 1 - (std::int64_t{1} << 30);
  return static_cast<std::int32_t>((product + nudge) / (std::int64_t{1} << 31));
}

std::int16_t high_product(std::int16_t a, std::int16_t b) {
  constexpr auto lowest = std::numeric_limits<std::int16_t>::min();
  if (a == b && a == lowest) return std::numeric_limits<std::int16_t>::max();
  const std::int32_t product = std::int32_t{a} * b;
  const std::int32_t nudge = product >= 0 ? 1 << 14 : 1 - (1 << 14);
  return static_cast<std::int16_t>((product + nudge) / (1 << 15));
}

std::int32_t divided_by_power(std::int32_t x, int exponent) {
  const auto mask = static_cast<std::int32_t>((std::uint64_t{1} << (exponent & 63)) - 1);
  const std::int32_t rest = x & mask, half = (mask >> 1) + (x < 0);
  return (x >> (exponent & 31)) + (rest > half);
}

std::int32_t scaled(std::int32_t x, Multiplier by) {
  // What 32 bits do not hold wraps around, as it does there.
  const auto wide = static_cast<std::uint64_t>(std::int64_t{x}) << std::max(by.shift, 0);
  return divided_by_power(high_product(static_cast<std::int32_t>(static_cast<std::uint32_t>(wide)), by.significand),
                          std::max(-by.shift, 0));
}

std::int32_t scaled(std::int64_t x, Multiplier by) {
  const std::int64_t factor = by.significand < 0x7FFF0000 ? (by.significand + (1 << 15)) >> 16 : 0x7FFF;
  const int shift = std::clamp(15 - by.shift, 1, 62);
  const auto product =
      static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(factor) + (std::uint64_t{1} << (shift - 1));
  return static_cast<std::int32_t>(static_cast<std::int64_t>(product) >> shift);
}

std::int32_t scaled_once(std::int64_t x, Multiplier by) {
  const int shift = std::clamp(31 - by.shift, 1, 62);
  const auto product = static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(std::int64_t{by.significand}) +
                       (std::uint64_t{1} << (shift - 1));
  return static_cast<std::int32_t>(static_cast<std::int64_t>(product) >> shift);
}

// Five steps of Newton's in Q3.28 over the input brought to 1/4 .. 1 by powers of 4, and the root of 2 behind them.
Multiplier inverse_root(std::int32_t x) {
  if (x <= 1) return {most, 0};
  int shift = 11;
  for (; x >= 1 << 29; x /= 4) ++shift;
  const int pairs = (std::countl_zero(static_cast<std::uint32_t>(x)) - 1) / 2 - 1;
  shift -= pairs;
  const std::int32_t half = divided_by_power((x << (2 * pairs)) >> 1, 1);
  constexpr std::int32_t three_halves = (1 << 28) + (1 << 27), root_of_half = 1518500250;
  std::int32_t guess = 1 << 28;
  for (int i = 0; i < 5; ++i) {
    const std::int32_t cube = saturated_power(high_product(high_product(guess, guess), guess), 6);
    guess = saturated_power(high_product(three_halves, guess) - high_product(half, cube), 3);
  }
  std::int32_t significand = high_product(guess, root_of_half);
  if (shift < 0) significand <<= -shift, shift = 0;
  return {significand, -shift};
}

std::int32_t exponential(std::int32_t x) {
  if (x == 0) return one;
  constexpr std::int32_t quarter = 1 << 24;
  // exp(-1/4), exp(-1/2), ... exp(-16) in Q0.31.
  constexpr std::int32_t powers[] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
  const std::int32_t near = (x & (quarter - 1)) - quarter;
  std::int32_t result = exponential_near_zero(saturated_power(near, 5));
  const std::int32_t rest = near - x;  // a multiple of a quarter
  for (int i = 0; i < 7; ++i)
    if ((rest & (quarter << i)) != 0) result = high_product(result, powers[i]);
  return result;
}

Reciprocal reciprocal(std::int32_t x) {
  const auto bits = static_cast<std::uint32_t>(std::max(x, 1));
  const int headroom = std::countl_zero(bits);
  const auto fraction = static_cast<std::int32_t>((bits << headroom) - (std::uint32_t{1} << 31));
  return {reciprocal_of_one_more(fraction), 12 - headroom};
}

}  // namespace convoy::quantized
