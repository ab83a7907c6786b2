// Functions of PyTorch that are others, one behind another: of one number, of what is sorted, of neighbours and products.
#include "formats/torch/catalogue/arguments.h"
#include "formats/torch/catalogue/arithmetic.h"
#include "formats/torch/catalogue/aten.h"
#include "formats/torch/catalogue/catalogue.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace convoy::torch {
namespace {

using Results = std::vector<ValueId>;

ValueId real_of(FunctionCall& call, std::string_view name = "input") { return in_fractions(call, call.tensor(name)); }

Results exp2(FunctionCall& call) {
  const ValueId x = real_of(call);
  Arithmetic apply(call, x);
  return {apply(BinaryFunction::Power, apply.number(2), x)};
}

// t exp(-x^2 + p(t)) with t = 1 / (1 + |x| / 2), 2 minus that below 0: within 1.2e-7 of itself wherever it lies (Press and others,
// Numerical Recipes, erfcc); near 0, where 1 - erf(x) loses nothing, that.
Results erfc(FunctionCall& call) {
  constexpr std::array coefficients{0.17087277,  -0.82215223, 1.48851587, -1.13520398, 0.27886807,
                                    -0.18628806, 0.09678418,  0.37409196, 1.00002368,  -1.26551223};
  const ValueId x = real_of(call);
  Arithmetic apply(call, x);
  const ValueId size = apply(Function::Abs, x);
  const ValueId t = apply(Function::Reciprocal, call.add(Affine{0.5, 1}, {size}));
  ValueId sum = apply.number(coefficients.front());
  for (std::size_t i = 1; i < coefficients.size(); ++i)
    sum = apply(BinaryFunction::Add, apply(BinaryFunction::Multiply, sum, t), coefficients[i]);
  const ValueId power = apply(BinaryFunction::Subtract, sum, apply(Function::Square, size));
  const ValueId far = apply(BinaryFunction::Multiply, t, apply(Function::Exp, power));
  const ValueId near = call.add(Affine{-1, 1}, {apply(Function::Erf, x)});
  return {apply.choose(apply(BinaryFunction::Greater, x, 0.5), far, near)};
}

// log(x / (1 - x)), x kept from 0 and 1 by eps.
Results logit(FunctionCall& call) {
  ValueId x = real_of(call);
  if (call.attrs.has("eps")) {
    const double eps = call.attrs.number("eps");
    x = call.add(Clip{eps, 1 - eps}, {x});
  }
  Arithmetic apply(call, x);
  return {apply(Function::Log, apply(BinaryFunction::Divide, x, call.add(Affine{-1, 1}, {x})))};
}

// Source: ATen/native/cpu/UnaryOpsKernel.cpp, round_decimals_kernel.
Results round(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size decimals = call.attrs.integer("decimals", 0);
  if (call.failed() || decimals == 0) return {call.add(Unary{Function::Round}, {x})};
  if (decimals < -30 || decimals > 30 || !is_floating(call.type(x).dtype))
    call.refuse(Fault::Unsupported, "rounds whole numbers to decimals, or to more than 30");
  Arithmetic apply(call, x);
  const double ten = std::pow(10.0, static_cast<double>(std::abs(decimals)));
  const auto [there, back] = decimals > 0 ? std::pair{BinaryFunction::Multiply, BinaryFunction::Divide}
                                          : std::pair{BinaryFunction::Divide, BinaryFunction::Multiply};
  return {apply(back, apply(Function::Round, apply(there, x, ten)), ten)};
}

// A number in place of a tensor is of the other's type.
ValueId number_or_tensor(FunctionCall& call, std::string_view name, std::string_view other) {
  const ValueId x = call.optional(name);
  if (x) return x;
  const ValueId like = in_fractions(call, call.tensor(other));
  if (call.failed()) return {};
  return number_constant(call, name, call.attrs.number(name), call.type(like).dtype);
}

// x log(y) or x log(1 + y), 0 where x is 0.
template <Function logarithm>
Results times_logarithm(FunctionCall& call) {
  const auto [x, y] =
      promoted_to_fractions(call, number_or_tensor(call, "input", "other"), number_or_tensor(call, "other", "input"));
  Arithmetic apply(call, y);
  const ValueId product = apply(BinaryFunction::Multiply, x, apply(logarithm, y));
  const ValueId is_nothing = apply(BinaryFunction::And, Arithmetic(call, x)(BinaryFunction::Equal, x, 0.0),
                                   apply(BinaryFunction::Equal, y, y));
  return {apply.choose(is_nothing, apply.number(0), product)};
}

// log2(2^a + 2^b) as logaddexp has it.
Results logaddexp2(FunctionCall& call) {
  const ValueId a = call.tensor("input"), b = call.tensor("other");
  const auto scaled = [&](ValueId x, double factor) { return call.add(Affine{factor, 0}, {x}); };
  const auto sum = through(call, "logaddexp.default", Json::object(),
                           {{"input", scaled(a, std::numbers::ln2)}, {"other", scaled(b, std::numbers::ln2)}});
  if (call.failed()) return {};
  return {scaled(sum[0], std::numbers::log2e)};
}

// sin(pi x) / (pi x), 1 at 0.
Results sinc(FunctionCall& call) {
  const ValueId x = in_fractions(call, call.tensor("input"));
  Arithmetic apply(call, x);
  const ValueId turns = apply.scaled(x, std::numbers::pi);
  return {apply.choose(apply(BinaryFunction::Equal, x, 0.0), apply.number(1),
                       apply(BinaryFunction::Divide, apply(Function::Sin, turns), turns))};
}

// x 2^other
Results load_exponent(FunctionCall& call) {
  const ValueId x = call.tensor("input"), exponent = in_fractions(call, call.tensor("other"));
  Arithmetic apply(call, exponent);
  const ValueId power = apply(BinaryFunction::Power, 2.0, exponent);
  return through(call, "mul.Tensor", Json::object(), {{"input", x}, {"other", power}});
}

// A power in float64, whatever comes in.
Results float_power(FunctionCall& call) {
  const auto given = [&](std::string_view name) {
    if (const ValueId x = call.optional(name)) return cast_to(call, x, DType::F64);
    return number_constant(call, name, call.attrs.number(name), DType::F64);
  };
  const ValueId x = given("input"), exponent = given("exponent");
  return {call.add(Binary{BinaryFunction::Power}, {x, exponent})};
}

// The share of the normal distribution below x: (1 + erf(x / sqrt 2)) / 2.
Results normal_share(FunctionCall& call) {
  const ValueId x = in_fractions(call, call.tensor("input"));
  Arithmetic apply(call, x);
  return {apply.scaled(apply(Function::Erf, apply.scaled(x, 1 / std::numbers::sqrt2)), 0.5, 0.5)};
}

// -x log(x), 0 at 0, and below it minus infinity.
Results entropy(FunctionCall& call) {
  const ValueId x = in_fractions(call, call.tensor("input"));
  Arithmetic apply(call, x);
  const ValueId above = apply(BinaryFunction::Multiply, apply.scaled(x, -1), apply(Function::Log, x));
  const ValueId at_zero = apply.choose(apply(BinaryFunction::Equal, x, 0.0), apply.number(0), above);
  return {apply.choose(apply(BinaryFunction::Less, x, 0.0), apply.number(-endless), at_zero)};
}

// Degrees and radians.
template <bool to_radians>
Results angle_in(FunctionCall& call) {
  constexpr double radians = std::numbers::pi / 180;
  return {call.add(Affine{to_radians ? radians : 1 / radians, 0}, {real_of(call)})};
}

// 1 above 0, `values` at it, 0 elsewhere: of what is no number too.
Results heaviside(FunctionCall& call) {
  const ValueId x = call.tensor("input"), values = call.tensor("values");
  if (!call.failed() && call.type(x).dtype == DType::Bool) call.refuse(Fault::Unsupported, "of truths");
  Arithmetic apply(call, x);
  const ValueId side = apply.choose(apply(BinaryFunction::Greater, x, 0.0), apply.number(1), apply.number(0));
  return {apply.choose(apply(BinaryFunction::Equal, x, 0.0), values, side)};
}

// ---- what is sorted -----------------------------------------------------------------------------------------------------

struct Ranked {
  ValueId values, places;
  Size axis = 0;
};

// The `count` smallest along the axis, the smallest first; 0: all of them.
Ranked ranked(FunctionCall& call, ValueId x, Size axis, Size count) {
  const Size size = known_size(call, x, axis);
  if (call.failed()) return {};
  if (count > size || size < 1)
    call.refuse(Fault::Format, "takes number " + std::to_string(count) + " of " + std::to_string(size));
  const auto all = call.add_all(TopK{axis, count == 0 ? size : count, false, true}, {x});
  return call.failed() ? Ranked{} : Ranked{all[0], all[1], axis};
}

Results cell_of(FunctionCall& call, const Ranked& sorted, Size index, bool keeps) {
  Results made;
  for (const ValueId v : {sorted.values, sorted.places}) {
    if (made.size() == call.results) break;
    const ValueId cell = call.add(cell_at(sorted.axis, index), {v});
    made.push_back(keeps ? cell : call.add(Squeeze{{sorted.axis}}, {cell}));
  }
  return made;
}

Results kth_value(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size axis = axis_of(call, integer_or_default(call, "dim"), call.rank(x)), k = call.attrs.integer("k");
  if (k < 1) call.refuse(Fault::Format, "argument 'k' is " + std::to_string(k));
  return cell_of(call, ranked(call, x, axis, k), k - 1, truth_or_default(call, "keepdim"));
}

// The number in the middle, of two the smaller one; NaN where one is among them.
Results median(FunctionCall& call) {
  ValueId x = call.tensor("input");
  if (call.failed()) return {};
  const bool whole = !call.attrs.has("dim");
  if (whole) x = call.add(Reshape{{-1}}, {x});
  const Size axis = whole ? 0 : axis_of(call, call.attrs.integer("dim"), call.rank(x));
  const bool keeps = call.attrs.truth("keepdim", false);
  const Size middle = (known_size(call, x, axis) + 1) / 2;
  Results made = cell_of(call, ranked(call, x, axis, middle), middle - 1, keeps);
  if (call.failed() || !is_floating(call.type(x).dtype)) return made;
  Arithmetic apply(call, x);
  const ValueId sum = call.add(Reduce{Reduction::Maximum, {axis}, keeps}, {x});  // NaN where a number is
  const ValueId are_numbers = apply(BinaryFunction::Equal, sum, sum);
  made[0] = apply.choose(are_numbers, made[0], sum);
  if (made.size() > 1) {
    const ValueId is_none = cast_to(call, apply(BinaryFunction::NotEqual, x, x), DType::I32);
    const ValueId first = call.add(ArgExtreme{true, axis, keeps}, {is_none});
    made[1] = call.add(Where{}, {are_numbers, made[1], first});
  }
  return made;
}

// The same of those that are numbers: where they end hangs on how many they are.
Results nan_median(FunctionCall& call) {
  ValueId x = call.tensor("input");
  if (call.failed()) return {};
  if (!is_floating(call.type(x).dtype)) return median(call);
  const bool whole = !call.attrs.has("dim");
  if (whole) x = call.add(Reshape{{-1}}, {x});
  const Size axis = whole ? 0 : axis_of(call, call.attrs.integer("dim"), call.rank(x));
  const bool keeps = truth_or_default(call, "keepdim");
  Arithmetic apply(call, x);
  const ValueId is_number = apply(BinaryFunction::Equal, x, x);
  const ValueId numbers = apply.choose(is_number, x, apply.number(endless));
  const Ranked sorted = ranked(call, numbers, axis, 0);
  const ValueId count = apply.folded(Reduction::Sum, cast_to(call, is_number, DType::I64), {axis}, true);
  Arithmetic places(call, count);
  const ValueId before = places(BinaryFunction::FloorDivide, places(BinaryFunction::Subtract, count, 1.0), 2.0);
  const ValueId middle = places(BinaryFunction::Maximum, before, 0.0);
  Results made;
  for (const ValueId v : {sorted.values, sorted.places}) {
    if (made.size() == call.results) break;
    ValueId cell = call.add(GatherElements{axis}, {v, middle});
    if (made.empty())
      cell = apply.choose(places(BinaryFunction::Equal, count, 0.0),
                          apply.number(std::numeric_limits<double>::quiet_NaN()), cell);
    made.push_back(keeps ? cell : call.add(Squeeze{{axis}}, {cell}));
  }
  return made;
}

// Between the two numbers at q of the way from the smallest to the largest.
Results quantile(FunctionCall& call) {
  ValueId x = call.tensor("input");
  const double q = call.attrs.number("q");
  const std::string way = word_or_default(call, "interpolation");
  if (call.failed()) return {};
  const bool whole = !call.attrs.has("dim"), keeps = truth_or_default(call, "keepdim");
  if (whole && keeps) call.refuse(Fault::Unsupported, "keeps axes of a quantile of the whole");
  if (whole) x = call.add(Reshape{{-1}}, {x});
  const Size axis = whole ? 0 : axis_of(call, call.attrs.integer("dim"), call.rank(x));
  const double place = q * static_cast<double>(known_size(call, x, axis) - 1);
  if (call.failed() || q < 0 || q > 1) {
    call.refuse(Fault::Format, "argument 'q' is not between 0 and 1");
    return {};
  }
  double low = std::floor(place), high = std::ceil(place), share = place - low;
  if (way == "lower") high = low;
  else if (way == "higher") low = high;
  else if (way == "nearest") low = high = std::nearbyint(place);
  else if (way == "midpoint") share = 0.5;
  else if (way != "linear") call.refuse(Fault::Format, "argument 'interpolation' is '" + way + "'");
  const Ranked sorted = ranked(call, x, axis, static_cast<Size>(high) + 1);
  const auto at = [&](double index) {
    const ValueId cell = call.add(cell_at(axis, static_cast<Size>(index)), {sorted.values});
    return keeps ? cell : call.add(Squeeze{{axis}}, {cell});
  };
  ValueId cell = at(low);
  Arithmetic apply(call, x);
  if (low != high) {  // reckoned from the nearer of the two, as torch.lerp does
    const ValueId above = at(high), apart = apply(BinaryFunction::Subtract, above, cell);
    cell = share < 0.5 ? apply(BinaryFunction::Add, cell, apply.scaled(apart, share))
                       : apply(BinaryFunction::Subtract, above, apply.scaled(apart, 1 - share));
  }
  // Of a row with a NaN every quantile is NaN, wherever a sort lays it.
  const ValueId numbers = apply.folded(Reduction::Minimum, apply(BinaryFunction::Equal, x, x), {axis}, keeps);
  return {apply.choose(numbers, cell, apply.number(std::numeric_limits<double>::quiet_NaN()))};
}

// How many of the boundaries lie below a number, or below it and at it: its place among them. Truths are added up along a new axis.
// Boundaries of several axes are a list for each row of numbers.
ValueId place_among(FunctionCall& call, ValueId x, ValueId boundaries, bool right) {
  if (call.failed()) return {};
  const Size rank = call.rank(boundaries);
  if (rank < 1 || (rank > 1 && rank != call.rank(x)))
    call.refuse(Fault::Format, "looks places up in boundaries of " + std::to_string(rank) + " axes");
  const Size last = call.rank(x);
  const ValueId column = call.add(Unsqueeze{{last}}, {x});
  if (rank > 1) boundaries = call.add(Unsqueeze{{rank - 1}}, {boundaries});
  // It passes those that do not hold it back: NaN, which nothing is compared with, passes all of them.
  const ValueId holds_back =
      call.add(Binary{right ? BinaryFunction::Greater : BinaryFunction::GreaterOrEqual}, {boundaries, column});
  const ValueId passed = call.add(Unary{Function::Not}, {holds_back});
  const ValueId count = call.add(Reduce{Reduction::Sum, {last}, false}, {call.add(Cast{DType::F32}, {passed})});
  return call.add(Cast{call.attrs.truth("out_int32", false) ? DType::I32 : DType::I64}, {count});
}

Results bucketize(FunctionCall& call) {
  const ValueId boundaries = call.tensor("boundaries"), x = number_or_tensor(call, "input", "boundaries");
  return {place_among(call, x, boundaries, truth_or_default(call, "right"))};
}

Results search_sorted(FunctionCall& call) {
  ValueId boundaries = call.tensor("sorted_sequence");
  const ValueId x = number_or_tensor(call, "input", "sorted_sequence");
  const bool right = truth_or_default(call, "right") || call.attrs.word("side", "left") == "right";
  if (const ValueId sorter = call.optional("sorter"))  // the order in which they are sorted
    boundaries = call.add(GatherElements{call.rank(boundaries) - 1}, {boundaries, sorter});
  return {place_among(call, x, boundaries, right)};
}

// Of two tensors that one axis sets apart, each repeated along axes of size 1 to the other's.
Results take_along(FunctionCall& call) {
  ValueId x = call.tensor("input"), indices = call.tensor("indices");
  if (call.failed()) return {};
  if (!call.attrs.has("dim")) {
    x = call.add(Reshape{{-1}}, {x}), indices = call.add(Reshape{{-1}}, {indices});
    return {call.add(GatherElements{0}, {x, indices})};
  }
  if (call.rank(x) != call.rank(indices)) call.refuse(Fault::Format, "takes by indices of another rank");
  const Size axis = axis_of(call, call.attrs.integer("dim"), call.rank(x));
  const auto repeated = [&](ValueId one, ValueId other, Size i) {
    return call.dim(one, i) == Dim(1) ? call.add(Tile{i, known_size(call, other, i)}, {one}) : one;
  };
  for (Size i = 0; i < call.rank(x) && !call.failed(); ++i) {
    if (i == axis || call.dim(x, i) == call.dim(indices, i)) continue;
    x = repeated(x, indices, i);
    indices = repeated(indices, x, i);
  }
  return {call.add(GatherElements{axis}, {x, indices})};
}

// Whether each number is among others.
Results is_in(FunctionCall& call) {
  call.attrs.ignore({"assume_unique"});
  const bool invert = truth_or_default(call, "invert");
  const auto given = [&](std::string_view tensor, std::string_view number, std::string_view like) {
    if (const ValueId x = call.optional(tensor)) return x;
    return number_constant(call, number, call.attrs.number(number), call.type(call.tensor(like)).dtype);
  };
  const ValueId x = given("elements", "element", "test_elements"),
                among = given("test_elements", "test_element", "elements");
  if (call.failed()) return {};
  const Size last = call.rank(x);
  const ValueId equal =
      call.add(Binary{BinaryFunction::Equal}, {call.add(Unsqueeze{{last}}, {x}), call.add(Reshape{{-1}}, {among})});
  const ValueId any = call.add(Reduce{Reduction::Maximum, {last}, false}, {equal});
  return {invert ? call.add(Unary{Function::Not}, {any}) : any};
}

constexpr std::array rows_of_composed_numbers{
    CatalogueRow{"torch.exp2 aten.special_exp2", "input:T", exp2},
    CatalogueRow{"torch.erfc aten.special_erfc", "input:T", erfc},
    CatalogueRow{"torch.logit aten.special_logit", "input:T eps:f?=", logit},
    CatalogueRow{"torch.round", "default(input:T) decimals(input:T * decimals:i)", round, Function::Round},
    CatalogueRow{"torch.xlogy aten.special_xlogy",
                 "xlogy.Tensor(input:T other:T) xlogy.Scalar_Other(input:T other:n) xlogy.Scalar_Self(input:n other:T) "
                 "default(input:T other:T) other_scalar(input:T other:n) self_scalar(input:n other:T)",
                 times_logarithm<Function::Log>},
    CatalogueRow{"aten.special_xlog1py",
                 "default(input:T other:T) other_scalar(input:T other:n) self_scalar(input:n other:T)",
                 times_logarithm<Function::Log1p>},
    CatalogueRow{"torch.logaddexp2", "input:T other:T", logaddexp2},
    CatalogueRow{"torch.sinc aten.special_sinc", "input:T", sinc},
    CatalogueRow{"torch.ldexp", "Tensor(input:T other:T)", load_exponent},
    CatalogueRow{"torch.float_power",
                 "Tensor_Tensor(input:T exponent:T) Tensor_Scalar(input:T exponent:n) Scalar(input:n exponent:T)",
                 float_power},
    CatalogueRow{"aten.special_ndtr", "input:T", normal_share},
    CatalogueRow{"aten.special_entr", "input:T", entropy},
    CatalogueRow{"torch.deg2rad", "input:T", angle_in<true>},
    CatalogueRow{"torch.rad2deg", "input:T", angle_in<false>},
    CatalogueRow{"torch.heaviside", "input:T values:T", heaviside},
    CatalogueRow{"torch.kthvalue", "input:T k:i dim:i=-1 keepdim:b=False -> TT", kth_value},
    CatalogueRow{"torch.median", "default(input:T) dim(input:T dim:i keepdim:b=False -> TT)", median},
    CatalogueRow{"torch.nanmedian", "default(input:T) dim(input:T dim:i keepdim:b=False -> TT)", nan_median},
    CatalogueRow{"torch.quantile", "scalar(input:T q:n dim:i?= keepdim:b=False * interpolation:s='linear')", quantile},
    CatalogueRow{"torch.bucketize",
                 "Tensor(input:T boundaries:T * out_int32:b=False right:b=False) "
                 "Scalar(input:n boundaries:T * out_int32:b=False right:b=False)",
                 bucketize},
    CatalogueRow{"torch.searchsorted",
                 "Tensor(sorted_sequence:T input:T * out_int32:b=False right:b=False side:s?= sorter:T?=) "
                 "Scalar(sorted_sequence:T input:n * out_int32:b=False right:b=False side:s?= sorter:T?=)",
                 search_sorted},
    CatalogueRow{"torch.isin",
                 "Tensor_Tensor(elements:T test_elements:T * assume_unique:b=False invert:b=False) "
                 "Tensor_Scalar(elements:T test_element:n * assume_unique:b=False invert:b=False) "
                 "Scalar_Tensor(element:n test_elements:T * assume_unique:b=False invert:b=False)",
                 is_in},
    CatalogueRow{"torch.take_along_dim", "input:T indices:T dim:i?=", take_along},
};

}  // namespace

std::span<const CatalogueRow> composed_number_operators() { return rows_of_composed_numbers; }

}  // namespace convoy::torch
