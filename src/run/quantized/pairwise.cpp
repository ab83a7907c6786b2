// Arithmetic and comparisons of two, joining, and numbers in other steps.
#include "run/quantized/numbers.h"

#include <bit>
#include <cmath>

namespace convoy::quantized {
namespace {

struct Operands {
  std::vector<std::int32_t> a, b;
  std::vector<Size> a_cells, b_cells;
};
Operands operands(const QuantizedCall& call) {
  const Sizes shape = call.result_shape();
  return {steps_of(call.in[0]), steps_of(call.in[1]), spread_cells(call.shape(0), shape),
          spread_cells(call.shape(1), shape)};
}

// Twice the larger scale, to which both are brought with as many bits more as 32 have room for.
double shared_unit(const QuantizedCall& call) { return 2 * std::max(scale_of(call.input(0)), scale_of(call.input(1))); }

// What is between both and the result, in steps of the shared unit over 2^more.
std::vector<std::int32_t> fine_sum(const QuantizedCall& call, std::int32_t sign, int more) {
  const double unit = shared_unit(call);
  const Multiplier by_a = multiplier_of(scale_of(call.input(0)) / unit),
                   by_b = multiplier_of(scale_of(call.input(1)) / unit);
  const Operands of = operands(call);
  std::vector<std::int32_t> result;
  result.reserve(of.a_cells.size());
  for (std::size_t i = 0; i < of.a_cells.size(); ++i) {
    const std::int32_t left = scaled(of.a[static_cast<std::size_t>(of.a_cells[i])] * (1 << more), by_a);
    const std::int32_t right = scaled(of.b[static_cast<std::size_t>(of.b_cells[i])] * (1 << more), by_b);
    result.push_back(left + sign * right);
  }
  return result;
}

Results sum(const QuantizedCall& call, std::int32_t sign) {
  const Quantization& y = call.output();
  const int more = y.dtype == DType::I16 ? 15 : 20;
  const Multiplier back = multiplier_of(shared_unit(call) / (std::ldexp(1.0, more) * scale_of(y)));
  std::vector<std::int32_t> result = fine_sum(call, sign, more);
  for (std::int32_t& step : result) step = scaled(step, back);
  return one_result(held_steps(call.result_shape(), result, y));
}

// A difference that is squared next: in 32 bits, with 7 bits more so that the square has room.
Results fine_difference(const QuantizedCall& call) {
  constexpr int more = 7;
  if (scale_of(call.output()) != std::ldexp(shared_unit(call), -more) || zero_of(call.output()) != 0)
    return no_kernel("a difference in 32 bits to another scale");
  return one_result(held_steps(call.result_shape(), fine_sum(call, -1, more), call.output()));
}

Results product(const QuantizedCall& call) {
  const float scales = call.input(0).scales.front() * call.input(1).scales.front() / call.output().scales.front();
  const Multiplier by = multiplier_of(static_cast<double>(scales));
  const Operands of = operands(call);
  std::vector<std::int32_t> result;
  result.reserve(of.a_cells.size());
  for (std::size_t i = 0; i < of.a_cells.size(); ++i)
    result.push_back(
        scaled(of.a[static_cast<std::size_t>(of.a_cells[i])] * of.b[static_cast<std::size_t>(of.b_cells[i])], by));
  return one_result(held_steps(call.result_shape(), result, call.output()));
}

// A reciprocal in 31 bits, and the quotient with all the bits that are left.
Results quotient(const QuantizedCall& call) {
  const float scales = call.input(0).scales.front() / (call.input(1).scales.front() * call.output().scales.front());
  const Multiplier by = multiplier_of(static_cast<double>(scales));
  const Operands of = operands(call);
  std::vector<std::int32_t> result;
  result.reserve(of.a_cells.size());
  for (std::size_t i = 0; i < of.a_cells.size(); ++i) {
    const std::int32_t a = of.a[static_cast<std::size_t>(of.a_cells[i])],
                       b = of.b[static_cast<std::size_t>(of.b_cells[i])];
    if (b == 0) return fail(Fault::Usage, "a quotient by 0, which TFLite's kernel leaves undefined");
    const Reciprocal inverse = reciprocal(std::abs(b));
    const std::int32_t signed_a = b < 0 ? -a : a;
    const int headroom = std::countl_zero(static_cast<std::uint32_t>(signed_a ^ (signed_a >> 31))) - 1;
    const auto high = static_cast<std::int32_t>(static_cast<std::uint32_t>(signed_a) << headroom);
    const std::int32_t whole = high_product(high, inverse.number);
    result.push_back(scaled(whole, {by.significand, by.shift - (inverse.exponent + 19) - headroom}));
  }
  return one_result(held_steps(call.result_shape(), result, call.output()));
}

bool are_of_one_type(const QuantizedCall& call) {
  return call.in[0].quantization && call.in[1].quantization && call.input(0).dtype == call.input(1).dtype &&
         (is_byte(call.input(0).dtype) || call.input(0).dtype == DType::I16) && !call.input(0).per_axis() &&
         !call.input(1).per_axis();
}
bool is_alike(const QuantizedCall& call) {
  return are_of_one_type(call) && call.out[0] && call.input(0).dtype == call.output().dtype;
}

// Of bytes in steps of 1/256, so that nearer numbers are equal; of 16 bits as they are held.
Results compared(const Binary& op, const QuantizedCall& call) {
  if (!are_of_one_type(call)) return no_kernel("a comparison of unlike types");
  const bool wide = call.input().dtype == DType::I16;
  if (wide && (op.function == BinaryFunction::Equal || op.function == BinaryFunction::NotEqual))
    return no_kernel("whether 16-bit numbers are equal");
  if (wide && !same_steps(call.input(0), call.input(1)))
    return no_kernel("a comparison of 16-bit numbers of unlike scales");
  std::vector<Tensor> sides;
  for (std::size_t i = 0; i < 2; ++i) {
    if (!wide && scale_of(call.input(i)) >= 1) return no_kernel("a comparison of numbers whose scale is 1 or more");
    const Multiplier by = multiplier_of(scale_of(call.input(i)));
    std::vector<double> numbers;
    for (const std::int32_t x : steps_of(call.in[i])) numbers.push_back(wide ? x : scaled(x * 256, by));
    sides.push_back(Tensor::of(call.shape(i), std::move(numbers)));
  }
  return call.plain(op, {sides.data(), sides.data() + 1});
}

}  // namespace

Results run(const Binary& op, const QuantizedCall& call) {
  if (op.function == BinaryFunction::Maximum || op.function == BinaryFunction::Minimum) return chosen(op, call);
  if (gives_truth(op.function)) return compared(op, call);
  if (op.function == BinaryFunction::Subtract && are_of_one_type(call) && is_byte(call.input().dtype) && call.out[0] &&
      call.output().dtype == DType::I32)
    return fine_difference(call);
  if (!is_alike(call)) return no_kernel("arithmetic on unlike types");
  switch (op.function) {
    case BinaryFunction::Add: return sum(call, 1);
    case BinaryFunction::Subtract: return sum(call, -1);
    case BinaryFunction::Multiply: return product(call);
    case BinaryFunction::Divide: return quotient(call);
    default: return no_kernel("this arithmetic");
  }
}

Results run(const PRelu&, const QuantizedCall& call) {
  const bool wide = call.in[0].quantization && call.out[0] && call.in[1].quantization &&
                    call.input().dtype == DType::I16 && call.output().dtype == DType::I16 &&
                    call.input(1).dtype == DType::I8 && !call.input(1).per_axis();
  if (!wide && (!is_alike(call) || call.input().dtype == DType::I16)) return no_kernel("a slope of another type");
  const float same = call.input().scales.front() / call.output().scales.front();
  const float sloped = call.input().scales.front() * call.input(1).scales.front() / call.output().scales.front();
  const Multiplier by = multiplier_of(static_cast<double>(same)), below = multiplier_of(static_cast<double>(sloped));
  const auto x = steps_of(call.in[0]), slope = steps_of(call.in[1]);
  const auto cells = spread_cells(call.shape(1), call.shape(0));
  std::vector<std::int32_t> y;
  for (std::size_t i = 0; i < x.size(); ++i)
    y.push_back(x[i] >= 0 ? scaled(x[i], by) : scaled(x[i] * slope[static_cast<std::size_t>(cells[i])], below));
  return one_result(held_steps(call.result_shape(), y, call.output()));
}

// Bytes without a sign may join from several scales.
Results run(const Concat& op, const QuantizedCall& call) {
  if (!call.out[0] || call.output().dtype != DType::U8) return chosen(op, call);
  const Quantization& to = call.output();
  std::vector<Tensor> parts;
  parts.reserve(call.in.size());
  std::vector<Held> joined;
  for (const Held& held : call.in) {
    if (!held.quantization || held.quantization->dtype != DType::U8) return no_kernel("joining of unlike types");
    const Quantization& from = *held.quantization;
    if (!same_steps(from, to)) {
      const float scale = from.scales.front() * (1 / to.scales.front());
      const float bias = static_cast<float>(-zero_of(from)) * scale;
      std::vector<std::int32_t> steps;
      for (const std::int64_t number : held.tensor->integers())
        steps.push_back(static_cast<std::int32_t>(std::round(static_cast<float>(number) * scale + bias)));
      parts.push_back(held_steps(held.tensor->shape(), steps, to));
    } else {
      parts.push_back(*held.tensor);
    }
    joined.push_back({&parts.back(), &to});
  }
  QuantizedCall alike = call;
  alike.in = joined;
  return chosen(op, alike);
}

namespace {

// Of every element, along the axis that the scales are told for.
template <class F>
void for_each_scale(const Quantization& q, const Sizes& shape, const F& visit) {
  Size inner = 1, count = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    count *= shape[i];
    if (static_cast<Size>(i) > q.axis) inner *= shape[i];
  }
  const auto pairs = static_cast<Size>(q.scales.size());
  for (Size i = 0; i < count; ++i) {
    const auto pair = static_cast<std::size_t>(q.per_axis() ? i / inner % pairs : 0);
    visit(static_cast<std::size_t>(i), q.scales[pair], q.zero_points[pair]);
  }
}

Results to_real(const QuantizedCall& call) {
  const auto numbers = call.in[0].tensor->integers();
  std::vector<float> real(numbers.size());
  for_each_scale(call.input(), call.shape(), [&](std::size_t i, float scale, std::int64_t zero) {
    real[i] = static_cast<float>(static_cast<double>(scale) * static_cast<double>(numbers[i] - zero));
  });
  return one_result(Tensor::of(call.result_shape(), std::move(real)));
}

Results from_real(const QuantizedCall& call) {
  const Quantization& to = call.output();
  if (to.per_axis()) return no_kernel("real numbers to a scale for each channel");
  const Limits limits = limits_of(to.dtype);
  std::vector<std::int32_t> steps;
  for (const float x : call.in[0].tensor->floats()) {
    const float step = std::round(x / to.scales.front());
    if (std::isnan(step)) return fail(Fault::Usage, "a NaN cannot be quantised");
    const auto reach = static_cast<float>(limits.most) - static_cast<float>(limits.least);
    steps.push_back(static_cast<std::int32_t>(std::clamp(step, -reach, reach)));
  }
  return one_result(held_steps(call.result_shape(), steps, to));
}

}  // namespace

Results requantized(const QuantizedCall& call) {
  if (!call.out[0]) return to_real(call);
  if (!call.in[0].quantization) return from_real(call);
  if (same_steps(call.input(), call.output())) return one_result(call.in[0].tensor->reshaped(call.result_shape()));
  if (call.input().per_axis() || call.output().per_axis()) return no_kernel("a scale for each channel to another");
  const Multiplier by = multiplier_of(scale_of(call.input()) / scale_of(call.output()));
  std::vector<std::int32_t> steps;
  for (const std::int32_t x : steps_of(call.in[0])) steps.push_back(scaled(x, by));
  return one_result(held_steps(call.result_shape(), steps, call.output()));
}

}  // namespace convoy::quantized
