// Functions of one number: ONNX's own word where this operator set has it, the formula in its other words otherwise.
#include "formats/onnx/write/sink.h"

#include <array>
#include <cmath>
#include <numbers>

namespace convoy::onnx {
namespace {

// Words that take one input and mean the same in every operator set that is written.
const char* word_of(Function function) {
  switch (function) {
    case Function::Sigmoid: return "Sigmoid";
    case Function::Tanh: return "Tanh";
    case Function::Softplus: return "Softplus";
    case Function::Softsign: return "Softsign";
    case Function::Exp: return "Exp";
    case Function::Log: return "Log";
    case Function::Sqrt: return "Sqrt";
    case Function::Abs: return "Abs";
    case Function::Negate: return "Neg";
    case Function::Sign: return "Sign";
    case Function::Floor: return "Floor";
    case Function::Ceil: return "Ceil";
    case Function::Round: return "Round";
    case Function::Reciprocal: return "Reciprocal";
    case Function::Selu: return "Selu";
    case Function::Sin: return "Sin";
    case Function::Cos: return "Cos";
    case Function::Erf: return "Erf";
    case Function::Tan: return "Tan";
    case Function::Asin: return "Asin";
    case Function::Acos: return "Acos";
    case Function::Atan: return "Atan";
    case Function::Sinh: return "Sinh";
    case Function::Cosh: return "Cosh";
    case Function::Asinh: return "Asinh";
    case Function::Acosh: return "Acosh";
    case Function::Atanh: return "Atanh";
    default: return nullptr;
  }
}

// x * (1 + erf(x / sqrt 2)) / 2
Status write_gelu(Sink& sink) {
  const std::string x = sink.name();
  if (sink.opset() >= 20) return sink.last("Gelu", {x}), Status();
  const auto inner = sink.step("Erf", {sink.step("Mul", {x, sink.number(std::numbers::sqrt2 / 2)})});
  const auto half = sink.step("Mul", {x, sink.number(0.5)});
  sink.last("Mul", {half, sink.step("Add", {inner, sink.number(1)})});
  return {};
}

// x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2
Status write_gelu_tanh(Sink& sink) {
  const std::string x = sink.name();
  if (sink.opset() >= 20) return sink.last("Gelu", {x}, {{"approximate", std::string("tanh")}}), Status();
  const auto cube = sink.step("Mul", {sink.step("Mul", {x, x}), x});
  const auto sum = sink.step("Add", {x, sink.step("Mul", {cube, sink.number(0.044715)})});
  const auto inner = sink.step("Tanh", {sink.step("Mul", {sum, sink.number(std::sqrt(2 / std::numbers::pi))})});
  const auto half = sink.step("Mul", {x, sink.number(0.5)});
  sink.last("Mul", {half, sink.step("Add", {inner, sink.number(1)})});
  return {};
}

Status write_unary(const Unary& op, Sink& sink) {
  const std::string x = sink.name();
  if (const char* word = word_of(op.function)) return sink.last(word, {x}), Status();
  switch (op.function) {
    case Function::Rsqrt: sink.last("Reciprocal", {sink.step("Sqrt", {x})}); return {};
    case Function::Square: sink.last("Mul", {x, x}); return {};
    case Function::Silu: sink.last("Mul", {x, sink.step("Sigmoid", {x})}); return {};
    case Function::Gelu: return write_gelu(sink);
    case Function::GeluTanh: return write_gelu_tanh(sink);
    case Function::Mish:
      if (sink.opset() >= 18) sink.last("Mish", {x});
      else sink.last("Mul", {x, sink.step("Tanh", {sink.step("Softplus", {x})})});
      return {};
    case Function::LogSigmoid: sink.last("Neg", {sink.step("Softplus", {sink.step("Neg", {x})})}); return {};
    case Function::HardSwish:
      if (sink.opset() >= 14) sink.last("HardSwish", {x});
      else sink.last("Mul", {x, sink.step("HardSigmoid", {x}, {{"alpha", 1.0 / 6}, {"beta", 0.5}})});
      return {};
    case Function::TanhShrink: sink.last("Sub", {x, sink.step("Tanh", {x})}); return {};
    case Function::SparseSigmoid: sink.last("HardSigmoid", {x}, {{"alpha", 0.5}, {"beta", 0.5}}); return {};
    // (clip(x, -1, 1) + 1)^2 / 4 + max(x - 1, 0)
    case Function::SparsePlus: {
      const auto inside = sink.step("Clip", {x, sink.number(-1), sink.number(1)});
      const auto more = sink.step("Add", {inside, sink.number(1)});
      const auto bend = sink.step("Mul", {sink.step("Mul", {more, more}), sink.number(0.25)});
      const auto rest = sink.step("Relu", {sink.step("Sub", {x, sink.number(1)})});
      sink.last("Add", {bend, rest});
      return {};
    }
    case Function::Expm1: sink.last("Sub", {sink.step("Exp", {x}), sink.number(1)}); return {};
    case Function::Log1p: sink.last("Log", {sink.step("Add", {x, sink.number(1)})}); return {};
    case Function::Truncate:
      sink.last("Mul", {sink.step("Sign", {x}), sink.step("Floor", {sink.step("Abs", {x})})});
      return {};
    case Function::Not: {
      const bool is_truth = sink.fact().dtype == DType::Bool;
      sink.last("Not", {is_truth ? x : sink.step("Cast", {x}, {{"to", data_type_of(DType::Bool)}})});
      return {};
    }
    default: return sink.refused("this function");
  }
}

Status write_relu(const Relu& op, Sink& sink) {
  const std::string x = sink.name();
  if (op.threshold == 0 && !op.strict) {
    if (!op.max_value && op.negative_slope == 0) return sink.last("Relu", {x}), Status();
    if (!op.max_value) return sink.last("LeakyRelu", {x}, {{"alpha", op.negative_slope}}), Status();
    if (op.negative_slope == 0) return sink.last("Clip", {x, sink.number(0), sink.number(*op.max_value)}), Status();
    const auto leaky = sink.step("LeakyRelu", {x}, {{"alpha", op.negative_slope}});
    return sink.last("Clip", {leaky, "", sink.number(*op.max_value)}), Status();
  }
  // x where it passes the threshold, negative_slope * (x - threshold) elsewhere
  const auto threshold = sink.number(op.threshold);
  const auto passes = op.strict || sink.opset() >= 12
                          ? sink.step(op.strict ? "Greater" : "GreaterOrEqual", {x, threshold})
                          : sink.step("Not", {sink.step("Less", {x, threshold})});
  std::string below = sink.step("Sub", {x, threshold});
  below = sink.step("Mul", {below, sink.number(op.negative_slope)});
  if (!op.max_value) return sink.last("Where", {passes, x, below}), Status();
  const auto y = sink.step("Where", {passes, x, below});
  sink.last("Clip", {y, "", sink.number(*op.max_value)});
  return {};
}

Status write_elu(const Elu& op, Sink& sink) {
  sink.last("Elu", {sink.name()}, {{"alpha", op.alpha}});
  return {};
}

Status write_celu(const Celu& op, Sink& sink) {
  const std::string x = sink.name();
  if (sink.opset() >= 12) return sink.last("Celu", {x}, {{"alpha", op.alpha}}), Status();
  // alpha * elu(x / alpha), whose positive side is x itself again
  const auto elu = sink.step("Elu", {sink.step("Div", {x, sink.number(op.alpha)})}, {{"alpha", 1.0}});
  sink.last("Mul", {elu, sink.number(op.alpha)});
  return {};
}

Status write_clip(const Clip& op, Sink& sink) {
  sink.last("Clip", {sink.name(), op.least ? sink.number(*op.least) : "", op.most ? sink.number(*op.most) : ""});
  return {};
}

Status write_hard_sigmoid(const HardSigmoid& op, Sink& sink) {
  sink.last("HardSigmoid", {sink.name()}, {{"alpha", op.alpha}, {"beta", op.beta}});
  return {};
}

Status write_shrink(const Shrink& op, Sink& sink) {
  sink.last("Shrink", {sink.name()}, {{"bias", op.soft ? op.lambda : 0.0}, {"lambd", op.lambda}});
  return {};
}

// (x + sqrt(x^2 + b)) / 2
Status write_squareplus(const Squareplus& op, Sink& sink) {
  const std::string x = sink.name();
  const auto root = sink.step("Sqrt", {sink.step("Add", {sink.step("Mul", {x, x}), sink.number(op.b)})});
  sink.last("Mul", {sink.step("Add", {x, root}), sink.number(0.5)});
  return {};
}

// log(1 + exp(beta * x)) / beta, and x itself beyond the threshold, where both agree to float32.
Status write_softplus(const Softplus& op, Sink& sink) {
  const std::string x = sink.name();
  const auto scaled = op.beta == 1 ? x : sink.step("Mul", {x, sink.number(op.beta)});
  if (op.threshold) {
    const auto soft = sink.step("Softplus", {scaled});
    const auto y = op.beta == 1 ? soft : sink.step("Div", {soft, sink.number(op.beta)});
    sink.last("Where", {sink.step("Greater", {scaled, sink.number(*op.threshold)}), x, y});
  } else if (op.beta == 1) {
    sink.last("Softplus", {x});
  } else {
    sink.last("Div", {sink.step("Softplus", {scaled}), sink.number(op.beta)});
  }
  return {};
}

Status write_threshold(const Threshold& op, Sink& sink) {
  const std::string x = sink.name();
  const auto threshold = sink.number(op.threshold);
  const auto stays_below =
      sink.opset() >= 12 ? sink.step("LessOrEqual", {x, threshold})
                         : sink.step("Or", {sink.step("Less", {x, threshold}), sink.step("Equal", {x, threshold})});
  sink.last("Where", {stays_below, sink.number(op.value), x});
  return {};
}

// Before operator set 13, Softmax flattens what lies behind its axis: only the last axis means itself.
Status write_softmax(const Softmax& op, Sink& sink) {
  if (op.axes.size() != 1) return sink.broken("a softmax over several axes");
  const std::string word = op.logarithm ? "LogSoftmax" : "Softmax";
  const Size axis = positive_axis(op.axes[0], sink.rank()), last = sink.rank() - 1;
  if (sink.opset() >= 13 || axis == last) return sink.last(word, {sink.name()}, {{"axis", op.axes[0]}}), Status();
  Sizes swapped;
  for (Size i = 0; i <= last; ++i) swapped.push_back(i == axis ? last : i == last ? axis : i);
  const auto turned = sink.step("Transpose", {sink.name()}, {{"perm", swapped}});
  sink.last("Transpose", {sink.step(word, {turned}, {{"axis", last}})}, {{"perm", swapped}});
  return {};
}

Status write_glu(const Glu& op, Sink& sink) {
  const Size axis = positive_axis(op.axis, sink.rank());
  const Dim both = sink.fact().shape[static_cast<std::size_t>(axis)];
  if (!both.known()) return sink.refused("a gate over an axis of unknown size");
  const auto half = [&](Size first) {
    return sink.step("Slice",
                     {sink.name(), sink.numbers({first}), sink.numbers({first + *both / 2}), sink.numbers({axis})});
  };
  const auto a = half(0), b = half(*both / 2);
  sink.last("Mul", {a, sink.step("Sigmoid", {b})});
  return {};
}

Status write_prelu(const PRelu&, Sink& sink) {
  sink.last("PRelu", {sink.name(0), sink.name(1)});
  return {};
}

constexpr std::array activation_table{
    writes<write_unary>(),    writes<write_relu>(),         writes<write_elu>(),     writes<write_celu>(),
    writes<write_clip>(),     writes<write_hard_sigmoid>(), writes<write_shrink>(),  writes<write_squareplus>(),
    writes<write_softplus>(), writes<write_threshold>(),    writes<write_softmax>(), writes<write_glu>(),
    writes<write_prelu>()};
static_assert(decides<Activation>(activation_table));

}  // namespace

std::span<const Row> activation_rows() { return activation_table; }

}  // namespace convoy::onnx
