#include "containers/python/division.h"

#include <bit>
#include <cmath>

namespace convoy::python {

// Source: CPython 3.11, Objects/floatobject.c, _float_div_mod.
Division divided(double x, double y) {
  double rest = std::fmod(x, y);
  double whole = (x - rest) / y;
  if (rest == 0) {
    rest = std::copysign(0.0, y);
  } else if ((y < 0) != (rest < 0)) {
    rest += y;
    whole -= 1;
  }
  if (whole == 0) return {std::copysign(0.0, x / y), rest};
  const double times = std::floor(whole);
  return {whole - times > 0.5 ? times + 1 : times, rest};
}

namespace {

std::uint64_t magnitude(std::int64_t n) {
  const auto bits = static_cast<std::uint64_t>(n);
  return n < 0 ? 0 - bits : bits;
}

// Bit by bit, as far as 64 of them behind the first; what is left decides between two halves alone.
double rounded_quotient(std::uint64_t a, std::uint64_t b) {
  std::uint64_t rest = a % b, bits = a / b;
  int exponent = 0;
  while (bits >> 62 == 0) {
    const bool carries = rest >> 63 != 0;
    rest <<= 1;
    const bool is_set = carries || rest >= b;
    if (is_set) rest -= b;
    bits = bits << 1 | static_cast<std::uint64_t>(is_set);
    --exponent;
  }
  return std::ldexp(static_cast<double>(bits | static_cast<std::uint64_t>(rest != 0)), exponent);
}

constexpr double beyond = 0x1p63;

}  // namespace

double quotient(std::int64_t a, std::int64_t b) {
  if (a == 0) return b < 0 ? -0.0 : 0.0;
  const double made = rounded_quotient(magnitude(a), magnitude(b));
  return (a < 0) != (b < 0) ? -made : made;
}

bool is_less(std::int64_t a, double b) {
  if (std::isnan(b) || b < -beyond) return false;
  if (b >= beyond) return true;
  const double part = std::floor(b);
  const auto whole = static_cast<std::int64_t>(part);
  return a < whole || (a == whole && part < b);
}

bool is_equal(std::int64_t a, double b) {
  return b >= -beyond && b < beyond && b == std::floor(b) && a == static_cast<std::int64_t>(b);
}

bool is_less(double a, std::int64_t b) { return !std::isnan(a) && !is_less(b, a) && !is_equal(b, a); }

}  // namespace convoy::python
