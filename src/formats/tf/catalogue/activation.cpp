// Functions of one number, softmax, and a bias along the channels.
#include "formats/tf/arguments.h"
#include "formats/tf/catalogue/catalogue.h"

#include <array>

namespace convoy::tf {
namespace {

std::vector<ValueId> unary_operator(FunctionCall& call) {
  return {call.add(Unary{meaning_of<Function>(call)}, {call.tensor("x")})};
}

// 1 - erf(x)
std::vector<ValueId> erfc(FunctionCall& call) {
  return {call.add(Affine{-1, 1}, {call.add(Unary{Function::Erf}, {call.tensor("x")})})};
}

// A NaN is no number's equal; what is not finite leaves something when it is taken from itself.
std::vector<ValueId> is_nan(FunctionCall& call) {
  const ValueId x = call.tensor("x");
  return {call.add(Binary{BinaryFunction::NotEqual}, {x, x})};
}
std::vector<ValueId> is_finite(FunctionCall& call) {
  const ValueId x = call.tensor("x");
  const ValueId rest = call.add(Binary{BinaryFunction::Subtract}, {x, x});
  return {call.add(Binary{BinaryFunction::Equal}, {rest, rest})};
}

constexpr Operator of_x(std::string_view name, Function function) {
  return {.name = name, .inputs = "x", .read = unary_operator, .meaning = function};
}
constexpr Operator as_function(std::string_view name, std::string_view inputs, std::string_view function) {
  return {.name = name, .inputs = inputs, .function = function};
}

constexpr std::array activation_operator_table{
    as_function("Relu", "features", "nn.relu"),
    as_function("Relu6", "features", "nn.relu6"),
    as_function("LeakyRelu", "features", "nn.leaky_relu"),
    as_function("Elu", "features", "nn.elu"),
    as_function("Selu", "features", "nn.selu"),
    as_function("Softplus", "features", "nn.softplus"),
    as_function("Softsign", "features", "nn.softsign"),
    as_function("Softmax", "logits", "nn.softmax"),
    as_function("LogSoftmax", "logits", "nn.log_softmax"),
    as_function("BiasAdd", "value bias", "nn.bias_add"),
    as_function("BiasAddV1", "value bias", "nn.bias_add"),
    of_x("Sigmoid", Function::Sigmoid),
    of_x("Tanh", Function::Tanh),
    of_x("Exp", Function::Exp),
    of_x("Expm1", Function::Expm1),
    of_x("Log", Function::Log),
    of_x("Log1p", Function::Log1p),
    of_x("Sqrt", Function::Sqrt),
    of_x("Rsqrt", Function::Rsqrt),
    of_x("Square", Function::Square),
    of_x("Abs", Function::Abs),
    of_x("Neg", Function::Negate),
    of_x("Sign", Function::Sign),
    of_x("Floor", Function::Floor),
    of_x("Ceil", Function::Ceil),
    of_x("Round", Function::Round),
    of_x("Rint", Function::Round),
    of_x("Reciprocal", Function::Reciprocal),
    of_x("Inv", Function::Reciprocal),
    of_x("Erf", Function::Erf),
    of_x("Sin", Function::Sin),
    of_x("Cos", Function::Cos),
    of_x("Tan", Function::Tan),
    of_x("Asin", Function::Asin),
    of_x("Acos", Function::Acos),
    of_x("Atan", Function::Atan),
    of_x("Sinh", Function::Sinh),
    of_x("Cosh", Function::Cosh),
    of_x("Asinh", Function::Asinh),
    of_x("Acosh", Function::Acosh),
    of_x("Atanh", Function::Atanh),
    of_x("LogicalNot", Function::Not),
    Operator{.name = "IsNan", .inputs = "x", .read = is_nan},
    Operator{.name = "IsFinite", .inputs = "x", .read = is_finite},
    Operator{.name = "Erfc", .inputs = "x", .read = erfc},
};

}  // namespace

std::span<const Operator> activation_operators() { return activation_operator_table; }

}  // namespace convoy::tf
