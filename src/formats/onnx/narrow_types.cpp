// Sources: onnx.proto (packing), "Float stored in 8 bits" and "Float stored in 4 bits" of ONNX's documentation.
#include "formats/onnx/narrow_types.h"

#include "base/packed.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace convoy::onnx {
namespace {

// How the code without its sign says what is no number.
enum class Ends : std::uint8_t {
  None,           // every code is a number
  AllOnesNan,     // the largest is NaN, there is no infinity
  NegativeZeroNan,  // the code of -0 is NaN, there is no infinity
  Ieee,           // exponents of ones are infinity and NaN
};

struct Narrow {
  Size code;
  int bits;
  bool is_signed;
  int exponent = 0, bias = 0;  // of real numbers: bits of the exponent, and what is taken off it
  Ends ends = Ends::None;
};

constexpr std::array narrow_types{
    Narrow{17, 8, true, 4, 7, Ends::AllOnesNan},       // FLOAT8E4M3FN
    Narrow{18, 8, true, 4, 8, Ends::NegativeZeroNan},  // FLOAT8E4M3FNUZ
    Narrow{19, 8, true, 5, 15, Ends::Ieee},            // FLOAT8E5M2
    Narrow{20, 8, true, 5, 16, Ends::NegativeZeroNan}, // FLOAT8E5M2FNUZ
    Narrow{21, 4, false},                              // UINT4
    Narrow{22, 4, true},                               // INT4
    Narrow{23, 4, true, 2, 1, Ends::None},             // FLOAT4E2M1
    Narrow{25, 2, false},                              // UINT2
    Narrow{26, 2, true},                               // INT2
};

const Narrow* narrow_type(Size code) {
  const auto found = std::ranges::find(narrow_types, code, &Narrow::code);
  return found == narrow_types.end() ? nullptr : &*found;
}

float real_of(const Narrow& type, unsigned code) {
  const unsigned sign = 1U << (type.bits - 1), magnitude = code & (sign - 1);
  const int fraction_bits = type.bits - 1 - type.exponent;
  const unsigned fraction = magnitude & ((1U << fraction_bits) - 1);
  const int exponent = static_cast<int>(magnitude >> fraction_bits), ones = (1 << type.exponent) - 1;
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  if (type.ends == Ends::NegativeZeroNan && code == sign) return nan;
  if (type.ends == Ends::AllOnesNan && magnitude == sign - 1) return nan;
  if (type.ends == Ends::Ieee && exponent == ones && fraction != 0) return nan;
  const bool infinite = type.ends == Ends::Ieee && exponent == ones;
  const unsigned whole = exponent == 0 ? fraction : fraction + (1U << fraction_bits);
  const float size = infinite
                         ? std::numeric_limits<float>::infinity()
                         : std::ldexp(static_cast<float>(whole), std::max(exponent, 1) - type.bias - fraction_bits);
  return (code & sign) != 0 ? -size : size;
}

}  // namespace

std::optional<DType> wide_type_of(Size code) {
  const Narrow* type = narrow_type(code);
  if (!type) return std::nullopt;
  return type->exponent > 0 ? DType::F32 : type->is_signed ? DType::I8 : DType::U8;
}

std::optional<NarrowBounds> bounds_of(Size code) {
  const Narrow* type = narrow_type(code);
  if (!type || type->exponent > 0) return std::nullopt;
  const int count = 1 << type->bits;
  return type->is_signed ? NarrowBounds{-count / 2, count / 2 - 1} : NarrowBounds{0, count - 1};
}

Size bytes_of_narrow(Size code, Size count) { return packed_size(count, narrow_type(code)->bits); }

Tensor widened(Size code, const Sizes& shape, Bytes bytes) {
  const Narrow& type = *narrow_type(code);
  const bool real = type.exponent > 0;
  auto codes = unpacked(bytes, *checked_count(shape), type.bits, type.is_signed && !real);
  if (!real) return *Tensor::owning(type.is_signed ? DType::I8 : DType::U8, shape, std::move(codes));
  std::vector<float> numbers;
  numbers.reserve(codes.size());
  for (const std::byte one : codes) numbers.push_back(real_of(type, std::to_integer<unsigned>(one)));
  return Tensor::of(shape, std::move(numbers));
}

}  // namespace convoy::onnx
