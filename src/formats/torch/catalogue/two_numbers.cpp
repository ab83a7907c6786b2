// Functions of two numbers, element by element, choices between them, and what is dropped in training. A number among the
// operands is a scalar. Written as Python's operators; the dropouts as modules that act in training only.
#include "base/whole_tensor.h"
#include "formats/torch/catalogue/arguments.h"
#include "formats/torch/catalogue/aten.h"
#include "formats/torch/catalogue/catalogue.h"
#include "formats/torch/families.h"
#include "formats/triangle.h"
#include "ops/expect.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <limits>

namespace convoy::torch {
namespace {

using Results = std::vector<ValueId>;

bool is_real(const FunctionCall& call, ValueId x) {
  return call.type(x).dtype == DType::F32 || call.type(x).dtype == DType::F64;
}
bool is_number(FunctionCall& call, std::string_view argument) {
  return !call.optional(argument) && call.attrs.has(argument);
}

// Kernels have unlike types meet by themselves, but for tensors without axes, and for halves, to which whole numbers are rounded
// in front.
Pair settled(FunctionCall& call, const Pair& pair) {
  if (call.failed()) return pair;
  const TensorType &a = call.type(pair.a), &b = call.type(pair.b);
  if (a.dtype == b.dtype) return pair;
  const DType dtype = promoted_type(a, b);
  const bool rounds = is_half(dtype) && is_floating(a.dtype) != is_floating(b.dtype);
  if (dtype == meeting(a.dtype, b.dtype) && !rounds && (a.rank() == 0) == (b.rank() == 0)) return pair;
  return promoted(call, pair.a, pair.b);
}

// True beside truths is one; a whole number beside them is int64.
ValueId scalar(FunctionCall& call, std::string_view argument, DType dtype) {
  const Json* given = call.attrs.raw(argument);
  if (dtype == DType::Bool && given && given->is_boolean())
    return call.make_constant(argument, *Tensor::owning(DType::Bool, {}, {std::byte{given->get<bool>()}}));
  return number_constant(call, argument, number_or_truth(call, argument), dtype);
}

// One may be a number: it takes the other's element type, except that a fraction makes whole numbers float32, as PyTorch
// promotes them, and so does a quotient, whatever number it is by (`makes_fractions`).
Pair operands(FunctionCall& call, std::string_view first, std::string_view second, bool makes_fractions = false) {
  Pair pair{call.optional(first), call.optional(second)};
  if (pair.a && pair.b) return settled(call, pair);
  if (!pair.a && !pair.b) {
    call.tensor(first);
    return pair;
  }
  const std::string_view number = pair.a ? second : first;
  ValueId& tensor = pair.a ? pair.a : pair.b;
  const Json* said = call.attrs.raw(number);
  if ((makes_fractions || (said && said->is_number_float())) && !is_floating(call.type(tensor).dtype))
    tensor = call.add(Cast{DType::F32}, {tensor});
  if (call.failed()) return {};
  const ValueId made = scalar(call, number, call.type(tensor).dtype);
  (pair.a ? pair.b : pair.a) = made;
  return pair;
}

bool are_truths(const FunctionCall& call, ValueId a, ValueId b) {
  return !call.failed() && call.type(a).dtype == DType::Bool && call.type(b).dtype == DType::Bool;
}

double rounded_to(double number, DType dtype) {
  return Tensor::of({}, std::vector{number}).converted(dtype).doubles()[0];
}

// a + alpha * b of one type. Halves take alpha rounded, and are rounded once behind it.
ValueId scaled_sum(FunctionCall& call, const Pair& both, double alpha) {
  if (call.failed()) return {};
  const DType dtype = call.type(both.a).dtype;
  const double factor = is_half(dtype) ? rounded_to(std::abs(alpha), dtype) : std::abs(alpha);
  const ValueId part = scaled(call, widened(call, both.b), factor);
  const auto function = alpha < 0 ? BinaryFunction::Subtract : BinaryFunction::Add;
  return cast_to(call, call.add(Binary{function}, {widened(call, both.a), part}), dtype);
}

// Whether a sum with a number is one number times x and another more; of halves, the number and alpha are rounded apart.
bool is_affine(FunctionCall& call, ValueId x, double alpha) {
  return x && is_number(call, "other") && is_real(call, x) && (std::abs(alpha) == 1 || !is_half(call.type(x).dtype));
}

// x + alpha * other, x - alpha * other; of truths, whether any is true.
Results sum(FunctionCall& call, double sign) {
  const double alpha = sign * number_or_truth(call, "alpha", 1.0);
  const ValueId x = call.optional("input");
  if (is_affine(call, x, alpha)) return {call.add(Affine{1, alpha * number_or_truth(call, "other")}, {x})};
  Pair both = operands(call, "input", "other");
  if (alpha > 0 && are_truths(call, both.a, both.b)) return {call.add(Binary{BinaryFunction::Or}, {both.a, both.b})};
  if (std::abs(alpha) == 1)
    return {call.add(Binary{alpha < 0 ? BinaryFunction::Subtract : BinaryFunction::Add}, {both.a, both.b})};
  return {scaled_sum(call, promoted(call, both.a, both.b), alpha)};
}
Results add(FunctionCall& call) { return sum(call, 1); }
Results sub(FunctionCall& call) { return sum(call, -1); }

// other - alpha * x
Results reversed_sub(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const double alpha = number_or_truth(call, "alpha", 1.0);
  if (is_affine(call, x, alpha) && number_or_truth(call, "other") != 0)
    return {call.add(Affine{-alpha, number_or_truth(call, "other")}, {x})};
  Pair both = operands(call, "input", "other");
  if (alpha != 1) {
    both = promoted(call, both.a, both.b);
    return {scaled_sum(call, {both.b, both.a}, -alpha)};
  }
  return {call.add(Binary{BinaryFunction::Subtract}, {both.b, both.a})};
}

// A half tensor times or by a number that its type does not have: PyTorch keeps the number in float32, and rounds the result alone.
// Source: mul_kernel and div_true_kernel of aten/src/ATen/native/cpu/BinaryOpsKernel.cpp, PyTorch 2.13.
std::optional<ValueId> half_by_number(FunctionCall& call, BinaryFunction function) {
  const ValueId x = call.optional("input");
  if (!x || !is_number(call, "other") || !is_half(call.type(x).dtype)) return std::nullopt;
  const DType dtype = call.type(x).dtype;
  const double number = number_or_truth(call, "other");
  if (!std::isfinite(number) || rounded_to(number, dtype) == number) return std::nullopt;
  const ValueId by = number_constant(call, "other", number, DType::F32);
  return cast_to(call, call.add(Binary{function}, {widened(call, x), by}), dtype);
}

Results mul(FunctionCall& call) {
  if (const auto product = half_by_number(call, BinaryFunction::Multiply)) return {*product};
  const ValueId x = call.optional("input");
  // Zero times infinity is no number: not the zero of a factor that only the shape counts for.
  if (x && is_number(call, "other") && is_real(call, x) && number_or_truth(call, "other") != 0)
    return {call.add(Affine{number_or_truth(call, "other"), 0}, {x})};
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
  if (rounding.empty())
    if (const auto quotient = half_by_number(call, BinaryFunction::Divide)) return {*quotient};
  const auto [a, b] = operands(call, "input", "other", rounding.empty());
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
  if (call.type(x).dtype == DType::Bool) x = call.add(Cast{DType::I64}, {x});
  ValueId y = exponent == 0 ? number_constant(call, "one", 1, call.type(x).dtype) : x;
  if (exponent == 0) return {call.add(Binary{BinaryFunction::Maximum}, {scaled(call, x, 0), y})};
  for (int i = 1; i < static_cast<int>(exponent); ++i) y = call.add(Binary{BinaryFunction::Multiply}, {y, x});
  return {y};
}

Results power(FunctionCall& call) {
  if (is_number(call, "exponent")) {
    ValueId x = call.tensor("input");
    const double exponent = call.attrs.number("exponent");
    if (call.failed()) return {};
    const Json* said = call.attrs.raw("exponent");
    if (!is_floating(call.type(x).dtype)) {
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
  const DType dtype = meeting(call.type(a).dtype, call.type(b).dtype);
  if (is_floating(dtype)) return {call.add(Binary{BinaryFunction::Power}, {a, b})};
  const Tensor* base = call.constant(a);
  const auto is_exact = [](double n) {
    return n == 0 || (n == std::floor(n) && std::logb(n) == std::log2(std::abs(n)));
  };
  if (!base || !std::ranges::all_of(base->doubles(), is_exact))
    call.refuse(Fault::Unsupported, "raises whole numbers to whole powers that are computed");
  if (call.failed()) return {};
  // Powers of two, which float64 holds.
  const ValueId y =
      call.add(Binary{BinaryFunction::Power}, {call.add(Cast{DType::F64}, {a}), call.add(Cast{DType::F64}, {b})});
  return {call.add(Cast{dtype}, {y})};
}

// Bit by bit, which is logic where the operands are truths.
template <BinaryFunction logic, BinaryFunction function>
Results bits(FunctionCall& call) {
  const Pair both = operands(call, "input", "other");
  if (are_truths(call, both.a, both.b)) return {call.add(Binary{logic}, {both.a, both.b})};
  const auto [a, b] = promoted(call, both.a, both.b);
  return {call.add(Binary{function}, {a, b})};
}
Results bits_not(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  if (call.failed()) return {};
  const DType dtype = call.type(x).dtype;
  if (dtype == DType::Bool) return {call.add(Unary{Function::Not}, {x})};
  if (is_floating(dtype)) call.refuse(Fault::Format, "works on the bits of numbers that are not whole");
  if (call.failed()) return {};
  return {call.add(Binary{BinaryFunction::BitXor}, {x, call.make_constant("bits", whole_tensor(dtype, {}, {-1}))})};
}

// How far: a number, or a tensor without axes that is known. In x's type, which meets that of such a tensor.
Result<Size> shifted_by(FunctionCall& call, ValueId& x) {
  const ValueId given = call.optional("other");
  const DType own = call.type(x).dtype;
  const Json* said = given ? nullptr : call.attrs.raw("other");
  double by = 0;
  if (!given) {
    by = number_or_truth(call, "other");
  } else {
    const Tensor* known = call.constant(given);
    if (!known || known->rank() != 0)
      return fail(Fault::Unsupported, "shifts bits as far as a tensor says; give the distance as a number");
    by = known->doubles()[0];
  }
  const DType other = given ? call.type(given).dtype : said && said->is_number_float() ? DType::F32 : DType::I64;
  const bool truths = own == DType::Bool && (given ? other == DType::Bool : said && said->is_boolean());
  if (is_floating(own) || is_floating(other) || truths)
    return fail(Fault::Format, "shifts the bits of what is no whole number");
  if (own == DType::U64) return fail(Fault::Unsupported, "shifts numbers of 64 bits without a sign");
  const DType wanted = given && call.type(x).rank() == 0 ? meeting(own, other) : own;
  const DType type = wanted == DType::Bool || (own == DType::Bool && !given) ? DType::I64 : wanted;
  if (type != own) x = call.add(Cast{type}, {x});
  const Size all = 8 * bytes_of(type);
  return by < 0 || by >= static_cast<double>(all) ? all : static_cast<Size>(by);
}

// Bits moved to the left are lost, and zeros or the sign come in from the other side; what is moved by no number of bits
// that the type has is moved by all of them. Source: ATen/native/cpu/BinaryOpsKernel.cpp, lshift and rshift.
template <bool to_left>
Results shift(FunctionCall& call) {
  ValueId x = call.tensor("input");
  if (call.failed()) return {};
  const auto by = shifted_by(call, x);
  if (!by) call.refuse(by.error().fault, by.error().what);
  if (call.failed()) return {};
  const DType dtype = call.type(x).dtype;
  const Size all = 8 * bytes_of(dtype);
  const bool is_signed = dtype != DType::U8 && dtype != DType::U16 && dtype != DType::U32;
  const auto with = [&](BinaryFunction function, ValueId a, Size power) {
    const auto step = power == all ? std::int64_t{0} : static_cast<std::int64_t>(std::uint64_t{1} << power);
    return call.add(Binary{function}, {a, call.make_constant("step", whole_tensor(dtype, {}, {step}))});
  };
  if (*by == 0) return {x};
  if (to_left || (*by == all && !is_signed)) return {with(BinaryFunction::Multiply, x, *by)};
  // The lowest number is no divisor that keeps the sign.
  if (*by < all - 1 || !is_signed) return {with(BinaryFunction::FloorDivide, x, *by)};
  return {with(BinaryFunction::FloorDivide, with(BinaryFunction::FloorDivide, x, all - 2), 1)};
}

// The choices may be numbers: of the other choice's type; where both are, whole ones are int64 and others float32.
Results where(FunctionCall& call) {
  const ValueId condition = call.tensor("condition");
  if (!call.optional("input") && !call.optional("other")) {
    if (!call.attrs.has("input") && !call.attrs.has("other"))
      call.refuse(Fault::Unsupported, "of a condition alone lists the places where it holds, as many as there are");
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
  const ValueId mask = call.tensor("mask"), x = call.tensor("input");
  ValueId value = operands(call, "input", "value").b;
  if (call.failed()) return {};
  const DType dtype = call.type(x).dtype;  // stays, whatever the value is
  if (call.type(value).dtype != dtype) value = call.add(Cast{dtype}, {value});
  return {call.add(Where{}, {mask, value, x})};
}

// x on one side of a diagonal, zeros on the other.
template <bool upper>
Results triangle(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  return {triangle_of(call, x, integer_or_default(call, "diagonal"), upper)};
}

// From x to end: x + weight (end - x), or end - (1 - weight)(end - x) where the weight is no less than a half, whatever
// its sign. Source: ATen/native/Lerp.h.
ValueId mixed(FunctionCall& call, ValueId x, ValueId end, ValueId weight) {
  const ValueId way = call.add(Binary{BinaryFunction::Subtract}, {end, x});
  const auto from = [&](bool end_of_it, ValueId part) {
    return call.add(Binary{end_of_it ? BinaryFunction::Subtract : BinaryFunction::Add}, {end_of_it ? end : x, part});
  };
  if (weight) {
    if (call.failed()) return {};
    const auto part = [&](ValueId share) { return call.add(Binary{BinaryFunction::Multiply}, {share, way}); };
    const auto near = [&] { return from(false, part(weight)); };
    const auto far = [&] { return from(true, part(call.add(Affine{-1, 1}, {weight}))); };
    ValueId is_small;
    if (const Tensor* known = call.constant(weight)) {
      std::vector<std::int64_t> truths;
      for (const double w : known->doubles()) truths.push_back(std::abs(w) < 0.5);
      if (std::ranges::count(truths, 0) == 0) return near();
      if (std::ranges::count(truths, 1) == 0) return far();
      is_small =
          call.add(Cast{DType::Bool}, {call.make_constant("is_small", Tensor::of(known->shape(), std::move(truths)))});
    } else {
      const ValueId half = number_constant(call, "half", 0.5, call.type(weight).dtype);
      is_small = call.add(Binary{BinaryFunction::Less}, {call.add(Unary{Function::Abs}, {weight}), half});
    }
    return call.add(Where{}, {is_small, near(), far()});
  }
  const double share = call.attrs.number("weight");
  const bool from_end = std::abs(share) >= 0.5;
  return from(from_end, call.add(Affine{from_end ? 1 - share : share, 0}, {way}));
}

Results lerp(FunctionCall& call) {
  const ValueId x = call.tensor("input"), end = call.tensor("end"), weight = call.optional("weight");
  if (call.failed()) return {};
  const DType dtype = call.type(x).dtype;
  return {
      cast_to(call, mixed(call, widened(call, x), widened(call, end), weight ? widened(call, weight) : weight), dtype)};
}

// At rest these hand on what they get; what they would do in training is kept. A layer for pictures, series or volumes may get
// one without a batch; Dropout2d takes that for a series with one.
template <Noise noise>
Results dropout(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size space = call.name == "Dropout1d" ? 1 : call.name == "Dropout3d" ? 3 : 0;
  const bool alone = space > 0 && call.rank(x) == space + 1;
  return {call.add(Dropout{noise, number_or_default(call, "p"), alone ? 0 : 1}, {x})};
}

constexpr std::string_view pair = "Tensor(input:T other:T) Scalar(input:T other:n)";
constexpr std::string_view scaled_pair = "Tensor(input:T other:T * alpha:n=1) Scalar(input:T other:n alpha:n=1)";
constexpr std::string_view either_pair =
    "Tensor(input:T other:T) Scalar(input:T other:n) Scalar_Tensor(input:n other:T)";
constexpr std::string_view either_shift = "Tensor(input:T other:T) Tensor_Scalar(input:T other:n)";
constexpr std::string_view tensors = "input:T other:T";
using enum BinaryFunction;
constexpr std::array rows_of_two_numbers{
    CatalogueRow{"torch.add", scaled_pair, add},
    CatalogueRow{"torch.sub torch.subtract", scaled_pair, sub},
    CatalogueRow{"torch.rsub", scaled_pair, reversed_sub},
    CatalogueRow{"torch.mul torch.multiply", pair, mul},
    CatalogueRow{"torch.true_divide", pair, divide},
    CatalogueRow{"torch.div torch.divide",
                 "Tensor(input:T other:T) Scalar(input:T other:n) Tensor_mode(input:T other:T * rounding_mode:s?) "
                 "Scalar_mode(input:T other:n * rounding_mode:s?)",
                 divide},
    CatalogueRow{"torch.floor_divide", "default(input:T other:T) Scalar(input:T other:n)", binary<FloorDivide>},
    CatalogueRow{"torch.remainder", either_pair, binary<Modulo>},
    CatalogueRow{"torch.fmod", pair, binary<Remainder>},
    CatalogueRow{"torch.eq", pair, binary<Equal>},
    CatalogueRow{"torch.ne", pair, binary<NotEqual>},
    CatalogueRow{"torch.lt", pair, binary<Less>},
    CatalogueRow{"torch.le", pair, binary<LessOrEqual>},
    CatalogueRow{"torch.gt", pair, binary<Greater>},
    CatalogueRow{"torch.ge", pair, binary<GreaterOrEqual>},
    CatalogueRow{"torch.logical_and", tensors, binary<And>},
    CatalogueRow{"torch.logical_or", tensors, binary<Or>},
    CatalogueRow{"torch.logical_xor", tensors, binary<Xor>},
    CatalogueRow{"torch.bitwise_and", either_pair, bits<And, BitAnd>},
    CatalogueRow{"torch.bitwise_or", either_pair, bits<Or, BitOr>},
    CatalogueRow{"torch.bitwise_xor", either_pair, bits<Xor, BitXor>},
    CatalogueRow{"torch.bitwise_not", "input:T", bits_not},
    CatalogueRow{"aten.__and__", pair, bits<And, BitAnd>},
    CatalogueRow{"aten.__or__", pair, bits<Or, BitOr>},
    CatalogueRow{"aten.__xor__", pair, bits<Xor, BitXor>},
    CatalogueRow{"torch.bitwise_left_shift", either_shift, shift<true>},
    CatalogueRow{"torch.bitwise_right_shift", either_shift, shift<false>},
    CatalogueRow{"aten.__lshift__", pair, shift<true>},
    CatalogueRow{"aten.__rshift__", pair, shift<false>},
    CatalogueRow{"torch.maximum", tensors, binary<Maximum>},
    CatalogueRow{"torch.minimum", tensors, binary<Minimum>},
    CatalogueRow{"aten.max", "other(input:T other:T)", binary<Maximum>},
    CatalogueRow{"aten.min", "other(input:T other:T)", binary<Minimum>},
    CatalogueRow{"torch.pow",
                 "Tensor_Tensor(input:T exponent:T) Tensor_Scalar(input:T exponent:n) Scalar(input:n exponent:T)",
                 power},
    CatalogueRow{"torch.lerp", "Scalar(input:T end:T weight:n) Tensor(input:T end:T weight:T)", lerp},
    CatalogueRow{"torch.where",
                 "self(condition:T input:T other:T) ScalarOther(condition:T input:T other:n) "
                 "ScalarSelf(condition:T input:n other:T) Scalar(condition:T input:n other:n)",
                 where},
    CatalogueRow{"torch.masked_fill", "Scalar(input:T mask:T value:n) Tensor(input:T mask:T value:T)", masked_fill},
    CatalogueRow{"torch.triu", "input:T diagonal:i=0", triangle<true>},
    CatalogueRow{"torch.tril", "input:T diagonal:i=0", triangle<false>},
    CatalogueRow{"torch.dropout nn.Dropout", "input:T p:f=0.5 aten/train:b inplace:b=False", dropout<Noise::Dropout>},
    CatalogueRow{"torch.feature_dropout nn.Dropout1d nn.Dropout2d nn.Dropout3d",
                 "input:T p:f=0.5 aten/train:b inplace:b=False", dropout<Noise::SpatialDropout>},
    CatalogueRow{"torch.alpha_dropout nn.AlphaDropout", "input:T p:f=0.5 aten/train:b inplace:b=False",
                 dropout<Noise::AlphaDropout>},
    CatalogueRow{"torch.feature_alpha_dropout nn.FeatureAlphaDropout", "input:T p:f=0.5 aten/train:b inplace:b=False",
                 dropout<Noise::FeatureAlphaDropout>},
};

// ---- how they are written

Status write_binary(const Binary& op, Call& c) {
  const Expression a = c.follow(0), b = c.follow(1);
  const int calls = a.calls + b.calls + 1;
  const auto infix = [&](const char* sign, Binds level, Binds right) {
    const bool compares = gives_truth(op.function);
    c.result({bound(a, level) + " " + sign + " " + bound(b, right),
              compares ? Binds::Conditional : level,
              calls,
              false,
              {}});
  };
  const auto call = [&](const char* name) {
    c.result({fmt::format("{}({}, {})", name, a.text, b.text), Binds::Atom, calls, false, {}});
  };
  const auto divided = [&](const char* rounding) {
    c.result({fmt::format("torch.div({}, {}, rounding_mode=\"{}\")", a.text, b.text, rounding),
              Binds::Atom,
              calls,
              false,
              {}});
  };
  const auto compared = [&](const char* sign) { infix(sign, Binds::Sum, Binds::Sum); };
  switch (op.function) {
    // x + (y + z) rounds in another order than x + y + z: what is on the right keeps its parentheses.
    case BinaryFunction::Add: infix("+", Binds::Sum, Binds::Product); break;
    case BinaryFunction::Subtract: infix("-", Binds::Sum, Binds::Product); break;
    case BinaryFunction::Multiply: infix("*", Binds::Product, Binds::Negation); break;
    case BinaryFunction::Divide: infix("/", Binds::Product, Binds::Negation); break;
    case BinaryFunction::Maximum: call("torch.maximum"); break;
    case BinaryFunction::Minimum: call("torch.minimum"); break;
    case BinaryFunction::Power: call("torch.pow"); break;
    case BinaryFunction::Modulo: call("torch.remainder"); break;
    case BinaryFunction::Remainder: call("torch.fmod"); break;
    case BinaryFunction::FloorDivide: divided("floor"); break;
    case BinaryFunction::TruncateDivide: divided("trunc"); break;
    case BinaryFunction::Equal: compared("=="); break;
    case BinaryFunction::NotEqual: compared("!="); break;
    case BinaryFunction::Less: compared("<"); break;
    case BinaryFunction::LessOrEqual: compared("<="); break;
    case BinaryFunction::Greater: compared(">"); break;
    case BinaryFunction::GreaterOrEqual: compared(">="); break;
    case BinaryFunction::And: call("torch.logical_and"); break;
    case BinaryFunction::Or: call("torch.logical_or"); break;
    case BinaryFunction::Xor: call("torch.logical_xor"); break;
    case BinaryFunction::BitAnd: call("torch.bitwise_and"); break;
    case BinaryFunction::BitOr: call("torch.bitwise_or"); break;
    case BinaryFunction::BitXor: call("torch.bitwise_xor"); break;
  }
  return {};
}

Status write_where(const Where&, Call& c) {
  const Expression a = c.follow(1), b = c.follow(2);
  const Expression condition = c.follow(0);
  const std::string truth = c.type(0).dtype == DType::Bool ? condition.text : postfix(condition) + ".bool()";
  c.result({fmt::format("torch.where({}, {}, {})", truth, a.text, b.text),
            Binds::Atom,
            a.calls + b.calls + condition.calls + 1,
            false,
            {}});
  return {};
}

// 0.00392156862745098 reads better as 1 / 255, which Python computes to the same number.
std::string factor(double value) {
  for (int n = 3; n <= 1024; ++n)
    if (1.0 / n == value && number(value).size() > 8) return fmt::format("(1 / {})", n);
  return number(value);
}

Status write_affine(const Affine& op, Call& c) {
  Expression x = c.follow(0);
  if (op.scale != 1) x = {bound(x, Binds::Product) + " * " + factor(op.scale), Binds::Product, x.calls + 1, false, {}};
  if (op.offset != 0)
    x = {bound(x, Binds::Sum) + (op.offset < 0 ? " - " : " + ") + number(std::abs(op.offset)),
         Binds::Sum,
         x.calls + 1,
         false,
         {}};
  c.result(x);
  return {};
}

Status write_dropout(const Dropout& op, Call& c) {
  const std::string rate = number(op.rate);
  const Size rank = c.type(0).rank();
  switch (op.noise) {
    case Noise::Augmentation: c.result(c.follow(0)); return {};
    case Noise::GaussianNoise: {
      const std::string x = c.name(0);
      c.result({fmt::format("{0} + torch.randn_like({0}) * {1} if self.training else {0}", x, rate), Binds::Conditional,
                3, false, "Gaussian noise"});
      return {};
    }
    case Noise::GaussianDropout: {
      const std::string x = c.name(0), deviation = number(std::sqrt(op.rate / (1 - op.rate)));
      c.result({fmt::format("{0} * (1 + torch.randn_like({0}) * {1}) if self.training else {0}", x, deviation),
                Binds::Conditional, 3, false, fmt::format("Gaussian dropout, rate {}", rate)});
      return {};
    }
    default: break;
  }
  const bool is_alpha = op.noise == Noise::AlphaDropout || op.noise == Noise::FeatureAlphaDropout;
  std::string kind = is_alpha ? "AlphaDropout" : "Dropout", comment;
  if (drops_channels(op) && (rank > 2 || op.channel == 0)) {  // else every number is a channel of its own
    if (op.channel == 1 && is_alpha) kind = "FeatureAlphaDropout";
    else if (op.channel == 1 && rank <= 5) kind = fmt::format("Dropout{}d", rank - 2);
    else if (op.channel == 0 && !is_alpha && (rank == 2 || rank == 4)) kind = fmt::format("Dropout{}d", rank - 1);
    else comment = "in training the source drops whole channels";
  }
  const std::string self = c.module(fmt::format("nn.{}({})", kind, rate), {}, std::move(comment));
  const Expression x = c.follow(0);
  c.result({self + "(" + x.text + ")", Binds::Atom, x.calls + 1, true, {}});
  return {};
}

Status write_identity(const Identity& op, Call& c) {
  const Expression x = c.follow(0);
  c.result(op.stops_gradient ? Expression{postfix(x) + ".detach()", Binds::Atom, x.calls + 1, true, {}} : x);
  return {};
}

Status write_cast(const Cast& op, Call& c) {
  const Expression x = c.follow(0);
  const std::string method = op.to == DType::F32   ? ".float()"
                             : op.to == DType::I64 ? ".long()"
                                                   : ".to(" + dtype(op.to) + ")";
  c.result({postfix(x) + method, Binds::Atom, x.calls + 1, true, {}});
  return {};
}

constexpr std::array elementwise_table{writes<write_binary>(),  writes<write_where>(),    writes<write_affine>(),
                                       writes<write_dropout>(), writes<write_identity>(), writes<write_cast>()};
static_assert(decides<Elementwise>(elementwise_table), "every elementwise operator needs one row: writes<> or lacks<>");

}  // namespace

std::span<const CatalogueRow> two_number_operators() { return rows_of_two_numbers; }

std::span<const Row> elementwise_rows() { return elementwise_table; }

}  // namespace convoy::torch
