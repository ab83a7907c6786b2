// Functions of one number and those along an axis, as functions and as layers. Source: nn/functional.py,
// ATen/native/Activation.cpp.
#include "formats/torch/functions/arguments.h"
#include "formats/torch/functions/functions.h"
#include "ops/expect.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace convoy::torch {
namespace {

// Whether PyTorch may write over its input says nothing about the numbers.
ValueId input_of(FunctionCall& call) {
  call.attrs.ignore({"inplace"});
  return call.tensor("input");
}

template <Function F>
std::vector<ValueId> unary(FunctionCall& call) {
  return {call.add(Unary{F}, {input_of(call)})};
}

std::vector<ValueId> relu(FunctionCall& call) { return {call.add(Relu{}, {input_of(call)})}; }
std::vector<ValueId> relu6(FunctionCall& call) { return {call.add(Relu{.max_value = 6}, {input_of(call)})}; }

std::vector<ValueId> leaky_relu(FunctionCall& call) {
  const double slope = call.attrs.number("negative_slope", 0.01);
  return {call.add(Relu{.negative_slope = slope}, {input_of(call)})};
}

// In training the slope is drawn by lot; otherwise it is the middle of what may be drawn.
std::vector<ValueId> rrelu(FunctionCall& call) {
  const double lower = call.attrs.number("lower", 1.0 / 8), upper = call.attrs.number("upper", 1.0 / 3);
  if (call.attrs.truth("training", false)) call.refuse(Fault::Unsupported, "rrelu draws its slopes by lot in training");
  return {call.add(Relu{.negative_slope = (lower + upper) / 2}, {input_of(call)})};
}

std::vector<ValueId> elu(FunctionCall& call) {
  return {call.add(Elu{call.attrs.number("alpha", 1)}, {input_of(call)})};
}

std::vector<ValueId> celu(FunctionCall& call) {
  return {call.add(Celu{call.attrs.number("alpha", 1)}, {input_of(call)})};
}

std::vector<ValueId> gelu(FunctionCall& call) {
  const std::string approximate = call.attrs.word("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    call.refuse(Fault::Format, "argument 'approximate' is '" + approximate + "', expected 'none' or 'tanh'");
  return {call.add(Unary{approximate == "tanh" ? Function::GeluTanh : Function::Gelu}, {input_of(call)})};
}

std::vector<ValueId> softplus(FunctionCall& call) {
  const double beta = call.attrs.number("beta", 1), threshold = call.attrs.number("threshold", 20);
  return {call.add(Softplus{beta, threshold}, {input_of(call)})};
}

// The function lets both bounds be one number, the layer does not.
std::vector<ValueId> hardtanh(FunctionCall& call) {
  const double least = call.attrs.number("min_val", -1), most = call.attrs.number("max_val", 1);
  call.attrs.ignore({"min_value", "max_value"});
  if (least > most || (call.name == "Hardtanh" && least == most))
    call.refuse(Fault::Unsupported, "min_val is " + Json(least).dump() + " and max_val is " + Json(most).dump());
  return {call.add(Clip{least, most}, {input_of(call)})};
}

std::vector<ValueId> hardsigmoid(FunctionCall& call) { return {call.add(HardSigmoid{}, {input_of(call)})}; }

std::vector<ValueId> threshold(FunctionCall& call) {
  const double limit = call.attrs.number("threshold"), value = call.attrs.number("value");
  return {call.add(Threshold{limit, value}, {input_of(call)})};
}

std::vector<ValueId> softshrink(FunctionCall& call) {
  const double lambda = call.attrs.number("lambd", 0.5);
  if (!(lambda >= 0)) call.refuse(Fault::Unsupported, "argument 'lambd' is " + Json(lambda).dump());
  return {call.add(Shrink{lambda, true}, {input_of(call)})};
}

std::vector<ValueId> hardshrink(FunctionCall& call) {
  return {call.add(Shrink{call.attrs.number("lambd", 0.5), false}, {input_of(call)})};
}

// One slope for all, or one per channel; an input of rank 1 has one channel.
std::vector<ValueId> prelu(FunctionCall& call) {
  const ValueId x = input_of(call), weight = call.tensor("weight");
  if (call.failed()) return {};
  const Size rank = call.rank(x);
  const Dim count = call.rank(weight) == 0 ? Dim(1) : call.dim(weight, 0);
  const Dim channels = rank < 2 ? Dim(1) : call.dim(x, 1);
  if (call.rank(weight) > 1 || !count.known() || (*count != 1 && !agreed(count, channels)) || rank == 0)
    call.refuse(Fault::Format, "weight has shape " + text_of(call.shape(weight)) +
                                   ", expected one number, or one per channel of an input of shape " +
                                   text_of(call.shape(x)));
  if (call.failed()) return {};
  Sizes slope(static_cast<std::size_t>(rank - 1), 1);
  if (rank > 1) slope.front() = *count;
  return {call.add(PRelu{}, {x, call.add(Reshape{slope}, {weight})})};
}

std::vector<ValueId> prelu_layer(FunctionCall& call) {
  const Size count = whole_number(call, "num_parameters", 1);
  call.attrs.ignore({"init", "device", "dtype"});
  if (const ValueId weight = call.tensor("weight"); weight && call.shape(weight) != Shape{count})
    call.refuse(Fault::Format,
                "weight has shape " + text_of(call.shape(weight)) + ", expected " + text_of(Shape{count}));
  return prelu(call);
}

// dim left out: the first axis of inputs of rank 0, 1 and 3, the second one of others.
Size softmax_axis(FunctionCall& call, Size rank) {
  const bool first = rank == 0 || rank == 1 || rank == 3;
  return axis_of(call, call.attrs.has("dim") ? whole_number(call, "dim") : first ? 0 : 1, rank);
}

std::vector<ValueId> softmax_of(FunctionCall& call, ValueId x, bool logarithm) {
  call.attrs.ignore({"_stacklevel"});
  if (call.attrs.has("dtype")) call.refuse(Fault::Unsupported, "argument 'dtype' asks for other numbers than come in");
  const Size axis = softmax_axis(call, call.rank(x));
  return {call.add(Softmax{{axis}, logarithm}, {x})};
}

std::vector<ValueId> softmax(FunctionCall& call) { return softmax_of(call, call.tensor("input"), false); }
std::vector<ValueId> log_softmax(FunctionCall& call) { return softmax_of(call, call.tensor("input"), true); }
std::vector<ValueId> softmin(FunctionCall& call) {
  return softmax_of(call, call.add(Unary{Function::Negate}, {call.tensor("input")}), false);
}

// Over the channels of [N, C, H, W] or [C, H, W].
std::vector<ValueId> softmax2d(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  if (!call.failed() && call.rank(x) != 3 && call.rank(x) != 4)
    call.refuse(Fault::Format, "input has shape " + text_of(call.shape(x)) + ", expected rank 3 or 4");
  return {call.add(Softmax{{std::max<Size>(call.rank(x) - 3, 0)}, false}, {x})};
}

std::vector<ValueId> glu(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size axis = axis_of(call, whole_number(call, "dim", -1), call.rank(x));
  return {call.add(Glu{axis}, {x})};
}

constexpr std::array activation_table{FunctionRow{"relu", "input inplace", relu},
                                      FunctionRow{"relu6", "input inplace", relu6},
                                      FunctionRow{"leaky_relu", "input negative_slope inplace", leaky_relu},
                                      FunctionRow{"rrelu", "input lower upper training inplace", rrelu},
                                      FunctionRow{"elu", "input alpha inplace", elu},
                                      FunctionRow{"selu", "input inplace", unary<Function::Selu>},
                                      FunctionRow{"celu", "input alpha inplace", celu},
                                      FunctionRow{"gelu", "input approximate", gelu},
                                      FunctionRow{"silu", "input inplace", unary<Function::Silu>},
                                      FunctionRow{"mish", "input inplace", unary<Function::Mish>},
                                      FunctionRow{"softplus", "input beta threshold", softplus},
                                      FunctionRow{"softsign", "input", unary<Function::Softsign>},
                                      FunctionRow{"tanh", "input", unary<Function::Tanh>},
                                      FunctionRow{"sigmoid", "input", unary<Function::Sigmoid>},
                                      FunctionRow{"logsigmoid", "input", unary<Function::LogSigmoid>},
                                      FunctionRow{"tanhshrink", "input", unary<Function::TanhShrink>},
                                      FunctionRow{"hardtanh", "input min_val max_val inplace", hardtanh},
                                      FunctionRow{"hardsigmoid", "input inplace", hardsigmoid},
                                      FunctionRow{"hardswish", "input inplace", unary<Function::HardSwish>},
                                      FunctionRow{"threshold", "input threshold value inplace", threshold},
                                      FunctionRow{"softshrink", "input lambd", softshrink},
                                      FunctionRow{"hardshrink", "input lambd", hardshrink},
                                      FunctionRow{"prelu", "input weight", prelu},
                                      FunctionRow{"softmax", "input dim _stacklevel dtype", softmax},
                                      FunctionRow{"log_softmax", "input dim _stacklevel dtype", log_softmax},
                                      FunctionRow{"softmin", "input dim _stacklevel dtype", softmin},
                                      FunctionRow{"glu", "input dim", glu},
                                      FunctionRow{"ReLU", "inplace", relu},
                                      FunctionRow{"ReLU6", "inplace", relu6},
                                      FunctionRow{"LeakyReLU", "negative_slope inplace", leaky_relu},
                                      FunctionRow{"RReLU", "lower upper inplace", rrelu},
                                      FunctionRow{"ELU", "alpha inplace", elu},
                                      FunctionRow{"SELU", "inplace", unary<Function::Selu>},
                                      FunctionRow{"CELU", "alpha inplace", celu},
                                      FunctionRow{"GELU", "approximate", gelu},
                                      FunctionRow{"SiLU", "inplace", unary<Function::Silu>},
                                      FunctionRow{"Mish", "inplace", unary<Function::Mish>},
                                      FunctionRow{"Softplus", "beta threshold", softplus},
                                      FunctionRow{"Softsign", "", unary<Function::Softsign>},
                                      FunctionRow{"Tanh", "", unary<Function::Tanh>},
                                      FunctionRow{"Sigmoid", "", unary<Function::Sigmoid>},
                                      FunctionRow{"LogSigmoid", "", unary<Function::LogSigmoid>},
                                      FunctionRow{"Tanhshrink", "", unary<Function::TanhShrink>},
                                      FunctionRow{"Hardtanh", "min_val max_val inplace min_value max_value", hardtanh},
                                      FunctionRow{"Hardsigmoid", "inplace", hardsigmoid},
                                      FunctionRow{"Hardswish", "inplace", unary<Function::HardSwish>},
                                      FunctionRow{"Threshold", "threshold value inplace", threshold},
                                      FunctionRow{"Softshrink", "lambd", softshrink},
                                      FunctionRow{"Hardshrink", "lambd", hardshrink},
                                      FunctionRow{"PReLU", "num_parameters init device dtype", prelu_layer},
                                      FunctionRow{"Softmax", "dim", softmax},
                                      FunctionRow{"LogSoftmax", "dim", log_softmax},
                                      FunctionRow{"Softmin", "dim", softmin},
                                      FunctionRow{"Softmax2d", "", softmax2d},
                                      FunctionRow{"GLU", "dim", glu}};

}  // namespace

std::span<const FunctionRow> activation_functions() { return activation_table; }

}  // namespace convoy::torch
