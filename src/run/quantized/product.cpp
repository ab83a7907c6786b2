// Convolutions, transposed ones, dense layers and products of matrices over whole numbers: sums of products in 32 bits (64 where the inputs have 16),
// scaled channel by channel; and over real inputs that meet whole weights, which are quantised on the way.
#include "run/plain/windows.h"
#include "run/quantized/numbers.h"
#include "run/threads.h"

#include <cmath>

namespace convoy::quantized {
namespace {

// All channels last, the kernel [tap, input of the group, output of all groups].
struct Product {
  plain::Walk walk;
  Size batch = 1, groups = 1, inputs = 1, outputs = 1;  // channels of one group
  std::vector<std::int32_t> x, kernel;

  Size all_outputs() const { return groups * outputs; }
  double operations() const {
    return static_cast<double>(batch * walk.positions() * walk.taps()) * static_cast<double>(inputs * all_outputs());
  }
};

// What wraps around in the type wraps around here.
template <class Sum>
void add_products(const Product& p, Size n, Size position, std::vector<Size>& cells, std::vector<Sum>& sums) {
  const Size all = p.all_outputs(), channels = p.groups * p.inputs;
  cells.resize(static_cast<std::size_t>(p.walk.taps()));
  p.walk.cells_of(position, cells.data());
  sums.assign(static_cast<std::size_t>(all), 0);
  for (Size t = 0; t < p.walk.taps(); ++t) {
    const Size cell = cells[static_cast<std::size_t>(t)];
    if (cell < 0) continue;
    const std::int32_t* x = p.x.data() + (n * p.walk.cells() + cell) * channels;
    for (Size g = 0; g < p.groups; ++g)
      for (Size c = 0; c < p.inputs; ++c) {
        const auto factor = static_cast<Sum>(x[g * p.inputs + c]);
        const std::int32_t* w = p.kernel.data() + (t * p.inputs + c) * all + g * p.outputs;
        Sum* sum = sums.data() + g * p.outputs;
        for (Size o = 0; o < p.outputs; ++o) sum[o] += factor * static_cast<Sum>(w[o]);
      }
  }
}

// Calls close(n, position, sums) for every position, each by its own thread.
template <class Sum, class Close>
void for_each_position(const Product& p, int threads, const Close& close) {
  const Size positions = p.walk.positions();
  for_each_item(threads_for(threads, p.operations()), p.batch * positions, [&](Size item) {
    thread_local std::vector<Size> cells;
    thread_local std::vector<Sum> sums;
    add_products(p, item / positions, item % positions, cells, sums);
    close(item / positions, item, sums);
  });
}

// One for each output channel, of one scale for all or of one each.
std::vector<Multiplier> multipliers(const QuantizedCall& call, Size outputs, bool rounds_product) {
  const Quantization& weights = call.input(1);
  std::vector<Multiplier> all;
  for (Size o = 0; o < outputs; ++o) {
    const float scale = weights.scales[weights.per_axis() ? static_cast<std::size_t>(o) : 0];
    const double product = rounds_product ? static_cast<double>(call.input().scales.front() * scale)
                                          : scale_of(call.input()) * static_cast<double>(scale);
    all.push_back(multiplier_of(product / scale_of(call.output())));
  }
  return all;
}

std::vector<std::int64_t> bias_of(const QuantizedCall& call, Size outputs) {
  if (call.has(2)) return call.in[2].tensor->integers();
  return std::vector<std::int64_t>(static_cast<std::size_t>(outputs), 0);
}

// TFLite's convolutions round twice, its dense layers once.
enum class Rounds : std::uint8_t { Twice, Once };

template <class Sum, class Whole>
Tensor scaled_products(const Product& p, const QuantizedCall& call, const std::vector<Multiplier>& by, Rounds rounds) {
  const Size all = p.all_outputs();
  const auto bias = bias_of(call, all);
  std::vector<std::int32_t> y(static_cast<std::size_t>(p.batch * p.walk.positions() * all));
  for_each_position<Sum>(p, call.threads, [&](Size, Size item, const std::vector<Sum>& sums) {
    std::int32_t* to = y.data() + item * all;
    for (std::size_t o = 0; o < sums.size(); ++o) {
      const auto sum = static_cast<Whole>(sums[o] + static_cast<Sum>(bias[o]));
      to[o] = rounds == Rounds::Once ? scaled_once(sum, by[o]) : scaled(sum, by[o]);
    }
  });
  return held_steps(call.result_shape(), y, call.output());
}

// Real inputs of one batch as bytes: around zero, or around a point of their own.
struct Quantized {
  float scale = 1;
  std::int32_t zero = 0;
};
Quantized quantize(std::span<const float> x, bool has_zero_point, std::int32_t* to) {
  const auto [least, most] = std::ranges::minmax(x);
  if (!has_zero_point) {
    const float range = std::max(std::abs(least), std::abs(most));
    if (range == 0) return std::fill_n(to, x.size(), 0), Quantized{};
    const float inverse = 127 / range;
    for (std::size_t i = 0; i < x.size(); ++i)
      to[i] = static_cast<std::int32_t>(std::clamp(std::round(x[i] * inverse), -127.0F, 127.0F));
    return {range / 127, 0};
  }
  const double low = std::min(0.0, static_cast<double>(least)), high = std::max(0.0, static_cast<double>(most));
  if (low == high) return std::fill_n(to, x.size(), 0), Quantized{};
  const double scale = (high - low) / 255;
  const bool from_low = 128 + std::abs(low / scale) < 127 + std::abs(high / scale);
  const double zero = std::clamp(std::round(from_low ? -128 - low / scale : 127 - high / scale), -128.0, 127.0);
  const Quantized by{static_cast<float>(scale), static_cast<std::int32_t>(zero)};
  const float inverse = 1 / by.scale;
  for (std::size_t i = 0; i < x.size(); ++i)
    to[i] = static_cast<std::int32_t>(
                std::clamp(std::round(static_cast<float>(by.zero) + x[i] * inverse), -128.0F, 127.0F)) -
            by.zero;
  return by;
}

// `scales_first`: both scales become one before they meet the sum, which a bias has been put into.
Results hybrid(Product p, const QuantizedCall& call, bool has_zero_point, bool scales_first) {
  const Quantization& weights = call.input(1);
  if (weights.dtype != DType::I8)
    return no_kernel("real numbers and weights of type " + std::string(name_of(weights.dtype)));
  const Size all = p.all_outputs(), each = p.walk.cells() * p.groups * p.inputs;
  const std::vector<float> x = call.in[0].tensor->floats();
  if (std::ranges::any_of(x, [](float v) { return !std::isfinite(v); }))
    return no_kernel("an infinity or NaN that meets weights");
  p.x.resize(x.size());
  std::vector<Quantized> by;
  for (Size n = 0; n < p.batch && each > 0; ++n)
    by.push_back(
        quantize({x.data() + n * each, static_cast<std::size_t>(each)}, has_zero_point, p.x.data() + n * each));
  const std::vector<float> bias =
      call.has(2) ? call.in[2].tensor->floats() : std::vector<float>(static_cast<std::size_t>(all), 0);
  std::vector<float> y(static_cast<std::size_t>(p.batch * p.walk.positions() * all));
  for_each_position<std::uint32_t>(p, call.threads, [&](Size n, Size item, const std::vector<std::uint32_t>& sums) {
    const float scale = by[static_cast<std::size_t>(n)].scale;
    for (std::size_t o = 0; o < sums.size(); ++o) {
      const auto sum = static_cast<float>(static_cast<std::int32_t>(sums[o]));
      const float own = weights.scales[weights.per_axis() ? o : 0];
      const float real = scales_first ? sum * (scale * own) : sum * own * scale;
      y[static_cast<std::size_t>(item * all) + o] = bias[o] + real;
    }
  });
  return one_result(Tensor::of(call.result_shape(), std::move(y)));
}

Status check_product(const QuantizedCall& call, Size outputs) {
  if (!call.in[1].quantization) return no_kernel("real weights that meet whole inputs");
  const Quantization& weights = call.input(1);
  if (weights.per_axis() && static_cast<Size>(weights.scales.size()) != outputs)
    return fail(Fault::Format, std::to_string(weights.scales.size()) + " scales of a kernel with " +
                                   std::to_string(outputs) + " outputs");
  if (call.in[0].quantization && (!call.out[0] || !(is_byte(call.input().dtype) || call.input().dtype == DType::I16)))
    return no_kernel("a product to real numbers");
  if (call.in[0].quantization && call.input().per_axis()) return no_kernel("an input with a scale for each channel");
  if (!call.in[0].quantization && call.out[0]) return no_kernel("a product of real numbers to whole ones");
  if (call.in[0].quantization && call.has(2) && call.in[2].tensor->dtype() != DType::I32 &&
      call.in[2].tensor->dtype() != DType::I64)
    return no_kernel("a bias of type " + std::string(name_of(call.in[2].tensor->dtype())));
  return {};
}

// 16-bit inputs are summed in 64 bits unless the bias has 32.
Tensor whole_product(const Product& p, const QuantizedCall& call, bool rounds_product, Rounds rounds) {
  const auto by = multipliers(call, p.all_outputs(), rounds_product);
  const bool wide = call.input().dtype == DType::I16 && !(call.has(2) && call.in[2].tensor->dtype() == DType::I32);
  return wide ? scaled_products<std::uint64_t, std::int64_t>(p, call, by, rounds)
              : scaled_products<std::uint32_t, std::int32_t>(p, call, by, rounds);
}

bool differ(const std::vector<float>& scales) {
  return std::ranges::any_of(scales, [&](float s) { return s != scales.front(); });
}

Results convolved(Product p, const QuantizedCall& call) {
  if (auto s = check_product(call, p.all_outputs()); !s) return pass(s);
  p.kernel = steps_of(call.in[1]);
  if (!call.in[0].quantization) {
    const bool per_channel = p.groups != 1 || differ(call.input(1).scales);
    return hybrid(std::move(p), call, per_channel, !per_channel);
  }
  p.x = steps_of(call.in[0]);
  return one_result(whole_product(p, call, call.input().dtype == DType::U8, Rounds::Twice));
}

}  // namespace

Results run(const Conv& op, const QuantizedCall& call) {
  if (op.axes.order != Order::ChannelsLast || op.axes.space != 2 ||
      (op.kernel_order != KernelOrder::SpaceInOut && op.kernel_order != KernelOrder::SpaceInMultiplier))
    return no_kernel("a convolution of this layout");
  std::vector<plain::AxisWalk> walks;
  for (std::size_t i = 0; i < op.windows.size(); ++i) {
    const Size in = call.shape()[i + 1];
    const auto placed = place(op.paddings[i], op.windows[i], in);
    if (!placed) return fail(Fault::Internal, "a convolution runs where no window fits");
    walks.push_back(
        {in, placed->out, op.windows[i].kernel, op.windows[i].stride, op.windows[i].dilation, placed->before, false});
  }
  const Size outputs = call.result_shape().back();
  return convolved({plain::Walk(std::move(walks)),
                    call.shape()[0],
                    op.groups,
                    call.shape().back() / op.groups,
                    outputs / op.groups,
                    {},
                    {}},
                   call);
}

Results run(const ConvTranspose& op, const QuantizedCall& call) {
  if (op.axes.order != Order::ChannelsLast || op.axes.space != 2 || op.kernel_order != KernelOrder::SpaceOutIn ||
      op.groups != 1)
    return no_kernel("a transposed convolution of this layout");
  if (!call.in[0].quantization) return no_kernel("a transposed convolution of real numbers");
  std::vector<plain::AxisWalk> walks;
  for (std::size_t i = 0; i < op.windows.size(); ++i) {
    const Size in = call.shape()[i + 1];
    const auto crop = place(op.paddings[i], op.windows[i], in);
    if (!crop) return fail(Fault::Internal, "a transposed convolution runs where it leaves no cell");
    walks.push_back(
        {in, crop->out, op.windows[i].kernel, op.windows[i].stride, op.windows[i].dilation, crop->before, true});
  }
  const Tensor kernel = call.in[1].tensor->permuted(Sizes{0, 1, 3, 2});
  std::vector<Held> in(call.in.begin(), call.in.end());
  in[1].tensor = &kernel;
  QuantizedCall turned = call;
  turned.in = in;
  return convolved(
      {plain::Walk(std::move(walks)), call.shape()[0], 1, call.shape().back(), call.result_shape().back(), {}, {}},
      turned);
}

// Of one scale for all outputs, the product of both scales is rounded to float32 first.
Results run(const Linear& op, const QuantizedCall& call) {
  if (op.order != LinearOrder::InOut) return no_kernel("a dense layer of this layout");
  const Sizes& kernel = call.shape(1);
  if (auto s = check_product(call, kernel[1]); !s) return pass(s);
  Size rows = 1;
  for (std::size_t i = 0; i + 1 < call.shape().size(); ++i) rows *= call.shape()[i];
  Product p{plain::Walk(std::vector<plain::AxisWalk>(1)), rows, 1, kernel[0], kernel[1], {}, steps_of(call.in[1])};
  const Quantization& weights = call.input(1);
  if (!call.in[0].quantization) return hybrid(std::move(p), call, weights.inputs_have_zero_points, true);
  p.x = steps_of(call.in[0]);
  return one_result(whole_product(p, call, !weights.per_axis(), Rounds::Once));
}

// Sums of products are whole, and float64 holds them.
Results run(const MatMul& op, const QuantizedCall& call) {
  const auto fits = [&](const Quantization* q) {
    return q && !q->per_axis() && (q->dtype == DType::I8 || q->dtype == DType::I16) && q->dtype == call.output().dtype;
  };
  if (!call.out[0] || !fits(call.in[0].quantization) || !fits(call.in[1].quantization))
    return no_kernel("a product of matrices of these types");
  std::vector<Tensor> sides;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto steps = steps_of(call.in[i]);
    sides.push_back(Tensor::of(call.shape(i), std::vector<double>(steps.begin(), steps.end())));
  }
  auto sums = call.plain(op, {sides.data(), sides.data() + 1});
  if (!sums) return sums;
  const double scales = static_cast<double>(call.input(0).scales.front() * call.input(1).scales.front());
  const Multiplier by = multiplier_of(scales / scale_of(call.output()));
  const bool wide = call.output().dtype == DType::I16;
  std::vector<std::int32_t> y;
  for (const double sum : sums->front().doubles()) {
    const auto whole = static_cast<std::int64_t>(sum);
    y.push_back(wide ? scaled(whole, by) : scaled(static_cast<std::int32_t>(whole), by));
  }
  return one_result(held_steps(call.result_shape(), y, call.output()));
}

}  // namespace convoy::quantized
