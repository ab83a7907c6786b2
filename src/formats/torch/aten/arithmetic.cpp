// Functions of one and of two numbers, element by element. A number among the operands is a scalar.
#include "formats/torch/aten/aten.h"

#include <array>
#include <cmath>

namespace convoy::torch {
namespace {

using Results = std::vector<ValueId>;

// The tensor `argument`, or its number as a scalar of x's element type.
ValueId operand(FunctionCall& call, ValueId x, std::string_view argument) {
  if (const ValueId tensor = call.optional(argument)) return tensor;
  const double number = call.attrs.number(argument);
  const Tensor scalar = Tensor::of({}, std::vector<double>{number});
  const DType dtype = call.fact(x).dtype;
  const bool whole = dtype != DType::F32 && dtype != DType::F64 && dtype != DType::F16 && dtype != DType::BF16;
  if (!whole) return call.make_constant(argument, scalar.converted(dtype));
  if (number != std::floor(number))
    call.refuse(Fault::Unsupported, "a fraction and whole numbers change the element type, which is not carried");
  return call.make_constant(argument, Tensor::of({}, std::vector<std::int64_t>{static_cast<std::int64_t>(number)}));
}

bool is_number(FunctionCall& call, std::string_view argument) {
  return !call.optional(argument) && call.attrs.has(argument);
}

bool is_real(const FunctionCall& call, ValueId x) {
  return call.fact(x).dtype == DType::F32 || call.fact(x).dtype == DType::F64;
}

// x + alpha * other, x - alpha * other
Results sum(FunctionCall& call, double sign) {
  if (!call.optional("input")) {
    call.refuse(Fault::Unsupported, "a number less a tensor, as arithmetic on indices has it");
    return {};
  }
  const ValueId x = call.tensor("input");
  const double alpha = sign * call.attrs.number("alpha", 1.0);
  if (is_number(call, "other") && is_real(call, x))
    return {call.add(Affine{1, alpha * call.attrs.number("other")}, {x})};
  ValueId other = operand(call, x, "other");
  if (std::abs(alpha) != 1) other = call.add(Affine{std::abs(alpha), 0}, {other});
  return {call.add(Binary{alpha < 0 ? BinaryFunction::Subtract : BinaryFunction::Add}, {x, other})};
}
Results add(FunctionCall& call) { return sum(call, 1); }
Results sub(FunctionCall& call) { return sum(call, -1); }

// other - alpha * x
Results reversed_sub(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const double alpha = call.attrs.number("alpha", 1.0);
  if (is_number(call, "other") && is_real(call, x)) return {call.add(Affine{-alpha, call.attrs.number("other")}, {x})};
  return {call.add(Binary{BinaryFunction::Subtract}, {operand(call, x, "other"), call.add(Affine{alpha, 0}, {x})})};
}

Results mul(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  if (is_number(call, "other") && is_real(call, x)) return {call.add(Affine{call.attrs.number("other"), 0}, {x})};
  return {call.add(Binary{BinaryFunction::Multiply}, {x, operand(call, x, "other")})};
}

template <BinaryFunction function>
Results binary(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  return {call.add(Binary{function}, {x, operand(call, x, "other")})};
}

Results power(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  if (is_number(call, "exponent")) {
    const double exponent = call.attrs.number("exponent");
    if (exponent == 2) return {call.add(Unary{Function::Square}, {x})};
    if (exponent == 0.5) return {call.add(Unary{Function::Sqrt}, {x})};
    if (exponent == 1) return {x};
  }
  return {call.add(Binary{BinaryFunction::Power}, {x, operand(call, x, "exponent")})};
}

template <Function function>
Results unary(FunctionCall& call) {
  return {call.add(Unary{function}, {call.tensor("input")})};
}

std::optional<double> bound(FunctionCall& call, std::string_view key) {
  return call.attrs.has(key) ? std::optional(call.attrs.number(key)) : std::nullopt;
}
Results clamp(FunctionCall& call) {
  return {call.add(Clip{bound(call, "min"), bound(call, "max")}, {call.tensor("input")})};
}

Results cast(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  call.attrs.ignore({"non_blocking", "copy"});
  const std::string wanted = call.attrs.word("dtype", std::string(name_of(call.fact(x).dtype)));
  if (wanted == name_of(call.fact(x).dtype)) return {x};
  for (const DType dtype : {DType::F16, DType::BF16, DType::F32, DType::F64, DType::I8, DType::I16, DType::I32,
                            DType::I64, DType::U8, DType::Bool})
    if (wanted == name_of(dtype)) return {call.add(Cast{dtype}, {x})};
  call.refuse(Fault::Unsupported, "element type '" + wanted + "' is not carried");
  return {};
}

// At rest these hand on what they get; what they would do in training is kept.
template <Noise noise>
Results dropout(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  return {call.add(Dropout{noise, call.attrs.number("p", 0.5), 1}, {x})};
}

constexpr std::array rows{
    FunctionRow{"add", "input other", add},
    FunctionRow{"sub", "input other", sub},
    FunctionRow{"rsub", "input other", reversed_sub},
    FunctionRow{"mul", "input other", mul},
    FunctionRow{"div", "input other", binary<BinaryFunction::Divide>},
    FunctionRow{"maximum", "input other", binary<BinaryFunction::Maximum>},
    FunctionRow{"minimum", "input other", binary<BinaryFunction::Minimum>},
    FunctionRow{"pow", "input exponent", power},
    FunctionRow{"abs", "input", unary<Function::Abs>},
    FunctionRow{"neg", "input", unary<Function::Negate>},
    FunctionRow{"exp", "input", unary<Function::Exp>},
    FunctionRow{"log", "input", unary<Function::Log>},
    FunctionRow{"sqrt", "input", unary<Function::Sqrt>},
    FunctionRow{"rsqrt", "input", unary<Function::Rsqrt>},
    FunctionRow{"square", "input", unary<Function::Square>},
    FunctionRow{"reciprocal", "input", unary<Function::Reciprocal>},
    FunctionRow{"sign", "input", unary<Function::Sign>},
    FunctionRow{"floor", "input", unary<Function::Floor>},
    FunctionRow{"ceil", "input", unary<Function::Ceil>},
    FunctionRow{"round.default", "input", unary<Function::Round>},
    FunctionRow{"sin", "input", unary<Function::Sin>},
    FunctionRow{"cos", "input", unary<Function::Cos>},
    FunctionRow{"erf", "input", unary<Function::Erf>},
    FunctionRow{"sigmoid", "input", unary<Function::Sigmoid>},
    FunctionRow{"tanh", "input", unary<Function::Tanh>},
    FunctionRow{"clamp.default", "input min max", clamp},
    FunctionRow{"clamp_min.default", "input min", clamp},
    FunctionRow{"clamp_max.default", "input max", clamp},
    FunctionRow{"to", "input dtype", cast},
    FunctionRow{"_to_copy", "input dtype", cast},
    FunctionRow{"clone", "input", cast},
    FunctionRow{"contiguous", "input", cast},
    FunctionRow{"detach", "input", cast},
    FunctionRow{"detach_copy", "input", cast},
    FunctionRow{"alias", "input", cast},
    FunctionRow{"lift_fresh_copy", "input", cast},
    FunctionRow{"dropout", "input p", dropout<Noise::Dropout>},
    FunctionRow{"feature_dropout", "input p", dropout<Noise::SpatialDropout>},
    FunctionRow{"alpha_dropout", "input p", dropout<Noise::AlphaDropout>},
};

}  // namespace

std::span<const FunctionRow> aten_arithmetic() { return rows; }

}  // namespace convoy::torch
