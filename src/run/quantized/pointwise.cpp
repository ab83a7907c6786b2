// Activations over whole numbers: bounds and slopes by factors, other functions of bytes by a table of all 256, of 16 bits by one
// of few; and softmax.
#include "run/quantized/numbers.h"

#include <array>
#include <bit>
#include <cmath>
#include <initializer_list>
#include <numbers>

namespace convoy::quantized {
namespace {

// The types that kernels take: TFLite's newer ones leave bytes without a sign out.
using Types = std::initializer_list<DType>;
constexpr Types bytes{DType::I8, DType::U8}, every_type{DType::I8, DType::U8, DType::I16},
    signed_types{DType::I8, DType::I16};

bool is_alike(const QuantizedCall& call, Types types) {
  return call.in[0].quantization && call.out[0] && call.input().dtype == call.output().dtype &&
         !call.input().per_axis() && std::ranges::find(types, call.input().dtype) != types.end();
}

template <class F>
Results each(const QuantizedCall& call, const F& function) {
  auto steps = steps_of(call.in[0]);
  for (std::int32_t& x : steps) x = function(x);
  return one_result(held_steps(call.result_shape(), steps, call.output()));
}

std::int32_t step_of(double real, const Quantization& as) {
  return static_cast<std::int32_t>(std::clamp(std::round(static_cast<float>(real) / as.scales.front()), -1e9F, 1e9F));
}

Results bounded(const QuantizedCall& call, double least, std::optional<double> most) {
  if (!is_alike(call, every_type)) return no_kernel("an activation to another type");
  const float ratio = call.input().scales.front() / call.output().scales.front();
  const Multiplier by = multiplier_of(static_cast<double>(ratio));
  const Limits limits = limits_of(call.output().dtype);
  const std::int32_t low = step_of(least, call.output()),
                     high = most ? step_of(*most, call.output()) : limits.most - limits.least;
  return each(call, [&](std::int32_t x) { return std::min(std::max(scaled(x, by), low), high); });
}

// A table over all bytes, in float32 as it is made there.
template <class F>
Results by_table(const QuantizedCall& call, const F& function) {
  if (!is_alike(call, bytes)) return no_kernel("a function of numbers of this type");
  const Limits limits = limits_of(call.input().dtype);
  const float scale = call.input().scales.front(), inverse = 1 / call.output().scales.front();
  const std::int32_t zero = zero_of(call.input());
  std::vector<std::int32_t> table;
  for (std::int32_t q = limits.least; q <= limits.most; ++q) {
    const float y = std::round(static_cast<float>(function(scale * static_cast<float>(q - zero))) * inverse);
    table.push_back(static_cast<std::int32_t>(std::clamp(y, -1024.0F, 1024.0F)));
  }
  return each(call, [&](std::int32_t x) { return table[static_cast<std::size_t>(x + zero - limits.least)]; });
}

// A function over 16 bits in 512 straight pieces, each moved by half of what it misses in its middle; `unit` is 1 in the result.
// All is computed in `Real`; where infinities meet, an entry is 0.
template <class Real, class F>
std::vector<std::int32_t> pieces(Real from, Real to, Real unit, const F& function) {
  constexpr int count = 512;
  const Real step = (to - from) / count;
  const auto entry = [](Real y) {
    return std::isnan(y) ? 0 : static_cast<std::int32_t>(std::clamp(y, Real{-32768}, Real{32767}));
  };
  std::vector<std::int32_t> table;
  for (int i = 0; i < count; ++i) {
    const auto place = static_cast<Real>(i);
    const Real here = std::round(function(from + place * step) * unit),
               next = function(from + (place + 1) * step) * unit;
    const Real middle = std::round(function(from + place * step + step / 2) * unit);
    const Real missed = std::round((std::round((next + here) / 2) - middle) / 2);
    table.push_back(entry(here - missed));
  }
  table.push_back(entry(std::round(function(to) * unit)));
  return table;
}
std::int32_t looked_up(std::int32_t x, const std::vector<std::int32_t>& table) {
  const auto at = static_cast<std::size_t>(256 + (x >> 7));
  const auto slope = static_cast<std::int16_t>(table[at + 1] - table[at]);
  return static_cast<std::int16_t>(table[at] + ((slope * (x & 0x7f) + 64) >> 7));
}

// The real numbers that the least and the most whole one stand for.
std::pair<float, float> ends_of(const Quantization& q) {
  const auto real = [&](std::int32_t whole) { return q.scales.front() * static_cast<float>(whole - zero_of(q)); };
  const Limits limits = limits_of(q.dtype);
  return {real(limits.least), real(limits.most)};
}

// Of 16 bits in straight pieces from one end of the type to the other.
template <class F>
Results by_table_or_pieces(const QuantizedCall& call, const F& function) {
  if (!is_alike(call, {DType::I16})) return by_table(call, function);
  const auto [from, to] = ends_of(call.input());
  const auto [least, most] = ends_of(call.output());
  const auto table = pieces(from, to, 0x1p16F / (most - least), function);
  return each(call, [&](std::int32_t x) { return looked_up(x, table); });
}

// Of a difference of bytes in 32 bits.
Results square(const QuantizedCall& call) {
  if (!call.in[0].quantization || call.input().dtype != DType::I32 || !call.out[0] || call.output().dtype != DType::I8)
    return no_kernel("the square of numbers of this type");
  const Multiplier by = multiplier_of(scale_of(call.input()) * scale_of(call.input()) / scale_of(call.output()));
  return each(call, [&](std::int32_t x) {
    const auto wide = static_cast<std::uint32_t>(x);
    return scaled(static_cast<std::int32_t>(wide * wide), by);
  });
}

// Of 0 and less the least number there is.
Results logarithm(const QuantizedCall& call) {
  if (!is_alike(call, signed_types)) return no_kernel("a logarithm of numbers of this type");
  const float least = ends_of(call.output()).first;
  return by_table_or_pieces(call, [&](float x) { return x > 0 ? std::log(x) : least; });
}

Results magnitude(const QuantizedCall& call) {
  if (!is_alike(call, signed_types)) return no_kernel("a magnitude of numbers of this type");
  const float ratio = call.input().scales.front() / call.output().scales.front();
  const Multiplier by = multiplier_of(static_cast<double>(ratio));
  return each(call, [&](std::int32_t x) { return scaled(std::abs(x), by); });
}

// The kernel changes the sign of what is stored, and the least number stays as it is.
Results negated(const QuantizedCall& call) {
  if (!is_alike(call, signed_types) || !same_steps(call.input(), call.output()) || zero_of(call.input()) != 0)
    return no_kernel("a negation around another point than 0, or to another scale,");
  const std::int32_t least = limits_of(call.input().dtype).least;
  return each(call, [&](std::int32_t x) { return x == least ? x : -x; });
}

// The interpreter stops at a negative number, and cuts off what lies behind the point.
Results square_root(const QuantizedCall& call) {
  if (!is_alike(call, signed_types)) return no_kernel("a square root of numbers of this type");
  const auto steps = steps_of(call.in[0]);
  if (std::ranges::any_of(steps, [](std::int32_t x) { return x < 0; }))
    return fail(Fault::Usage, "the square root of a negative number, at which TFLite's interpreter stops");
  const float from = call.input().scales.front(), to = call.output().scales.front();
  return each(call, [&](std::int32_t x) {
    return static_cast<std::int32_t>(std::min(std::sqrt(from * static_cast<float>(x)) / to, 1e9F));
  });
}

// Of 0 the largest number there is. Of bytes with 20 bits behind the point between both factors.
Results inverse_square_root(const QuantizedCall& call) {
  if (!is_alike(call, signed_types)) return no_kernel("an inverse square root of numbers of this type");
  const auto steps = steps_of(call.in[0]);
  if (std::ranges::any_of(steps, [](std::int32_t x) { return x < 0; }))
    return fail(Fault::Usage, "the inverse square root of a negative number, at which TFLite's interpreter stops");
  if (call.input().dtype == DType::I16) {
    const float most = ends_of(call.output()).second;
    return by_table_or_pieces(call, [&](float x) { return x > 0 ? 1 / std::sqrt(x) : most; });
  }
  const float root = std::sqrt(call.input().scales.front()) * call.output().scales.front();
  Multiplier by = multiplier_of(1.0 / static_cast<double>(root));
  constexpr int bits = 20;
  by.shift -= bits;
  const Limits limits = limits_of(call.output().dtype);
  return each(call, [&](std::int32_t x) {
    if (x == 0) return limits.most - limits.least;
    Multiplier inverse = inverse_root(x);
    inverse.shift += bits;
    return scaled(scaled(std::int32_t{1}, inverse), by);
  });
}

// sigmoid(i / 24) in Q0.16, moved by half of what the straight piece behind it misses in its middle.
std::uint32_t sigmoid_entry(std::uint32_t i) {
  if (i == 255) return 65535;  // what lies behind is 1
  const auto at = [](double x) { return 0x1p16 / (1 + std::exp(-x / 24)); };
  const double x = i, missed = at(x + 0.5) - (at(x) + at(x + 1)) / 2;
  return static_cast<std::uint32_t>(std::floor(at(x) + missed / 2 + 0.5));
}

// Sigmoid and tanh of 16 bits share a table: tanh(x) = 2 sigmoid(2x) - 1. The input is brought to steps of 1/(3 * 4096), so
// that 2^17 of them are 10.7.
template <bool is_tanh>
Results by_sigmoid_table(const QuantizedCall& call) {
  if (zero_of(call.input()) != 0 || zero_of(call.output()) != 0 || call.output().scales.front() != 0x1p-15F)
    return no_kernel("a sigmoid or tanh of 16 bits to another scale");
  static const auto table = [] {
    std::array<std::uint32_t, 256> all{};
    for (std::uint32_t i = 0; i < 256; ++i) all[i] = sigmoid_entry(i);
    return all;
  }();
  const float scale = call.input().scales.front();
  const float log = std::log2(scale);
  int shift = 12 + static_cast<int>(std::round(log));
  const bool is_power = std::abs(log - std::round(log)) < 1e-3F && (shift == 0 || (is_tanh && shift == 1));
  std::int32_t factor = 3 << std::clamp(shift, 0, 1);
  if (is_power) {
    shift = 0;
  } else {
    double real = static_cast<double>(scale) * 4096.0 * 3.0;
    for (shift = 0; real <= 32767.0 / 2.0 && shift <= 30; ++shift) real *= 2;
    factor = static_cast<std::int32_t>(std::min(real, 0x1p15));
  }
  const std::int64_t round = shift > 0 ? std::int64_t{1} << (shift - 1) : 0;
  constexpr int fine = is_tanh ? 8 : 9;  // bits between two entries
  return each(call, [&](std::int32_t x) {
    const auto at = static_cast<std::int32_t>((std::int64_t{x} * factor + round) >> shift);
    const auto far = static_cast<std::uint32_t>(std::abs(at)), place = far >> fine, rest = far & ((1U << fine) - 1);
    if constexpr (is_tanh) {
      auto y = static_cast<std::int32_t>(place >= 255 ? 0xFFFFU << 8
                                                      : (table[place] << 8) + rest * (table[place + 1] - table[place]));
      y = at >= 0 ? y - (1 << 23) + (1 << 7) : -y + (1 << 23) + (1 << 7) - 1;
      return y >> 8;
    } else {
      std::uint32_t y = place >= 255 ? 0x7FFFU << 10 : (table[place] << 9) + rest * (table[place + 1] - table[place]);
      y = at >= 0 ? y + (1 << 9) : (1 << 25) - y + (1 << 9) - 1;
      return static_cast<std::int32_t>(y >> 10);
    }
  });
}

std::int16_t upper_half(double factor, int& exponent) {
  const Multiplier by = multiplier_of(factor);
  exponent = by.shift;
  constexpr std::int32_t most = 32767;
  return static_cast<std::int16_t>(by.significand >= (most << 16) ? most : (by.significand + (1 << 15)) >> 16);
}
std::int16_t shifted_left(std::int16_t x, int by) {
  return static_cast<std::int16_t>(std::clamp<std::int64_t>(std::int64_t{x} << std::clamp(by, 0, 31), -32768, 32767));
}

// In 16 bits: the input at 128 times its scale, times a factor of 0 to 1 that is 1 where the input is 3.
Results hard_swish(const QuantizedCall& call) {
  if (!is_alike(call, bytes)) return no_kernel("a hard swish of numbers of this type");
  const float fine = (1.0F / 128.0F) * call.input().scales.front();
  int out_exponent = 0, bend_exponent = 0;
  const std::int16_t out = upper_half(static_cast<double>(fine / call.output().scales.front()), out_exponent);
  const std::int16_t bend = upper_half(static_cast<double>(fine / (3.0F / 32768.0F)), bend_exponent);
  if (out_exponent > 0) return no_kernel("a hard swish to steps so small");
  return each(call, [&](std::int32_t x) {
    const auto high = static_cast<std::int16_t>(x * 128);
    const std::int16_t before = high_product(high, out);
    std::int16_t share = high;
    if (bend_exponent > 0) share = shifted_left(share, bend_exponent - 1);
    share = high_product(share, bend);
    if (bend_exponent > 0) share = shifted_left(share, 1);
    if (bend_exponent < 0) share = static_cast<std::int16_t>(divided_by_power(share, -bend_exponent));
    share = static_cast<std::int16_t>((share + (1 << 15)) >> 1);
    const auto product = static_cast<std::int16_t>(std::int32_t{share} * before / (1 << 15));
    return divided_by_power(product, -out_exponent);
  });
}

}  // namespace

Results run(const Relu& op, const QuantizedCall& call) {
  if (op.threshold != 0 || op.strict) return no_kernel("an activation with a threshold");
  if (op.negative_slope == 0) return bounded(call, 0, op.max_value);
  if (op.max_value || !is_alike(call, every_type)) return no_kernel("this activation");
  const float same = call.input().scales.front() / call.output().scales.front();
  const float sloped =
      call.input().scales.front() * static_cast<float>(op.negative_slope) / call.output().scales.front();
  const Multiplier by = multiplier_of(static_cast<double>(same)),
                   below = multiplier_of(static_cast<double>(std::abs(sloped)));
  return each(call, [&](std::int32_t x) {
    return x >= 0 ? scaled(x, by) : (sloped < 0 ? -scaled(x, below) : scaled(x, below));
  });
}

Results run(const Clip& op, const QuantizedCall& call) {
  if (!op.least) return no_kernel("a bound from above");
  return bounded(call, *op.least, op.most);
}

Results run(const Elu& op, const QuantizedCall& call) {
  if (op.alpha != 1) return no_kernel("an ELU with another alpha");
  return by_table(call, [](float x) { return x < 0 ? std::expm1(x) : x; });
}

Results run(const Unary& op, const QuantizedCall& call) {
  const bool wide = is_alike(call, {DType::I16});
  switch (op.function) {
    case Function::Sigmoid:
      if (wide) return by_sigmoid_table<false>(call);
      return by_table(call, [](float x) { return 1.0F / (1.0F + std::exp(-x)); });
    case Function::Tanh:
      if (wide) return by_sigmoid_table<true>(call);
      return by_table(call, [](float x) { return std::tanh(x); });
    case Function::HardSwish: return hard_swish(call);
    case Function::Exp:
      if (!is_alike(call, signed_types)) return no_kernel("an exponential of numbers of this type");
      return by_table_or_pieces(call, [](float x) { return std::exp(x); });
    case Function::Log: return logarithm(call);
    case Function::Gelu:
      return by_table_or_pieces(call,
                                [](float x) { return 0.5F * x * std::erfc(x * -std::numbers::sqrt2_v<float> / 2); });
    case Function::GeluTanh:
      return by_table_or_pieces(call, [](float x) {
        constexpr auto slope = static_cast<float>(2 * std::numbers::inv_sqrtpi / std::numbers::sqrt2);
        return 0.5F * x * (1 + std::tanh(slope * (x + 0.044715F * x * x * x)));
      });
    case Function::Square: return square(call);
    case Function::Abs: return magnitude(call);
    case Function::Negate: return negated(call);
    case Function::Sqrt: return square_root(call);
    case Function::Rsqrt: return inverse_square_root(call);
    default: return no_kernel("this function");
  }
}

namespace {

void softmax_of_bytes(std::span<std::int32_t> row, Multiplier by, std::int32_t least_difference, const Limits& limits) {
  const std::int32_t largest = *std::ranges::max_element(row);
  const auto exponential_of = [&](std::int32_t x) { return exponential(scaled(x - largest, by)); };
  std::uint32_t sum = 0;
  for (const std::int32_t x : row)
    if (x - largest >= least_difference) sum += static_cast<std::uint32_t>(divided_by_power(exponential_of(x), 12));
  const Reciprocal of = reciprocal(static_cast<std::int32_t>(sum));
  for (std::int32_t& x : row) {
    const bool counts = x - largest >= least_difference;
    const std::int32_t y =
        counts ? divided_by_power(high_product(of.number, exponential_of(x)), std::clamp(of.exponent + 31 - 8, 0, 31))
               : 0;
    x = std::min(y, limits.most - limits.least);
  }
}

void softmax_of_16_bits(std::span<std::int32_t> row, Multiplier by) {
  static const auto exponentials = pieces(-10.0, 0.0, 0x1p15, [](double x) { return std::exp(x); });
  static const auto reciprocals = pieces(0.0, 1.0, 0x1p15, [](double x) { return 1 / (1 + x); });
  const std::int32_t largest = *std::ranges::max_element(row);
  std::int32_t sum = 0;
  for (std::int32_t& x : row) {
    const std::int64_t moved = std::int64_t{scaled(x - largest, by)} + 32767;
    x = looked_up(static_cast<std::int32_t>(std::clamp<std::int64_t>(moved, -32768, 32767)), exponentials);
    sum += x;
  }
  const int headroom = std::countl_zero(static_cast<std::uint32_t>(std::max(sum, 1)));
  const auto shifted = static_cast<std::int32_t>(((std::int64_t{sum} << (headroom - 1)) + (1 << 13)) >> 14);
  const std::int32_t inverse = looked_up(std::clamp(shifted - (1 << 15) - (1 << 16), -32768, 32767), reciprocals);
  const int shift = 31 - headroom;
  for (std::int32_t& x : row)
    x = static_cast<std::int32_t>(
        std::clamp<std::int64_t>((std::int64_t{x} * inverse + (std::int64_t{1} << (shift - 1))) >> shift, 0, 32767));
}

// In float32, of the numbers as they are stored; halves go to the even number.
Results logarithm_of_softmax(const QuantizedCall& call) {
  if (!is_alike(call, bytes)) return no_kernel("the logarithm of a softmax of numbers of this type");
  const float in = call.input().scales.front(), out = call.output().scales.front();
  const std::int32_t zero = zero_of(call.input());
  auto steps = steps_of(call.in[0]);
  const auto length = static_cast<std::size_t>(call.shape().back());
  for (std::size_t at = 0; at + length <= steps.size() && length > 0; at += length) {
    const std::span<std::int32_t> row(steps.data() + at, length);
    const std::int32_t largest = *std::ranges::max_element(row);
    float sum = 0;
    for (const std::int32_t x : row) sum += std::exp(-in * static_cast<float>(largest - x));
    const float moved = (in * static_cast<float>(largest + zero) + std::log(sum)) / out;
    for (std::int32_t& x : row) {
      const float y = std::nearbyint(in / out * static_cast<float>(x + zero) - moved);
      x = static_cast<std::int32_t>(std::clamp(y, -1024.0F, 1024.0F));
    }
  }
  return one_result(held_steps(call.result_shape(), steps, call.output()));
}

}  // namespace

Results run(const Softmax& op, const QuantizedCall& call) {
  if (!is_alike(call, every_type) || op.axes != Sizes{static_cast<Size>(call.shape().size()) - 1})
    return no_kernel("this softmax");
  if (op.logarithm) return logarithm_of_softmax(call);
  const Limits limits = limits_of(call.output().dtype);
  const bool wide = call.output().dtype == DType::I16;
  const double scale = wide ? 0x1p-15 : 0x1p-8;
  if (zero_of(call.output()) != (wide ? 0 : limits.least) || std::abs(scale_of(call.output()) - scale) > scale / 1000)
    return no_kernel("a softmax to another scale than " + std::string(wide ? "1/32768" : "1/256"));
  auto steps = steps_of(call.in[0]);
  const auto length = static_cast<std::size_t>(call.shape().back());
  const double factor =
      wide ? scale_of(call.input()) / (10.0 / 65535.0) : std::min(scale_of(call.input()) * (1 << 26), 0x1p31 - 1);
  const Multiplier by = multiplier_of(factor);
  const auto least = -static_cast<std::int32_t>(std::floor(31.0 * (1 << 26) / std::ldexp(1.0, by.shift)));
  for (std::size_t at = 0; at + length <= steps.size() && length > 0; at += length) {
    const std::span<std::int32_t> row(steps.data() + at, length);
    if (wide) softmax_of_16_bits(row, by);
    else softmax_of_bytes(row, by, least, limits);
  }
  return one_result(held_steps(call.result_shape(), steps, call.output()));
}

}  // namespace convoy::quantized
