// Functions of one number, Softmax and PRelu.
#include "formats/onnx/arguments.h"

#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace convoy::onnx {
namespace {

struct NamedUnary {
  std::string_view word;
  Function function;
};
constexpr NamedUnary unaries[] = {
    {"Abs", Function::Abs},           {"Neg", Function::Negate},        {"Ceil", Function::Ceil},
    {"Floor", Function::Floor},       {"Round", Function::Round},       {"Reciprocal", Function::Reciprocal},
    {"Sqrt", Function::Sqrt},         {"Exp", Function::Exp},           {"Log", Function::Log},
    {"Sin", Function::Sin},           {"Cos", Function::Cos},           {"Sign", Function::Sign},
    {"Erf", Function::Erf},           {"Sigmoid", Function::Sigmoid},   {"Tanh", Function::Tanh},
    {"Softplus", Function::Softplus}, {"Softsign", Function::Softsign}, {"HardSwish", Function::HardSwish},
    {"Mish", Function::Mish},         {"Tan", Function::Tan},           {"Asin", Function::Asin},
    {"Acos", Function::Acos},         {"Atan", Function::Atan},         {"Sinh", Function::Sinh},
    {"Cosh", Function::Cosh},         {"Asinh", Function::Asinh},       {"Acosh", Function::Acosh},
    {"Atanh", Function::Atanh}};

std::vector<ValueId> unary(FunctionCall& call) {
  const auto found = std::ranges::find(unaries, call.name, &NamedUnary::word);
  const ValueId x = call.tensor("X");
  return {call.add(Unary{found->function}, {x})};
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

// Bounds by attribute until opset 10, by optional inputs since.
std::vector<ValueId> clip(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  Clip op;
  if (call.opset < 11) {
    // What older exporters write where no bound is meant.
    constexpr double largest = 3.402823e38;
    if (call.attrs.has("min")) op.least = call.attrs.number("min");
    if (call.attrs.has("max")) op.most = call.attrs.number("max");
    if (op.least && *op.least <= -largest) op.least.reset();
    if (op.most && *op.most >= largest) op.most.reset();
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

constexpr std::array activation_table{FunctionRow{"Abs", "X", unary},
                                      FunctionRow{"Neg", "X", unary},
                                      FunctionRow{"Ceil", "X", unary},
                                      FunctionRow{"Floor", "X", unary},
                                      FunctionRow{"Round", "X", unary},
                                      FunctionRow{"Reciprocal", "X", unary},
                                      FunctionRow{"Sqrt", "X", unary},
                                      FunctionRow{"Exp", "X", unary},
                                      FunctionRow{"Log", "X", unary},
                                      FunctionRow{"Sin", "X", unary},
                                      FunctionRow{"Cos", "X", unary},
                                      FunctionRow{"Sign", "X", unary},
                                      FunctionRow{"Erf", "X", unary},
                                      FunctionRow{"Sigmoid", "X", unary},
                                      FunctionRow{"Tanh", "X", unary},
                                      FunctionRow{"Softplus", "X", unary},
                                      FunctionRow{"Softsign", "X", unary},
                                      FunctionRow{"HardSwish", "X", unary},
                                      FunctionRow{"Mish", "X", unary},
                                      FunctionRow{"Tan", "X", unary},
                                      FunctionRow{"Asin", "X", unary},
                                      FunctionRow{"Acos", "X", unary},
                                      FunctionRow{"Atan", "X", unary},
                                      FunctionRow{"Sinh", "X", unary},
                                      FunctionRow{"Cosh", "X", unary},
                                      FunctionRow{"Asinh", "X", unary},
                                      FunctionRow{"Acosh", "X", unary},
                                      FunctionRow{"Atanh", "X", unary},
                                      FunctionRow{"Relu", "X", relu},
                                      FunctionRow{"LeakyRelu", "X", leaky_relu},
                                      FunctionRow{"ThresholdedRelu", "X", thresholded_relu},
                                      FunctionRow{"Elu", "X", elu},
                                      FunctionRow{"Celu", "X", celu},
                                      FunctionRow{"Selu", "X", selu},
                                      FunctionRow{"HardSigmoid", "X", hard_sigmoid},
                                      FunctionRow{"Gelu", "X", gelu},
                                      FunctionRow{"Swish", "X", swish},
                                      FunctionRow{"Shrink", "input", shrink},
                                      FunctionRow{"Clip", "input min max", clip},
                                      FunctionRow{"Softmax", "input", softmax},
                                      FunctionRow{"LogSoftmax", "input", softmax},
                                      FunctionRow{"PRelu", "X slope", prelu}};

}  // namespace

std::span<const FunctionRow> activation_functions() { return activation_table; }

}  // namespace convoy::onnx
