// Real factors and functions in whole numbers alone, rounded where TFLite's reference kernels round. A value in Qm.n stands for
// itself over 2^n.
// Source: gemmlowp's fixed-point arithmetic; TFLite's kernels/internal/common.cc and quantization_util.cc (two roundings).
#pragma once
#include <cstdint>

namespace convoy::quantized {

// significand / 2^31 * 2^shift.
struct Multiplier {
  std::int32_t significand = 0;
  int shift = 0;
};
Multiplier multiplier_of(double real);

// x times the factor: of 32 bits rounded at the product and again at the shift, of 64 bits once, by the factor's upper 16 bits.
std::int32_t scaled(std::int32_t x, Multiplier by);
std::int32_t scaled(std::int64_t x, Multiplier by);
// The same rounded once, by the whole factor, as dense layers are.
std::int32_t scaled_once(std::int64_t x, Multiplier by);

// The upper half of twice the product, rounded to nearest.
std::int32_t high_product(std::int32_t a, std::int32_t b);
std::int16_t high_product(std::int16_t a, std::int16_t b);
// x / 2^exponent, rounded to nearest, ties away from zero. Of exponents beyond 31, which the kernels leave undefined, what a
// processor of x86 makes of the same steps.
std::int32_t divided_by_power(std::int32_t x, int exponent);

// 1 / sqrt(x), of 1 and less as near to 1 as the significand is.
Multiplier inverse_root(std::int32_t x);

// exp(x) in Q0.31 for x <= 0 in Q5.26.
std::int32_t exponential(std::int32_t x);
// 1 / x for x >= 1 in Q12.19, as a number in Q0.31 that is to be divided by 2^exponent.
struct Reciprocal {
  std::int32_t number = 0;
  int exponent = 0;
};
Reciprocal reciprocal(std::int32_t x);

}  // namespace convoy::quantized
