// Functions of one and of two numbers, element by element. A number among the operands is a scalar.
#include "formats/torch/aten/aten.h"
#include "ops/expect.h"

#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <limits>

namespace convoy::torch {
namespace {

using Results = std::vector<ValueId>;

bool is_real(const FunctionCall& call, ValueId x) {
  return call.fact(x).dtype == DType::F32 || call.fact(x).dtype == DType::F64;
}
bool is_number(FunctionCall& call, std::string_view argument) {
  return !call.optional(argument) && call.attrs.has(argument);
}

// Two operands, of which one may be a number: it takes the other's element type, except that a fraction makes whole
// numbers float32, as PyTorch promotes them.
struct Pair {
  ValueId a, b;
};
ValueId scalar(FunctionCall& call, std::string_view argument, DType dtype) {
  return number_constant(call, argument, call.attrs.number(argument), dtype);
}
Pair operands(FunctionCall& call, std::string_view first, std::string_view second) {
  Pair pair{call.optional(first), call.optional(second)};
  if (pair.a && pair.b) return pair;
  if (!pair.a && !pair.b) {
    call.tensor(first);
    return pair;
  }
  const std::string_view number = pair.a ? second : first;
  ValueId& tensor = pair.a ? pair.a : pair.b;
  const Json* said = call.attrs.raw(number);
  if (said && said->is_number_float() && !is_floating(call.fact(tensor).dtype))
    tensor = call.add(Cast{DType::F32}, {tensor});
  if (call.failed()) return {};
  const ValueId made = scalar(call, number, call.fact(tensor).dtype);
  (pair.a ? pair.b : pair.a) = made;
  return pair;
}

bool are_truths(const FunctionCall& call, ValueId a, ValueId b) {
  return !call.failed() && call.fact(a).dtype == DType::Bool && call.fact(b).dtype == DType::Bool;
}

// A whole multiple of whole numbers is whole.
ValueId times(FunctionCall& call, ValueId x, double factor) {
  if (call.failed()) return x;
  if (is_floating(call.fact(x).dtype) || factor != std::floor(factor)) return call.add(Affine{factor, 0}, {x});
  const ValueId number = number_constant(call, "alpha", factor, call.fact(x).dtype);
  return call.add(Binary{BinaryFunction::Multiply}, {x, number});
}

// x + alpha * other, x - alpha * other; of truths, whether any is true.
Results sum(FunctionCall& call, double sign) {
  const double alpha = sign * call.attrs.number("alpha", 1.0);
  const ValueId x = call.optional("input");
  if (x && is_number(call, "other") && is_real(call, x))
    return {call.add(Affine{1, alpha * call.attrs.number("other")}, {x})};
  auto [a, b] = operands(call, "input", "other");
  if (alpha == 1 && are_truths(call, a, b)) return {call.add(Binary{BinaryFunction::Or}, {a, b})};
  if (std::abs(alpha) != 1) b = times(call, b, std::abs(alpha));
  return {call.add(Binary{alpha < 0 ? BinaryFunction::Subtract : BinaryFunction::Add}, {a, b})};
}
Results add(FunctionCall& call) { return sum(call, 1); }
Results sub(FunctionCall& call) { return sum(call, -1); }

// other - alpha * x
Results reversed_sub(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const double alpha = call.attrs.number("alpha", 1.0);
  if (is_number(call, "other") && is_real(call, x) && call.attrs.number("other") != 0)
    return {call.add(Affine{-alpha, call.attrs.number("other")}, {x})};
  auto [a, b] = operands(call, "input", "other");
  if (alpha != 1) a = times(call, a, alpha);
  return {call.add(Binary{BinaryFunction::Subtract}, {b, a})};
}

Results mul(FunctionCall& call) {
  const ValueId x = call.optional("input");
  if (x && is_number(call, "other") && is_real(call, x)) return {call.add(Affine{call.attrs.number("other"), 0}, {x})};
  const auto [a, b] = operands(call, "input", "other");
  const bool truths = are_truths(call, a, b);
  return {call.add(Binary{truths ? BinaryFunction::And : BinaryFunction::Multiply}, {a, b})};
}

template <BinaryFunction function>
Results binary(FunctionCall& call) {
  const auto [a, b] = operands(call, "input", "other");
  return {call.add(Binary{function}, {a, b})};
}

Results divide(FunctionCall& call) {
  const std::string rounding = call.attrs.word("rounding_mode", "");
  const auto [a, b] = operands(call, "input", "other");
  BinaryFunction function = BinaryFunction::Divide;
  if (rounding == "floor") function = BinaryFunction::FloorDivide;
  else if (rounding == "trunc") function = BinaryFunction::TruncateDivide;
  else if (!rounding.empty()) call.refuse(Fault::Format, "argument 'rounding_mode' is '" + rounding + "'");
  return {call.add(Binary{function}, {a, b})};
}

// Whole numbers to a whole power stay whole and wrap around.
Results power_of_whole(FunctionCall& call, ValueId x, double exponent) {
  if (exponent < 0 || exponent > 64) call.refuse(Fault::Unsupported, "raises whole numbers to a power outside 0 to 64");
  if (call.failed()) return {};
  ValueId y = exponent == 0 ? number_constant(call, "one", 1, call.fact(x).dtype) : x;
  if (exponent == 0) return {call.add(Binary{BinaryFunction::Maximum}, {times(call, x, 0), y})};
  for (int i = 1; i < static_cast<int>(exponent); ++i) y = call.add(Binary{BinaryFunction::Multiply}, {y, x});
  return {y};
}

Results power(FunctionCall& call) {
  if (is_number(call, "exponent")) {
    ValueId x = call.tensor("input");
    const double exponent = call.attrs.number("exponent");
    if (call.failed()) return {};
    const Json* said = call.attrs.raw("exponent");
    if (!is_floating(call.fact(x).dtype)) {
      if (said && !said->is_number_float()) return power_of_whole(call, x, exponent);
      x = call.add(Cast{DType::F32}, {x});
      if (call.failed()) return {};
      const ValueId to = number_constant(call, "exponent", exponent, DType::F32);
      return {call.add(Binary{BinaryFunction::Power}, {x, to})};
    }
    if (exponent == 2) return {call.add(Unary{Function::Square}, {x})};
    if (exponent == 0.5) return {call.add(Unary{Function::Sqrt}, {x})};
    if (exponent == 1) return {x};
  }
  const auto [a, b] = operands(call, "input", "exponent");
  if (call.failed()) return {};
  const DType dtype = meeting(call.fact(a).dtype, call.fact(b).dtype);
  const ValueId y = call.add(Binary{BinaryFunction::Power}, {a, b});
  if (is_floating(dtype)) return {y};
  if (call.optional("input")) call.refuse(Fault::Unsupported, "raises whole numbers to whole powers that are computed");
  return {call.add(Cast{dtype}, {y})};
}

// Bit by bit, which is logic where the operands are truths.
template <BinaryFunction function>
Results bits(FunctionCall& call) {
  const ValueId a = call.tensor("input"), b = call.tensor("other");
  if (!call.failed() && (call.fact(a).dtype != DType::Bool || call.fact(b).dtype != DType::Bool))
    call.refuse(Fault::Unsupported, "works on the bits of whole numbers");
  return {call.add(Binary{function}, {a, b})};
}
Results bits_not(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  if (!call.failed() && call.fact(x).dtype != DType::Bool)
    call.refuse(Fault::Unsupported, "works on the bits of whole numbers");
  return {call.add(Unary{Function::Not}, {x})};
}

// The choices may be numbers: of the other choice's type; where both are, whole ones are int64 and others float32.
Results where(FunctionCall& call) {
  const ValueId condition = call.tensor("condition");
  if (!call.optional("input") && !call.optional("other")) {
    const auto is_fraction = [&](std::string_view word) {
      const Json* said = call.attrs.raw(word);
      return said && said->is_number_float();
    };
    const DType dtype = is_fraction("input") || is_fraction("other") ? DType::F32 : DType::I64;
    const ValueId a = scalar(call, "input", dtype), b = scalar(call, "other", dtype);
    return {call.add(Where{}, {condition, a, b})};
  }
  const auto [a, b] = operands(call, "input", "other");
  return {call.add(Where{}, {condition, a, b})};
}

Results masked_fill(FunctionCall& call) {
  const ValueId mask = call.tensor("mask");
  const auto [x, value] = operands(call, "input", "value");
  return {call.add(Where{}, {mask, value, x})};
}

// x on one side of a diagonal, zeros on the other.
template <bool upper>
Results triangle(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size diagonal = call.attrs.integer("diagonal", 0), rank = call.rank(x);
  const Dim rows = call.dim(x, rank - 2), columns = call.dim(x, rank - 1);
  constexpr Size most = Size{1} << 24;
  if (rank < 2 || !rows.known() || !columns.known() || checked_multiply(*rows, *columns).value_or(most + 1) > most)
    call.refuse(Fault::Unsupported, "a triangle of a matrix whose sizes are free, or very large");
  if (call.failed()) return {};
  std::vector<std::byte> keeps;
  for (Size row = 0; row < *rows; ++row)
    for (Size column = 0; column < *columns; ++column)
      keeps.push_back(static_cast<std::byte>(upper ? column - row >= diagonal : column - row <= diagonal));
  const ValueId mask =
      call.make_constant("triangle", *Tensor::owning(DType::Bool, {*rows, *columns}, std::move(keeps)));
  const DType dtype = call.fact(x).dtype;
  const Tensor zero = Tensor::of({}, std::vector<std::int64_t>{0});
  const ValueId nothing =
      call.make_constant("zero", !is_floating(dtype) ? zero : Tensor::of({}, std::vector<float>{0}).converted(dtype));
  return {call.add(Where{}, {mask, x, nothing})};
}

// From x to end: x + weight (end - x), or end - (1 - weight)(end - x) from the middle on. Source: ATen/native/Lerp.h.
Results lerp(FunctionCall& call) {
  const ValueId x = call.tensor("input"), end = call.tensor("end");
  const double weight = call.attrs.number("weight");
  const bool from_end = weight >= 0.5;
  const ValueId way = call.add(Binary{BinaryFunction::Subtract}, {end, x});
  const ValueId part = call.add(Affine{from_end ? 1 - weight : weight, 0}, {way});
  return {call.add(Binary{from_end ? BinaryFunction::Subtract : BinaryFunction::Add}, {from_end ? end : x, part})};
}

// At rest these hand on what they get; what they would do in training is kept.
template <Noise noise>
Results dropout(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  return {call.add(Dropout{noise, call.attrs.number("p", 0.5), 1}, {x})};
}

constexpr std::array arithmetic_table{
    FunctionRow{"add", "input other", add},
    FunctionRow{"sub", "input other", sub},
    FunctionRow{"rsub", "input other", reversed_sub},
    FunctionRow{"mul", "input other", mul},
    FunctionRow{"div", "input other", divide},
    FunctionRow{"true_divide", "input other", divide},
    FunctionRow{"floor_divide", "input other", binary<BinaryFunction::FloorDivide>},
    FunctionRow{"remainder", "input other", binary<BinaryFunction::Modulo>},
    FunctionRow{"fmod", "input other", binary<BinaryFunction::Remainder>},
    FunctionRow{"eq", "input other", binary<BinaryFunction::Equal>},
    FunctionRow{"ne", "input other", binary<BinaryFunction::NotEqual>},
    FunctionRow{"lt", "input other", binary<BinaryFunction::Less>},
    FunctionRow{"le", "input other", binary<BinaryFunction::LessOrEqual>},
    FunctionRow{"gt", "input other", binary<BinaryFunction::Greater>},
    FunctionRow{"ge", "input other", binary<BinaryFunction::GreaterOrEqual>},
    FunctionRow{"logical_and", "input other", binary<BinaryFunction::And>},
    FunctionRow{"logical_or", "input other", binary<BinaryFunction::Or>},
    FunctionRow{"logical_xor", "input other", binary<BinaryFunction::Xor>},
    FunctionRow{"bitwise_and", "input other", bits<BinaryFunction::And>},
    FunctionRow{"bitwise_or", "input other", bits<BinaryFunction::Or>},
    FunctionRow{"bitwise_xor", "input other", bits<BinaryFunction::Xor>},
    FunctionRow{"bitwise_not", "input", bits_not},
    FunctionRow{"__and__.Tensor", "input other", bits<BinaryFunction::And>},
    FunctionRow{"__or__.Tensor", "input other", bits<BinaryFunction::Or>},
    FunctionRow{"__xor__.Tensor", "input other", bits<BinaryFunction::Xor>},
    FunctionRow{"where", "condition input other", where},
    FunctionRow{"masked_fill", "input mask value", masked_fill},
    FunctionRow{"triu", "input diagonal", triangle<true>},
    FunctionRow{"tril", "input diagonal", triangle<false>},
    FunctionRow{"maximum", "input other", binary<BinaryFunction::Maximum>},
    FunctionRow{"minimum", "input other", binary<BinaryFunction::Minimum>},
    FunctionRow{"pow", "input exponent", power},
    FunctionRow{"max.other", "input other", binary<BinaryFunction::Maximum>},
    FunctionRow{"min.other", "input other", binary<BinaryFunction::Minimum>},
    FunctionRow{"lerp.Scalar", "input end weight", lerp},
    FunctionRow{"dropout", "input p", dropout<Noise::Dropout>},
    FunctionRow{"feature_dropout", "input p", dropout<Noise::SpatialDropout>},
    FunctionRow{"alpha_dropout", "input p", dropout<Noise::AlphaDropout>},
};

}  // namespace

std::span<const FunctionRow> aten_arithmetic() { return arithmetic_table; }

}  // namespace convoy::torch
