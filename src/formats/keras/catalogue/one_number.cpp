// Functions of one number by Keras's names.
#include "formats/keras/catalogue/write.h"
#include "ops/expect.h"

#include <array>
#include <cmath>
#include <limits>

namespace convoy::keras {
namespace {

// Of whole numbers in float32.
template <Function function>
Values rounded(Use& use) {
  ValueId x = use.x();
  if (!use.call.failed() && !is_floating(use.call.type(x).dtype)) x = use.call.add(Cast{DType::F32}, {x});
  return use.add(Unary{function}, {x});
}

// The logarithm to another base.
template <int base>
Values logarithm(Use& use) {
  return use.add(Affine{1 / std::log(static_cast<double>(base)), 0}, use.add(Unary{Function::Log}, {use.x()}));
}

Values round(Use& use) {
  Call& call = use.call;
  const double decimals = use.number("decimals");
  const ValueId x = use.x();
  if (call.failed() || decimals == 0) return use.add(Unary{Function::Round}, {x});
  if (!is_floating(call.type(x).dtype) || std::abs(decimals) > 30)
    call.refuse(Fault::Unsupported, "rounds whole numbers to decimals, or to more than 30");
  const ValueId factor = call.scalar("factor", static_cast<float>(std::pow(10.0, decimals)));
  const ValueId scaled = call.add(Binary{BinaryFunction::Multiply}, {x, factor}, "scaled");
  const ValueId rounded = call.add(Unary{Function::Round}, {scaled}, "rounded");
  return use.add(Binary{BinaryFunction::Divide}, {rounded, factor});
}

Values square(Use& use) { return use.add(Unary{Function::Square}, {without_truths(use, use.x())}); }

// max(min(x, x_max), x_min): where the bounds cross, x_min is left. Clip leaves the upper one.
Values clip(Use& use) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Clip op{use.option("x_min") ? use.number("x_min") : -infinity, use.option("x_max") ? use.number("x_max") : infinity};
  const ValueId x = without_truths(use, use.x());
  const DType dtype = use.call.failed() ? DType::F32 : use.call.type(x).dtype;
  if (!is_floating(dtype) && bytes_of(dtype) < 8) {
    const double least = least_of(dtype), numbers = std::ldexp(1, 8 * static_cast<int>(bytes_of(dtype)));
    for (std::optional<double>* bound : {&op.least, &op.most})  // held in the type, a bound outside wraps around
      if (std::isfinite(**bound)) **bound -= std::floor((**bound - least) / numbers) * numbers;
  }
  if (*op.least > *op.most) op.most = op.least;
  return use.add(op, {x});
}

constexpr std::array rows_of_one_number{
    one_number<Function::Log>("numpy.Log"),
    one_number<Function::Sqrt>("numpy.Sqrt"),
    one_number<Function::Rsqrt>("math.Rsqrt"),
    CatalogueRow{"numpy.Square", "x", square, Function::Square},
    one_number<Function::Abs>("numpy.Absolute numpy.Abs code.abs"),
    one_number<Function::Negate>("numpy.Negative"),
    one_number<Function::Sign>("numpy.Sign"),
    one_number<Function::Reciprocal>("numpy.Reciprocal"),
    one_number<Function::Sin>("numpy.Sin"),
    one_number<Function::Cos>("numpy.Cos"),
    one_number<Function::Tan>("numpy.Tan"),
    one_number<Function::Asin>("numpy.Arcsin"),
    one_number<Function::Acos>("numpy.Arccos"),
    one_number<Function::Atan>("numpy.Arctan"),
    one_number<Function::Sinh>("numpy.Sinh"),
    one_number<Function::Cosh>("numpy.Cosh"),
    one_number<Function::Asinh>("numpy.Arcsinh"),
    one_number<Function::Acosh>("numpy.Arccosh"),
    one_number<Function::Atanh>("numpy.Arctanh"),
    one_number<Function::Expm1>("numpy.Expm1"),
    one_number<Function::Log1p>("numpy.Log1p"),
    one_number<Function::Truncate>("numpy.Trunc"),
    one_number<Function::Erf>("math.Erf"),
    one_number<Function::Not>("numpy.LogicalNot"),
    CatalogueRow{"numpy.Floor", "x", rounded<Function::Floor>, Function::Floor},
    CatalogueRow{"numpy.Ceil", "x", rounded<Function::Ceil>, Function::Ceil},
    CatalogueRow{"numpy.Log2", "x", logarithm<2>},
    CatalogueRow{"numpy.Log10", "x", logarithm<10>},
    CatalogueRow{"numpy.Round", "x decimals=0", round, Function::Round},
    CatalogueRow{"numpy.Clip code.clip_by_value", "x x_min= x_max=", clip},
};

}  // namespace

std::span<const CatalogueRow> one_number_operators() { return rows_of_one_number; }

}  // namespace convoy::keras
