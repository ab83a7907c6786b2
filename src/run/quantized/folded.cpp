// Averages, sums, products, means and lengths of whole numbers, and resizing.
#include "run/quantized/numbers.h"

#include <bit>
#include <cmath>

namespace convoy::quantized {
namespace {

std::vector<double> wide_steps(const Held& held) {
  const auto steps = steps_of(held);
  return {steps.begin(), steps.end()};
}

// How an average is rounded: ties away from zero, of bytes without a sign up. It is taken of the numbers as they are held.
std::int64_t average(std::int64_t sum, std::int64_t count, DType dtype) {
  const std::int64_t half = count / 2;
  return sum > 0 || dtype == DType::U8 ? (sum + half) / count : (sum - half) / count;
}

}  // namespace

Results run(const AveragePool& op, const QuantizedCall& call) {
  if (!call.in[0].quantization || !call.out[0] || !same_steps(call.input(), call.output()))
    return no_kernel("an average to another scale");
  if (op.counts_padding || op.divisor || op.axes.order != Order::ChannelsLast || op.axes.space != 2)
    return no_kernel("an average of this kind");
  AveragePool sums = op;
  sums.divisor = 1;
  const Sizes& shape = call.shape();
  const Tensor x = Tensor::of(shape, wide_steps(call.in[0]));
  const Tensor ones =
      Tensor::of({1, shape[1], shape[2], 1}, std::vector<double>(static_cast<std::size_t>(shape[1] * shape[2]), 1));
  auto sum = call.plain(sums, {&x}), count = call.plain(sums, {&ones});
  if (!sum || !count) return sum ? pass(count) : pass(sum);
  const auto all = sum->front().doubles(), counts = count->front().doubles();
  const auto channels = static_cast<std::size_t>(shape[3]);
  std::vector<std::int32_t> y;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto cells = static_cast<std::int64_t>(counts[i / channels % counts.size()]);
    if (cells < 1) return fail(Fault::Unsupported, "an average reads no cell, which TFLite does not run");
    const std::int64_t zero = zero_of(call.input());
    y.push_back(static_cast<std::int32_t>(
        average(static_cast<std::int64_t>(all[i]) + zero * cells, cells, call.input().dtype) - zero));
  }
  return one_result(held_steps(call.result_shape(), y, call.output()));
}

namespace {

// Every product, and the last one again, is scaled by the input's scale over a root of the result's, which makes as many factors.
Results multiplied(const Reduce& op, const QuantizedCall& call) {
  if (!call.in[0].quantization || !call.out[0] || call.input().dtype != call.output().dtype ||
      (call.input().dtype != DType::I8 && call.input().dtype != DType::I16) || call.input().per_axis())
    return no_kernel("a product of all numbers of this type");
  const Sizes& shape = call.shape();
  Sizes folded = shape;
  Size count = 1;
  for (const Size axis : op.axes)
    count *= shape[static_cast<std::size_t>(axis)], folded[static_cast<std::size_t>(axis)] = 1;
  if (count < 1) return no_kernel("the product of nothing");
  const Multiplier by =
      multiplier_of(scale_of(call.input()) / std::pow(scale_of(call.output()), 1.0 / static_cast<double>(count)));
  const auto x = steps_of(call.in[0]);
  const auto to = spread_cells(folded, shape);
  std::vector<std::int32_t> y(static_cast<std::size_t>(static_cast<Size>(x.size()) / count));
  std::vector<char> begun(y.size(), 0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto at = static_cast<std::size_t>(to[i]);
    y[at] = begun[at] == 0 ? x[i] : scaled(std::int64_t{y[at]} * x[i], by);
    begun[at] = 1;
  }
  for (std::int32_t& step : y) step = scaled(std::int64_t{step}, by);
  return one_result(held_steps(call.result_shape(), y, call.output()));
}

}  // namespace

namespace {

// Sums of numbers with a sign go through float32, of the numbers as they are stored. It is the default kernel that does so: the
// reference one takes such bytes for bytes without a sign.
std::vector<std::int32_t> real_sums(const Tensor& sums, Size count, const QuantizedCall& call) {
  const float scale = call.input().scales.front() / call.output().scales.front();
  const std::int64_t zero = zero_of(call.input());
  const float moved = static_cast<float>(-zero) * scale * static_cast<float>(count);
  std::vector<std::int32_t> y;
  for (const double sum : sums.doubles()) {
    const auto stored = static_cast<std::int32_t>(static_cast<std::int64_t>(sum) + zero * count);
    y.push_back(
        static_cast<std::int32_t>(std::clamp(std::round(static_cast<float>(stored) * scale + moved), -1e9F, 1e9F)));
  }
  return y;
}

}  // namespace

Results run(const Reduce& op, const QuantizedCall& call) {
  if (op.reduction == Reduction::Maximum || op.reduction == Reduction::Minimum) return chosen(op, call);
  if (op.reduction == Reduction::Product) return multiplied(op, call);
  if ((op.reduction != Reduction::Mean && op.reduction != Reduction::Sum) || !call.in[0].quantization || !call.out[0])
    return no_kernel("this reduction");
  const Tensor x = Tensor::of(call.shape(), wide_steps(call.in[0]));
  auto sums = call.plain(Reduce{Reduction::Sum, op.axes, op.keeps_axes}, {&x});
  if (!sums) return pass(sums);
  Size count = 1;
  for (const Size axis : op.axes) count *= call.shape()[static_cast<std::size_t>(axis)];
  if (count < 1) return no_kernel("the mean of nothing");
  if (op.reduction == Reduction::Sum && call.input().dtype != DType::U8)
    return one_result(held_steps(call.result_shape(), real_sums(sums->front(), count, call), call.output()));
  Multiplier by = multiplier_of(scale_of(call.input()) / scale_of(call.output()));
  if (op.reduction == Reduction::Mean) {
    const int shift = std::min({63 - std::countl_zero(static_cast<std::uint64_t>(count)), 32, 31 + by.shift});
    by.significand = static_cast<std::int32_t>((static_cast<std::int64_t>(by.significand) << shift) / count);
    by.shift -= shift;
  }
  std::vector<std::int32_t> y;
  for (const double sum : sums->front().doubles())
    y.push_back(scaled(static_cast<std::int32_t>(static_cast<std::int64_t>(sum)), by));
  return one_result(held_steps(call.result_shape(), y, call.output()));
}

// Whatever the scale of the input, the result is in steps of 1/128.
Results run(const LengthNorm& op, const QuantizedCall& call) {
  if (!call.in[0].quantization || !call.out[0] || call.input().dtype != call.output().dtype ||
      !is_byte(call.input().dtype) || call.input().per_axis() || op.p != 2 ||
      op.axes != Sizes{static_cast<Size>(call.shape().size()) - 1})
    return no_kernel("this length");
  const bool is_signed = call.input().dtype == DType::I8;
  if (call.output().scales.front() != 0x1p-7F || zero_of(call.output()) != (is_signed ? 0 : 128))
    return no_kernel("a division by the length to another scale than 1/128");
  auto steps = steps_of(call.in[0]);
  const auto length = static_cast<std::size_t>(call.shape().back());
  for (std::size_t at = 0; at + length <= steps.size() && length > 0; at += length) {
    const std::span<std::int32_t> row(steps.data() + at, length);
    std::uint32_t squares = 0;
    for (const std::int32_t x : row) squares += static_cast<std::uint32_t>(x * x);
    Multiplier by = inverse_root(static_cast<std::int32_t>(squares));
    if (is_signed) by.shift += 7;
    for (std::int32_t& x : row) x = scaled(is_signed ? x : 128 * x, by);
  }
  return one_result(held_steps(call.result_shape(), steps, call.output()));
}

namespace {

// One axis of a bilinear resize in steps of 1/1024 of a cell.
struct Between {
  Size low = 0, high = 0;
  std::int64_t share = 0;  // of `high`
};
std::vector<Between> between(Coordinates coordinates, Size in, Size out) {
  constexpr std::int64_t unit = 1 << 10;
  std::int64_t scale = (unit * in + out / 2) / out;
  if (coordinates == Coordinates::AlignCorners && out > 1) scale = (unit * (in - 1) + (out - 1) / 2) / (out - 1);
  std::vector<Between> all;
  for (Size q = 0; q < out; ++q) {
    const std::int64_t at = coordinates == Coordinates::HalfPixel ? q * scale + scale / 2 - unit / 2 : q * scale;
    const Size low = std::max<Size>(at / unit, 0);
    all.push_back({low, std::min<Size>((at + unit - 1) / unit, in - 1), at - unit * low});
  }
  return all;
}

std::int64_t rounded_share(std::int64_t sum) {
  constexpr std::int64_t half = 1 << 19;
  return (sum + (sum > 0 ? half : -half)) / (1 << 20);
}

}  // namespace

namespace {

// One axis of a bilinear resize of bytes without a sign, in float32.
struct Share {
  Size low = 0, high = 0;
  float share = 0;
};
std::vector<Share> shares(Coordinates coordinates, Size in, Size out) {
  float scale = static_cast<float>(in) / static_cast<float>(out);
  if (coordinates == Coordinates::AlignCorners && out > 1)
    scale = static_cast<float>(in - 1) / static_cast<float>(out - 1);
  std::vector<Share> all;
  for (Size q = 0; q < out; ++q) {
    const auto place = static_cast<float>(q);
    const float at = coordinates == Coordinates::HalfPixel ? (place + 0.5F) * scale - 0.5F : place * scale;
    const Size low = std::max<Size>(static_cast<Size>(std::floor(at)), 0);
    all.push_back({low, std::min<Size>(static_cast<Size>(std::ceil(at)), in - 1), at - static_cast<float>(low)});
  }
  return all;
}

// Calls value(n, row, column, channel) for every number of the result, in order.
template <class Axis, class Value>
std::vector<std::int32_t> resized(const Sizes& to, const std::vector<Axis>& rows, const std::vector<Axis>& columns,
                                  const Value& value) {
  std::vector<std::int32_t> y;
  y.reserve(static_cast<std::size_t>(to[0] * to[1] * to[2] * to[3]));
  for (Size n = 0; n < to[0]; ++n)
    for (const Axis& row : rows)
      for (const Axis& column : columns)
        for (Size c = 0; c < to[3]; ++c) y.push_back(value(n, row, column, c));
  return y;
}

}  // namespace

Results run(const Resize& op, const QuantizedCall& call) {
  if (op.interpolation == Interpolation::Nearest) return chosen(op, call);
  if (op.interpolation != Interpolation::Linear || op.axes != Sizes{1, 2} || call.shape().size() != 4 ||
      !call.in[0].quantization || !call.out[0] || !same_steps(call.input(), call.output()))
    return no_kernel("this interpolation");
  const Sizes& from = call.shape();
  const Sizes to = call.result_shape();
  const auto x = steps_of(call.in[0]);
  const std::int32_t zero = zero_of(call.input());
  const auto number = [&](Size n, Size h, Size w, Size c) {
    return x[static_cast<std::size_t>(((n * from[1] + h) * from[2] + w) * from[3] + c)] + zero;
  };
  if (call.input().dtype == DType::U8) {
    const auto y = resized(to, shares(op.coordinates, from[1], to[1]), shares(op.coordinates, from[2], to[2]),
                           [&](Size n, const Share& row, const Share& column, Size c) {
                             const auto at = [&](Size h, Size w) { return static_cast<float>(number(n, h, w, c)); };
                             const float sum = at(row.low, column.low) * (1 - row.share) * (1 - column.share) +
                                               at(row.high, column.low) * row.share * (1 - column.share) +
                                               at(row.low, column.high) * (1 - row.share) * column.share +
                                               at(row.high, column.high) * row.share * column.share + 0.5F;
                             return static_cast<std::int32_t>(sum) - zero;
                           });
    return one_result(held_steps(to, y, call.output()));
  }
  const auto y = resized(to, between(op.coordinates, from[1], to[1]), between(op.coordinates, from[2], to[2]),
                         [&](Size n, const Between& row, const Between& column, Size c) {
                           constexpr std::int64_t unit = 1 << 10;
                           const auto at = [&](Size h, Size w) { return std::int64_t{number(n, h, w, c)}; };
                           const std::int64_t sum =
                               at(row.low, column.low) * (unit - row.share) * (unit - column.share) +
                               at(row.high, column.low) * row.share * (unit - column.share) +
                               at(row.low, column.high) * (unit - row.share) * column.share +
                               at(row.high, column.high) * row.share * column.share;
                           return static_cast<std::int32_t>(rounded_share(sum)) - zero;
                         });
  return one_result(held_steps(to, y, call.output()));
}

}  // namespace convoy::quantized
