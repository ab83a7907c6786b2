// Functions of one number, Softmax and PRelu: read, and written in ONNX's own word where the operator set has it, the formula
// in its other words otherwise.
#include "base/whole_tensor.h"
#include "formats/onnx/arguments.h"
#include "formats/onnx/write/sink.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace convoy::onnx {
namespace {

std::vector<ValueId> unary(FunctionCall& call) {
  return {call.add(Unary{meaning_of<Function>(call.name)}, {call.tensor("X")})};
}

std::vector<ValueId> relu(FunctionCall& call) { return {call.add(Relu{}, {call.tensor("X")})}; }

std::vector<ValueId> leaky_relu(FunctionCall& call) {
  return {call.add(Relu{{}, call.attrs.number("alpha", 0.01), 0, false}, {call.tensor("X")})};
}

// x if x > alpha, else 0
std::vector<ValueId> thresholded_relu(FunctionCall& call) {
  return {call.add(Relu{{}, 0, call.attrs.number("alpha", 1), true}, {call.tensor("X")})};
}

std::vector<ValueId> elu(FunctionCall& call) {
  return {call.add(Elu{call.attrs.number("alpha", 1)}, {call.tensor("X")})};
}

std::vector<ValueId> celu(FunctionCall& call) {
  return {call.add(Celu{call.attrs.number("alpha", 1)}, {call.tensor("X")})};
}

// gamma * elu(x, alpha); the usual constants are written with fewer digits than they have.
std::vector<ValueId> selu(FunctionCall& call) {
  constexpr double usual_alpha = 1.67326319217681884765625, usual_gamma = 1.05070102214813232421875;
  const ValueId x = call.tensor("X");
  const double alpha = call.attrs.number("alpha", usual_alpha), gamma = call.attrs.number("gamma", usual_gamma);
  if (std::abs(alpha - usual_alpha) < 2e-7 && std::abs(gamma - usual_gamma) < 2e-7)
    return {call.add(Unary{Function::Selu}, {x})};
  return {call.add(Affine{gamma, 0}, {call.add(Elu{alpha}, {x})})};
}

std::vector<ValueId> hard_sigmoid(FunctionCall& call) {
  const double alpha = call.attrs.number("alpha", 0.2), beta = call.attrs.number("beta", 0.5);
  return {call.add(HardSigmoid{alpha, beta}, {call.tensor("X")})};
}

std::vector<ValueId> gelu(FunctionCall& call) {
  const std::string word = call.attrs.word("approximate", "none");
  if (word != "none" && word != "tanh")
    call.refuse(Fault::Format, "attribute 'approximate' is '" + word + "', expected none or tanh");
  return {call.add(Unary{word == "tanh" ? Function::GeluTanh : Function::Gelu}, {call.tensor("X")})};
}

// x * sigmoid(alpha * x)
std::vector<ValueId> swish(FunctionCall& call) {
  const ValueId x = call.tensor("X");
  const double alpha = call.attrs.number("alpha", 1);
  if (alpha == 1) return {call.add(Unary{Function::Silu}, {x})};
  const ValueId gate = call.add(Unary{Function::Sigmoid}, {call.add(Affine{alpha, 0}, {x})});
  return {call.add(Binary{BinaryFunction::Multiply}, {x, gate})};
}

// x - bias above lambd, x + bias below -lambd, else 0.
std::vector<ValueId> shrink(FunctionCall& call) {
  const double bias = call.attrs.number("bias", 0), lambda = call.attrs.number("lambd", 0.5);
  if (bias != 0 && bias != lambda)
    call.refuse(Fault::Unsupported, "attributes 'bias' and 'lambd' are neither equal nor is 'bias' 0");
  return {call.add(Shrink{lambda, bias != 0}, {call.tensor("input")})};
}

bool exceeds_double(FunctionCall& call, std::string_view bound) {
  const ValueId value = call.optional(bound);
  const Tensor* said = value ? call.constant(value) : nullptr;
  return said && said->count() == 1 && beyond_double(*said);
}

bool is_computed(FunctionCall& call, std::string_view bound) {
  const ValueId value = call.optional(bound);
  return value && !call.constant(value);
}

// One number, of no axes.
ValueId bound_of(FunctionCall& call, std::string_view word) {
  const ValueId bound = call.optional(word);
  if (!bound || call.rank(bound) == 0) return bound;
  for (Size i = 0; i < call.rank(bound); ++i)
    if (call.dim(bound, i) != Dim(1))
      call.refuse(Fault::Format, "input '" + std::string(word) + "' has shape " + text_of(call.shape(bound)) +
                                     ", expected one number");
  return call.failed() ? bound : call.add(Reshape{{}}, {bound});
}

// A clip by bounds that our operator cannot state: whole numbers that no float64 is, and numbers that the model computes.
ValueId between(FunctionCall& call, ValueId x) {
  const ValueId least = bound_of(call, "min"), most = bound_of(call, "max");
  if (call.failed()) return x;
  if (least) x = call.add(Binary{BinaryFunction::Maximum}, {x, least});
  if (most) x = call.add(Binary{BinaryFunction::Minimum}, {x, most});
  return x;
}

// Bounds by attribute until opset 10, by optional inputs since.
std::vector<ValueId> clip(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  Clip op;
  if (takes_attribute(call, "min")) {
    // What older exporters write where no bound is meant.
    constexpr double largest = 3.402823e38;
    if (call.attrs.has("min")) op.least = call.attrs.number("min");
    if (call.attrs.has("max")) op.most = call.attrs.number("max");
    if (op.least && *op.least <= -largest) op.least.reset();
    if (op.most && *op.most >= largest) op.most.reset();
  } else if (exceeds_double(call, "min") || exceeds_double(call, "max") || is_computed(call, "min") ||
             is_computed(call, "max")) {
    return {between(call, x)};
  } else {
    op.least = known_number(call, "min");
    op.most = known_number(call, "max");
  }
  return {call.add(op, {x})};
}

// Until opset 12 over all axes from `axis` (1 by default) on at once; since then over one (the last by default).
std::vector<ValueId> softmax(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const bool together = call.opset < 13;
  const Size rank = std::max<Size>(call.rank(x), 1);
  const Size first = axis_of(call, "axis", call.attrs.integer("axis", together ? 1 : -1), rank);
  Sizes axes{first};
  for (Size axis = first + 1; together && axis < rank; ++axis) axes.push_back(axis);
  return {call.add(Softmax{axes, call.name == "LogSoftmax"}, {x})};
}

// Until opset 12 over all axes from `axis` on at once, which no operator of ours is.
std::vector<ValueId> hardmax(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size rank = call.rank(x), usual = call.opset < 13 ? 1 : -1;
  const Size axis = axis_of(call, "axis", call.attrs.integer("axis", usual), std::max<Size>(rank, 1));
  if (call.opset < 13 && axis != rank - 1) call.refuse(Fault::Unsupported, "the largest number over several axes");
  return {call.add(Hardmax{axis}, {x})};
}

// The slope stretches to x from its last axes; our operator wants it with all axes of x but the batch. A slope of its own
// for each example: max(x, 0) + slope * min(x, 0).
std::vector<ValueId> prelu(FunctionCall& call) {
  const ValueId x = call.tensor("X");
  ValueId slope = call.tensor("slope");
  const auto sizes = sizes_of(call.shape(slope));
  if (!sizes) call.refuse(Fault::Unsupported, "the slope's shape is not known");
  if (call.failed()) return {};
  const auto wanted = static_cast<std::size_t>(std::max<Size>(call.rank(x) - 1, 0));
  Sizes to = *sizes;
  while (to.size() > wanted && to.front() == 1) to.erase(to.begin());
  while (to.size() < wanted) to.insert(to.begin(), 1);
  if (to.size() > wanted) {
    const ValueId above = call.add(Relu{}, {x});
    const ValueId below = call.add(Binary{BinaryFunction::Subtract}, {x, above});
    const ValueId scaled = call.add(Binary{BinaryFunction::Multiply}, {slope, below});
    return {call.add(Binary{BinaryFunction::Add}, {above, scaled})};
  }
  if (to != *sizes) {
    const Tensor* known = call.constant(slope);
    slope = known ? call.make_constant("slope", known->reshaped(to)) : call.add(Reshape{to}, {slope});
  }
  return {call.add(PRelu{}, {x, slope})};
}

// clang-format off
constexpr std::array activation_table{
    Operator{"Abs", {}, "X", "", unary, Function::Abs},
    Operator{"Neg", {}, "X", "", unary, Function::Negate},
    Operator{"Ceil", {}, "X", "", unary, Function::Ceil},
    Operator{"Floor", {}, "X", "", unary, Function::Floor},
    Operator{"Round", {11}, "X", "", unary, Function::Round},
    Operator{"Reciprocal", {}, "X", "", unary, Function::Reciprocal},
    Operator{"Sqrt", {}, "X", "", unary, Function::Sqrt},
    Operator{"Exp", {}, "X", "", unary, Function::Exp},
    Operator{"Log", {}, "X", "", unary, Function::Log},
    Operator{"Sin", {}, "X", "", unary, Function::Sin},
    Operator{"Cos", {}, "X", "", unary, Function::Cos},
    Operator{"Sign", {9}, "X", "", unary, Function::Sign},
    Operator{"Erf", {9}, "X", "", unary, Function::Erf},
    Operator{"Sigmoid", {}, "X", "", unary, Function::Sigmoid},
    Operator{"Tanh", {}, "X", "", unary, Function::Tanh},
    Operator{"Softplus", {}, "X", "", unary, Function::Softplus},
    Operator{"Softsign", {}, "X", "", unary, Function::Softsign},
    Operator{"HardSwish", {14}, "X", "", unary, Function::HardSwish},
    Operator{"Mish", {18}, "X", "", unary, Function::Mish},
    Operator{"Tan", {}, "X", "", unary, Function::Tan},
    Operator{"Asin", {}, "X", "", unary, Function::Asin},
    Operator{"Acos", {}, "X", "", unary, Function::Acos},
    Operator{"Atan", {}, "X", "", unary, Function::Atan},
    Operator{"Sinh", {9}, "X", "", unary, Function::Sinh},
    Operator{"Cosh", {9}, "X", "", unary, Function::Cosh},
    Operator{"Asinh", {9}, "X", "", unary, Function::Asinh},
    Operator{"Acosh", {9}, "X", "", unary, Function::Acosh},
    Operator{"Atanh", {9}, "X", "", unary, Function::Atanh},
    Operator{"Relu", {}, "X", "", relu},
    Operator{"LeakyRelu", {}, "X", "alpha:f", leaky_relu},
    Operator{"ThresholdedRelu", {10}, "X", "alpha:f", thresholded_relu},
    Operator{"Elu", {}, "X", "alpha:f", elu},
    Operator{"Celu", {12}, "X", "alpha:f", celu},
    Operator{"Selu", {}, "X", "alpha:f gamma:f", selu, Function::Selu},
    Operator{"HardSigmoid", {}, "X", "alpha:f beta:f", hard_sigmoid},
    Operator{"Gelu", {20}, "X", "approximate:s", gelu},
    Operator{"Swish", {24}, "X", "alpha:f", swish},
    Operator{"Shrink", {9}, "input", "bias:f lambd:f", shrink},
    Operator{"Clip", {}, "input min?@11 max?@11", "max:f@-10 min:f@-10", clip},
    Operator{"Softmax", {}, "input", "axis:i", softmax},
    Operator{"LogSoftmax", {}, "input", "axis:i", softmax},
    Operator{"Hardmax", {}, "input", "axis:i", hardmax},
    Operator{"PRelu", {}, "X slope", "", prelu}};
// clang-format on

// ---- written ----------------------------------------------------------------------------------------------------------

// x * (1 + erf(x / sqrt 2)) / 2
Status write_gelu(Sink& sink) {
  const std::string x = sink.name();
  if (sink.knows("Gelu")) return sink.last("Gelu", {x}), Status();
  const auto inner = sink.step("Erf", {sink.step("Mul", {x, sink.number(std::numbers::sqrt2 / 2)})});
  const auto half = sink.step("Mul", {x, sink.number(0.5)});
  sink.last("Mul", {half, sink.step("Add", {inner, sink.number(1)})});
  return {};
}

// x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2
Status write_gelu_tanh(Sink& sink) {
  const std::string x = sink.name();
  if (sink.knows("Gelu")) return sink.last("Gelu", {x}, {{"approximate", std::string("tanh")}}), Status();
  const auto cube = sink.step("Mul", {sink.step("Mul", {x, x}), x});
  const auto sum = sink.step("Add", {x, sink.step("Mul", {cube, sink.number(0.044715)})});
  const auto inner = sink.step("Tanh", {sink.step("Mul", {sum, sink.number(std::sqrt(2 / std::numbers::pi))})});
  const auto half = sink.step("Mul", {x, sink.number(0.5)});
  sink.last("Mul", {half, sink.step("Add", {inner, sink.number(1)})});
  return {};
}

Status write_unary(const Unary& op, Sink& sink) {
  const std::string x = sink.name();
  const Operator* word = operator_for(op.function);
  if (word && sink.knows(word->name) && op.function != Function::Not)
    return sink.last(std::string(word->name), {x}), Status();
  switch (op.function) {
    case Function::Rsqrt: sink.last("Reciprocal", {sink.step("Sqrt", {x})}); return {};
    case Function::Square: sink.last("Mul", {x, x}); return {};
    case Function::Silu: sink.last("Mul", {x, sink.step("Sigmoid", {x})}); return {};
    case Function::Gelu: return write_gelu(sink);
    case Function::GeluTanh: return write_gelu_tanh(sink);
    case Function::Mish: sink.last("Mul", {x, sink.step("Tanh", {sink.step("Softplus", {x})})}); return {};
    case Function::LogSigmoid: sink.last("Neg", {sink.step("Softplus", {sink.step("Neg", {x})})}); return {};
    case Function::HardSwish:
      sink.last("Mul", {x, sink.step("HardSigmoid", {x}, {{"alpha", 1.0 / 6}, {"beta", 0.5}})});
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
      const bool is_truth = sink.type().dtype == DType::Bool;
      sink.last("Not", {is_truth ? x : sink.step("Cast", {x}, {{"to", data_type_of(DType::Bool)}})});
      return {};
    }
    default: return sink.refused("this function");
  }
}

// A bound that is left out is the type's last finite number (onnx/defs/math/defs.cc), which infinity lies beyond.
void write_clipped(Sink& sink, const std::string& x, std::optional<double> least, std::optional<double> most) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  if (is_floating(sink.type().dtype)) least = least.value_or(-infinite), most = most.value_or(infinite);
  sink.last("Clip", {x, least ? sink.number(*least) : "", most ? sink.number(*most) : ""});
}

Status write_relu(const Relu& op, Sink& sink) {
  const std::string x = sink.name();
  if (op.threshold == 0 && !op.strict) {
    const bool clips = op.max_value || sink.type().dtype == DType::I64;  // ONNX Runtime has no Relu of int64
    if (!clips && op.negative_slope == 0) return sink.last("Relu", {x}), Status();
    if (!op.max_value && op.negative_slope == 0) return write_clipped(sink, x, 0, {}), Status();
    if (!op.max_value) return sink.last("LeakyRelu", {x}, {{"alpha", op.negative_slope}}), Status();
    if (op.negative_slope == 0) return write_clipped(sink, x, 0, op.max_value), Status();
    const auto leaky = sink.step("LeakyRelu", {x}, {{"alpha", op.negative_slope}});
    return write_clipped(sink, leaky, {}, op.max_value), Status();
  }
  // x where it passes the threshold, negative_slope * (x - threshold) elsewhere
  const auto threshold = sink.number(op.threshold);
  const auto passes = op.strict || sink.knows("GreaterOrEqual")
                          ? sink.step(op.strict ? "Greater" : "GreaterOrEqual", {x, threshold})
                          : sink.step("Not", {sink.step("Less", {x, threshold})});
  std::string below = sink.step("Sub", {x, threshold});
  below = sink.step("Mul", {below, sink.number(op.negative_slope)});
  if (!op.max_value) return sink.last("Where", {passes, x, below}), Status();
  const auto y = sink.step("Where", {passes, x, below});
  write_clipped(sink, y, {}, op.max_value);
  return {};
}

Status write_elu(const Elu& op, Sink& sink) {
  sink.last("Elu", {sink.name()}, {{"alpha", op.alpha}});
  return {};
}

Status write_celu(const Celu& op, Sink& sink) {
  const std::string x = sink.name();
  if (sink.knows("Celu")) return sink.last("Celu", {x}, {{"alpha", op.alpha}}), Status();
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
      sink.knows("LessOrEqual")
          ? sink.step("LessOrEqual", {x, threshold})
          : sink.step("Or", {sink.step("Less", {x, threshold}), sink.step("Equal", {x, threshold})});
  sink.last("Where", {stays_below, sink.number(op.value), x});
  return {};
}

// Before operator set 13, Softmax and Hardmax flatten what lies behind their axis: only the last axis means itself.
Status write_along(const std::string& word, Size axis, Sink& sink) {
  const Size last = sink.rank() - 1;
  if (sink.opset() >= 13 || axis == last) return sink.last(word, {sink.name()}, {{"axis", axis}}), Status();
  Sizes swapped;
  for (Size i = 0; i <= last; ++i) swapped.push_back(i == axis ? last : i == last ? axis : i);
  const auto turned = sink.step("Transpose", {sink.name()}, {{"perm", swapped}});
  sink.last("Transpose", {sink.step(word, {turned}, {{"axis", last}})}, {{"perm", swapped}});
  return {};
}
Status write_softmax(const Softmax& op, Sink& sink) {
  if (op.axes.size() != 1) return sink.broken("a softmax over several axes");
  return write_along(op.logarithm ? "LogSoftmax" : "Softmax", positive_axis(op.axes[0], sink.rank()), sink);
}
Status write_hardmax(const Hardmax& op, Sink& sink) {
  return write_along("Hardmax", positive_axis(op.axis, sink.rank()), sink);
}

Status write_glu(const Glu& op, Sink& sink) {
  const Size axis = positive_axis(op.axis, sink.rank());
  const Dim both = sink.type().shape[static_cast<std::size_t>(axis)];
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

constexpr std::array activation_writers{
    writes<write_unary>(),    writes<write_relu>(),         writes<write_elu>(),     writes<write_celu>(),
    writes<write_clip>(),     writes<write_hard_sigmoid>(), writes<write_shrink>(),  writes<write_squareplus>(),
    writes<write_softplus>(), writes<write_threshold>(),    writes<write_softmax>(), writes<write_hardmax>(),
    writes<write_glu>(),      writes<write_prelu>()};
static_assert(decides<Activation>(activation_writers));

}  // namespace

std::span<const Operator> activation_operators() { return activation_table; }

std::span<const Row> activation_rows() { return activation_writers; }

}  // namespace convoy::onnx
