// Functions of one number, and softmax along the last axis.
#include "formats/tflite/catalogue/catalogue.h"
#include "formats/tflite/options.h"

#include "ops/expect.h"

#include <array>

namespace convoy::tflite {
namespace {

template <Function function>
std::vector<ValueId> unary(FunctionCall& call) {
  return {call.add(Unary{function}, {call.tensor("input")})};
}

std::vector<ValueId> relu(FunctionCall& call) { return {call.add(Relu{}, {call.tensor("input")})}; }
std::vector<ValueId> relu6(FunctionCall& call) { return {call.add(Relu{6.0, 0, 0, false}, {call.tensor("input")})}; }
template <int least>
std::vector<ValueId> relu_to_1(FunctionCall& call) {
  return {call.add(Clip{static_cast<double>(least), 1.0}, {call.tensor("input")})};
}
std::vector<ValueId> leaky_relu(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  return {call.add(Relu{{}, call.attrs.number("alpha", 0), 0, false}, {x})};
}
std::vector<ValueId> elu(FunctionCall& call) { return {call.add(Elu{}, {call.tensor("input")})}; }

std::vector<ValueId> gelu(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const bool approximate = call.attrs.truth("approximate", false);
  return {call.add(Unary{approximate ? Function::GeluTanh : Function::Gelu}, {x})};
}

std::vector<ValueId> softmax(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const double beta = call.attrs.number("beta", 1);
  if (call.failed()) return {};
  const ValueId scaled = beta == 1 ? x : call.add(Affine{beta, 0}, {x});
  return {call.add(Softmax{{call.rank(x) - 1}, false}, {scaled})};
}

std::vector<ValueId> log_softmax(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  return {call.add(Softmax{{call.rank(x) - 1}, true}, {x})};
}

// The slope has the rank of the input less the batch, or is shaped like the end of it; here it has all axes but the batch.
std::vector<ValueId> prelu(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  ValueId alpha = call.tensor("alpha");
  if (call.failed()) return {};
  const auto shape = sizes_of(call.shape(alpha));
  const auto rank = static_cast<std::size_t>(call.rank(x));
  if (!shape || rank < 1) {
    call.refuse(Fault::Unsupported, "the slope has shape " + text_of(call.shape(alpha)));
    return {};
  }
  Sizes slope = *shape;
  while (slope.size() >= rank && !slope.empty() && slope.front() == 1) slope.erase(slope.begin());
  while (slope.size() + 1 < rank) slope.insert(slope.begin(), 1);
  if (slope != *shape) alpha = reshaped(call, alpha, slope);
  return {call.add(PRelu{}, {x, alpha})};
}

constexpr std::array activation_table{
    Operator{"RELU", 19, "input", 0, "", relu},
    Operator{"RELU6", 21, "input", 0, "", relu6},
    Operator{"RELU_N1_TO_1", 20, "input", 0, "", relu_to_1<-1>},
    Operator{"RELU_0_TO_1", 152, "input", 0, "", relu_to_1<0>},
    Operator{"LEAKY_RELU", 98, "input", 75, "alpha:f", leaky_relu},
    Operator{"ELU", 111, "input", 0, "", elu},
    Operator{"GELU", 150, "input", 116, "approximate:b", gelu},
    Operator{"PRELU", 54, "input alpha", 0, "", prelu},
    Operator{"SOFTMAX", 25, "input", 9, "beta:f", softmax},
    Operator{"LOG_SOFTMAX", 50, "input", 36, "", log_softmax},
    Operator{"LOGISTIC", 14, "input", 0, "", unary<Function::Sigmoid>},
    Operator{"TANH", 28, "input", 0, "", unary<Function::Tanh>},
    Operator{"HARD_SWISH", 117, "input", 91, "", unary<Function::HardSwish>},
    Operator{"EXP", 47, "input", 33, "", unary<Function::Exp>},
    Operator{"LOG", 73, "input", 0, "", unary<Function::Log>},
    Operator{"SQRT", 75, "input", 0, "", unary<Function::Sqrt>},
    Operator{"RSQRT", 76, "input", 0, "", unary<Function::Rsqrt>},
    Operator{"SQUARE", 92, "input", 66, "", unary<Function::Square>},
    Operator{"ABS", 101, "input", 78, "", unary<Function::Abs>},
    Operator{"NEG", 59, "input", 42, "", unary<Function::Negate>},
    Operator{"FLOOR", 8, "input", 0, "", unary<Function::Floor>},
    Operator{"CEIL", 104, "input", 0, "", unary<Function::Ceil>},
    Operator{"ROUND", 116, "input", 0, "", unary<Function::Round>},
    Operator{"SIN", 66, "input", 0, "", unary<Function::Sin>},
    Operator{"COS", 108, "input", 84, "", unary<Function::Cos>},
    Operator{"SIGN", 158, "input", 123, "", unary<Function::Sign>},
    Operator{"LOGICAL_NOT", 87, "input", 63, "", unary<Function::Not>},
};

}  // namespace

std::span<const Operator> activation_operators() { return activation_table; }

}  // namespace convoy::tflite
