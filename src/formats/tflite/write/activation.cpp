// Functions of one number, and softmax.
#include "formats/tflite/write/sink.h"

#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

namespace convoy::tflite {
namespace {

constexpr std::pair<Function, std::string_view> words_of_functions[] = {
    {Function::Sigmoid, "LOGISTIC"}, {Function::Tanh, "TANH"},
    {Function::Exp, "EXP"},          {Function::Log, "LOG"},
    {Function::Sqrt, "SQRT"},        {Function::Rsqrt, "RSQRT"},
    {Function::Square, "SQUARE"},    {Function::Abs, "ABS"},
    {Function::Negate, "NEG"},       {Function::Floor, "FLOOR"},
    {Function::Ceil, "CEIL"},        {Function::Round, "ROUND"},
    {Function::Sin, "SIN"},          {Function::Cos, "COS"},
    {Function::Sign, "SIGN"},        {Function::HardSwish, "HARD_SWISH"}};

// x where it is above 0 and f(min(x, 0)) below, f(0) = 0: their sum.
Status write_bent(Sink& sink, Place x, double scale, double inner, double outer) {
  Place low = sink.like("MINIMUM", {x, sink.number(0)});
  if (inner != 1) low = sink.like("MUL", {low, sink.number(inner)});
  low = sink.like("ELU", {low});
  low = sink.like("MUL", {low, sink.number(outer)});
  const Place high = sink.like("RELU", {x});
  if (scale == 1) return sink.last("ADD", {high, low}), Status();
  sink.last("MUL", {sink.like("ADD", {high, low}), sink.number(scale)});
  return {};
}

// log(1 + exp(x)), and nothing overflows: max(x, 0) + log(1 + exp(-|x|)).
Place softplus_of(Sink& sink, Place x) {
  const Place far = sink.like("EXP", {sink.like("NEG", {sink.like("ABS", {x})})});
  return sink.like("ADD", {sink.like("RELU", {x}), sink.like("LOG", {sink.like("ADD", {far, sink.number(1)})})});
}

Status write_unary(const Unary& op, Sink& sink) {
  const DType dtype = sink.type().dtype;
  if (op.function == Function::Not && dtype == DType::Bool) return sink.last("LOGICAL_NOT", {sink.input()}), Status();
  if (dtype != DType::F32) return sink.refused("this function of " + std::string(name_of(dtype)));
  const Place x = sink.input();
  for (const auto& [function, word] : words_of_functions)
    if (function == op.function) return sink.last(word, {x}), Status();
  switch (op.function) {
    case Function::Gelu: sink.last("GELU", {x}); return {};
    case Function::GeluTanh: sink.last("GELU", {x}, {{"approximate", Size{1}}}); return {};
    case Function::Silu: sink.last("MUL", {x, sink.like("LOGISTIC", {x})}); return {};
    case Function::Softsign:
      sink.last("DIV", {x, sink.like("ADD", {sink.like("ABS", {x}), sink.number(1)})});
      return {};
    case Function::Reciprocal:
      sink.last("DIV", {sink.constant("one", Tensor::of({1}, std::vector<float>{1})), x});
      return {};
    case Function::Selu:
      return write_bent(sink, x, 1.0507009873554804934193349852946, 1, 1.6732632423543772848170429916717);
    case Function::Softplus: {
      const Place far = sink.like("EXP", {sink.like("NEG", {sink.like("ABS", {x})})});
      sink.last("ADD", {sink.like("RELU", {x}), sink.like("LOG", {sink.like("ADD", {far, sink.number(1)})})});
      return {};
    }
    // 0 up to -1, a parabola up to 1, then x.
    case Function::SparsePlus: {
      const Place line = sink.like("ADD", {sink.at_least(x, -1), sink.number(1)});
      const Place bend = sink.like("MUL", {sink.like("SQUARE", {line}), sink.number(0.25)});
      const Place above = sink.step("GREATER_EQUAL", {x, sink.number(1)}, {DType::Bool, sink.type().shape});
      return sink.last("SELECT_V2", {above, x, bend}), Status();
    }
    case Function::SparseSigmoid: {
      const Place half = sink.like("MUL", {sink.like("RELU_N1_TO_1", {x}), sink.number(0.5)});
      return sink.last("ADD", {half, sink.number(0.5)}), Status();
    }
    case Function::LogSigmoid: sink.last("NEG", {softplus_of(sink, sink.like("NEG", {x}))}); return {};
    case Function::Mish: sink.last("MUL", {x, sink.like("TANH", {softplus_of(sink, x)})}); return {};
    case Function::TanhShrink: sink.last("SUB", {x, sink.like("TANH", {x})}); return {};
    default: return sink.refused("this function");
  }
}

void write_bounds(Sink& sink, Place x, std::optional<double> least, std::optional<double> most) {
  if (least && most) sink.last("MINIMUM", {sink.at_least(x, *least), sink.number(*most)});
  else if (least) sink.last_at_least(x, *least);
  else if (most) sink.last("MINIMUM", {x, sink.number(*most)});
  else sink.pass_on();
}

// Bounds of whole numbers, in their own type. Fails: a bound that is no number of it.
Status write_whole_bounds(Sink& sink, std::optional<double> least, std::optional<double> most) {
  const DType dtype = sink.type().dtype;
  const auto bound = [&](double value) -> Place {  // -1: the type does not hold it
    if (value != std::floor(value) || std::abs(value) > 9007199254740992.0) return -1;
    const auto whole = static_cast<std::int64_t>(value);
    std::vector<std::byte> bytes(static_cast<std::size_t>(bytes_of(dtype)));
    std::memcpy(bytes.data(), &whole, bytes.size());
    Tensor own = *Tensor::owning(dtype, {}, std::move(bytes));
    return own.integers().front() == whole ? sink.constant("number", std::move(own)) : -1;
  };
  const Place low = least ? bound(*least) : -1, high = most ? bound(*most) : -1;
  if ((least && low < 0) || (most && high < 0))
    return sink.refused("a bound that " + std::string(name_of(dtype)) + " does not hold");
  const Place x = sink.input();
  if (least && most) sink.last("MINIMUM", {sink.like("MAXIMUM", {x, low}), high});
  else if (least) sink.last("MAXIMUM", {x, low});
  else if (most) sink.last("MINIMUM", {x, high});
  else sink.pass_on();
  return {};
}

Status write_relu(const Relu& op, Sink& sink) {
  const bool is_whole = !is_floating(sink.type().dtype) && op.threshold == 0 && op.negative_slope == 0;
  if (is_whole && op.max_value.value_or(1) > 0) return write_whole_bounds(sink, 0, op.max_value);
  const Place x = sink.input();
  if (op.threshold == 0 && op.negative_slope == 0) {
    if (!op.max_value) sink.last("RELU", {x});
    else if (*op.max_value == 6) sink.last("RELU6", {x});
    else if (*op.max_value > 0) sink.last("MINIMUM", {sink.like("RELU", {x}), sink.number(*op.max_value)});
    else return sink.refused("an activation with a bound of " + std::to_string(*op.max_value));
    return {};
  }
  if (op.threshold == 0 && !op.max_value) return sink.last("LEAKY_RELU", {x}, {{"alpha", op.negative_slope}}), Status();
  if (op.threshold == 0 && *op.max_value > 0)
    return sink.last("MINIMUM",
                     {sink.like("LEAKY_RELU", {x}, {{"alpha", op.negative_slope}}), sink.number(*op.max_value)}),
           Status();
  const auto compared = [&](const char* word, double with) {
    return sink.step(word, {x, sink.number(with)}, {DType::Bool, sink.type().shape});
  };
  const Place above = compared(op.strict ? "GREATER" : "GREATER_EQUAL", op.threshold);
  Place below = sink.number(0);
  if (op.negative_slope != 0)
    below = sink.like("MUL", {sink.like("SUB", {x, sink.number(op.threshold)}), sink.number(op.negative_slope)});
  if (!op.max_value) return sink.last("SELECT_V2", {above, x, below}), Status();
  const Place unbounded = sink.step("SELECT_V2", {above, x, below}, sink.type());
  sink.last("SELECT_V2", {compared("GREATER_EQUAL", *op.max_value), sink.number(*op.max_value), unbounded});
  return {};
}

Status write_threshold(const Threshold& op, Sink& sink) {
  const Place x = sink.input();
  const Place above = sink.step("GREATER", {x, sink.number(op.threshold)}, {DType::Bool, sink.type().shape});
  sink.last("SELECT_V2", {above, x, sink.number(op.value)});
  return {};
}

// Soft: what lies beyond the bounds, moved back by them.
Status write_shrink(const Shrink& op, Sink& sink) {
  if (op.lambda < 0) return sink.refused("a shrinking function with lambda " + std::to_string(op.lambda));
  const Place x = sink.input();
  if (op.soft) {
    const Place above = sink.like("RELU", {sink.like("SUB", {x, sink.number(op.lambda)})});
    const Place below = sink.like("RELU", {sink.like("SUB", {sink.like("NEG", {x}), sink.number(op.lambda)})});
    return sink.last("SUB", {above, below}), Status();
  }
  const Place beyond =
      sink.step("GREATER", {sink.like("ABS", {x}), sink.number(op.lambda)}, {DType::Bool, sink.type().shape});
  sink.last("SELECT_V2", {beyond, x, sink.number(0)});
  return {};
}

Status write_elu(const Elu& op, Sink& sink) {
  if (op.alpha == 1) return sink.last("ELU", {sink.input()}), Status();
  return write_bent(sink, sink.input(), 1, 1, op.alpha);
}
Status write_celu(const Celu& op, Sink& sink) {
  if (op.alpha == 0) return sink.refused("a CELU with alpha 0");
  return write_bent(sink, sink.input(), 1, 1 / op.alpha, op.alpha);
}

Status write_clip(const Clip& op, Sink& sink) {
  if (op.least && op.most && *op.least > *op.most) return sink.refused("crossed bounds");
  if (!is_floating(sink.type().dtype)) return write_whole_bounds(sink, op.least, op.most);
  if (op.least == -1.0 && op.most == 1.0) return sink.last("RELU_N1_TO_1", {sink.input()}), Status();
  write_bounds(sink, sink.input(), op.least, op.most);
  return {};
}

Status write_hard_sigmoid(const HardSigmoid& op, Sink& sink) {
  const Place line = sink.like("ADD", {sink.like("MUL", {sink.input(), sink.number(op.alpha)}), sink.number(op.beta)});
  write_bounds(sink, line, 0, 1);
  return {};
}

Status write_squareplus(const Squareplus& op, Sink& sink) {
  const Place x = sink.input();
  const Place root = sink.like("SQRT", {sink.like("ADD", {sink.like("SQUARE", {x}), sink.number(op.b)})});
  sink.last("MUL", {sink.like("ADD", {x, root}), sink.number(0.5)});
  return {};
}

Status write_softplus(const Softplus& op, Sink& sink) {
  if (op.threshold && *op.threshold * op.beta < 20) return sink.refused("a softplus with a threshold");
  if (op.beta == 0) return sink.refused("a softplus with beta 0");
  const Place y =
      softplus_of(sink, op.beta == 1 ? sink.input() : sink.like("MUL", {sink.input(), sink.number(op.beta)}));
  sink.last("MUL", {y, sink.number(1 / op.beta)});
  return {};
}

Status write_softmax(const Softmax& op, Sink& sink) {
  if (op.axes.size() != 1) return sink.refused("a softmax over several axes");
  const Size rank = sink.rank(), axis = op.axes[0];
  const Options options = op.logarithm ? Options{} : Options{{"beta", 1.0}};
  const char* word = op.logarithm ? "LOG_SOFTMAX" : "SOFTMAX";
  if (axis == rank - 1) return sink.last(word, {sink.input()}, options), Status();
  Sizes order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), Size{0});
  std::swap(order[static_cast<std::size_t>(axis)], order.back());
  TensorType type = sink.type();
  std::swap(type.shape[static_cast<std::size_t>(axis)], type.shape.back());
  const Place turned = sink.step("TRANSPOSE", {sink.input(), sink.numbers(order)}, type);
  sink.last("TRANSPOSE", {sink.step(word, {turned}, type, options), sink.numbers(order)});
  return {};
}

Status write_glu(const Glu& op, Sink& sink) {
  const Size axis = positive_axis(op.axis, sink.rank());
  const TensorType half = sink.result_type();
  const Dim n = at(half.shape, axis);
  if (!n.known()) return sink.refused("halves of an axis whose size is not known beforehand");
  const auto part = [&](Size from) {
    const auto rank = static_cast<std::size_t>(sink.rank());
    Sizes begin(rank, 0), size(rank, -1);
    begin[static_cast<std::size_t>(axis)] = from, size[static_cast<std::size_t>(axis)] = *n;
    return sink.step("SLICE", {sink.input(), sink.numbers(begin), sink.numbers(size)}, half);
  };
  const Place first = part(0), second = part(*n);
  sink.last("MUL", {first, sink.like("LOGISTIC", {second})});
  return {};
}

Status write_prelu(const PRelu&, Sink& sink) {
  const Tensor* slope = sink.constant(1);
  if (!slope) return sink.refused("a slope that the model computes");
  const Shape& shape = sink.type().shape;
  // XNNPACK of TensorFlow 2.14 reads one slope as one for each channel, and what lies behind it.
  const bool is_one = slope->count() == 1 && slope->dtype() == DType::F32 && slope->rank() > 0 && !shape.empty() &&
                      shape.back().known() && *shape.back() > 1 && *shape.back() <= 65536;
  if (!is_one) return sink.last("PRELU", {sink.input(0), sink.input(1)}), Status();
  Sizes sizes(slope->shape().size(), 1);
  sizes.back() = *shape.back();
  const std::vector<float> all(static_cast<std::size_t>(sizes.back()), slope->floats().front());
  sink.last("PRELU", {sink.input(0), sink.stored(1, Tensor::of(sizes, all))});
  return {};
}

constexpr std::array activation_writers{
    writes<write_unary>(),    writes<write_relu>(),
    writes<write_elu>(),      writes<write_celu>(),
    writes<write_clip>(),     writes<write_hard_sigmoid>(),
    writes<write_shrink>(),   writes<write_squareplus>(),
    writes<write_softplus>(), writes<write_threshold>(),
    writes<write_softmax>(),  lacks<Hardmax, Sink>("TFLite has no hardmax (a pass spells it)"),
    writes<write_glu>(),      writes<write_prelu>()};
static_assert(decides<Activation>(activation_writers));

}  // namespace

std::span<const Row> activation_rows() { return activation_writers; }

}  // namespace convoy::tflite
