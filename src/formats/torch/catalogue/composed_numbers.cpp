// Functions of PyTorch that are others, one behind another: of one number, of what is sorted, of neighbours and products.
#include "formats/torch/catalogue/arguments.h"
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

constexpr double endless = std::numeric_limits<double>::infinity();

// Operators on values and numbers, in the type of one of them.
class Arithmetic {
 public:
  Arithmetic(FunctionCall& call, ValueId like)
      : call_(call),
        dtype_(call.failed() ? DType::F32 : call.type(like).dtype) {}
  ValueId number(double value) { return number_constant(call_, "number", value, dtype_); }
  ValueId operator()(BinaryFunction function, ValueId a, ValueId b) { return call_.add(Binary{function}, {a, b}); }
  ValueId operator()(BinaryFunction function, ValueId a, double b) {
    return call_.add(Binary{function}, {a, number(b)});
  }
  ValueId operator()(Function function, ValueId a) { return call_.add(Unary{function}, {a}); }
  ValueId choose(ValueId where, ValueId a, ValueId b) { return call_.add(Where{}, {where, a, b}); }

 private:
  FunctionCall& call_;
  DType dtype_;
};

ValueId real_of(FunctionCall& call, std::string_view name = "input") {
  const ValueId x = call.tensor(name);
  if (call.failed() || is_floating(call.type(x).dtype)) return x;
  return call.add(Cast{DType::F32}, {x});
}

enum class Special : std::uint8_t { Infinite, Finite, Above, Below };
template <Special kind>
Results is_kind(FunctionCall& call) {
  const ValueId x = real_of(call);
  Arithmetic apply(call, x);
  if (kind == Special::Above) return {apply(BinaryFunction::Equal, x, endless)};
  if (kind == Special::Below) return {apply(BinaryFunction::Equal, x, -endless)};
  return {apply(kind == Special::Infinite ? BinaryFunction::Equal : BinaryFunction::Less, apply(Function::Abs, x),
                endless)};
}

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

// x log(y), 0 where x is 0.
Results xlogy(FunctionCall& call) {
  const ValueId x = call.tensor("input"), y = call.tensor("other");
  Arithmetic apply(call, y);
  const ValueId product = apply(BinaryFunction::Multiply, x, apply(Function::Log, y));
  const ValueId is_nothing = apply(BinaryFunction::And, Arithmetic(call, x)(BinaryFunction::Equal, x, 0.0),
                                   apply(BinaryFunction::Equal, y, y));
  return {apply.choose(is_nothing, apply.number(0), product)};
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
  const Size axis = axis_of(call, call.attrs.integer("dim", -1), call.rank(x)), k = call.attrs.integer("k");
  if (k < 1) call.refuse(Fault::Format, "argument 'k' is " + std::to_string(k));
  return cell_of(call, ranked(call, x, axis, k), k - 1, call.attrs.truth("keepdim", false));
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
  made[0] = apply.choose(apply(BinaryFunction::Equal, sum, sum), made[0], sum);
  return made;
}

// Between the two numbers at q of the way from the smallest to the largest.
Results quantile(FunctionCall& call) {
  ValueId x = call.tensor("input");
  const double q = call.attrs.number("q");
  const std::string way = call.attrs.word("interpolation", "linear");
  if (call.failed()) return {};
  const bool whole = !call.attrs.has("dim"), keeps = call.attrs.truth("keepdim", false);
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
  const ValueId first = at(low);
  if (low == high) return {first};
  Arithmetic apply(call, x);
  const ValueId apart = apply(BinaryFunction::Subtract, at(high), first);
  return {apply(BinaryFunction::Add, first, call.add(Affine{share, 0}, {apart}))};
}

// How many of the boundaries lie below a number, or below it and at it: its place among them. Truths are added up along a new axis.
ValueId place_among(FunctionCall& call, ValueId x, ValueId boundaries, bool right) {
  if (call.failed()) return {};
  if (call.rank(boundaries) != 1)
    call.refuse(Fault::Unsupported, "looks places up in other than one list of boundaries");
  const Size last = call.rank(x);
  const ValueId column = call.add(Unsqueeze{{last}}, {x});
  const ValueId is_over =
      call.add(Binary{right ? BinaryFunction::LessOrEqual : BinaryFunction::Less}, {boundaries, column});
  const ValueId count = call.add(Reduce{Reduction::Sum, {last}, false}, {call.add(Cast{DType::F32}, {is_over})});
  return call.add(Cast{call.attrs.truth("out_int32", false) ? DType::I32 : DType::I64}, {count});
}

Results bucketize(FunctionCall& call) {
  const ValueId x = call.tensor("input"), boundaries = call.tensor("boundaries");
  return {place_among(call, x, boundaries, call.attrs.truth("right", false))};
}

Results search_sorted(FunctionCall& call) {
  const ValueId boundaries = call.tensor("sorted_sequence"), x = call.tensor("input");
  const bool right = call.attrs.truth("right", false) || call.attrs.word("side", "left") == "right";
  if (call.optional("sorter")) call.refuse(Fault::Unsupported, "looks places up by a sorter");
  return {place_among(call, x, boundaries, right)};
}

Results take_along(FunctionCall& call) {
  ValueId x = call.tensor("input"), indices = call.tensor("indices");
  if (call.failed()) return {};
  if (!call.attrs.has("dim")) {
    x = call.add(Reshape{{-1}}, {x}), indices = call.add(Reshape{{-1}}, {indices});
    return {call.add(GatherElements{0}, {x, indices})};
  }
  if (call.rank(x) != call.rank(indices)) call.refuse(Fault::Format, "takes by indices of another rank");
  const Size axis = axis_of(call, call.attrs.integer("dim"), call.rank(x));
  for (Size i = 0; i < call.rank(x) && !call.failed(); ++i)
    if (i != axis && call.dim(x, i) != call.dim(indices, i))
      call.refuse(Fault::Unsupported, "takes by indices that are repeated along axis " + std::to_string(i));
  return {call.add(GatherElements{axis}, {x, indices})};
}

// ---- neighbours and products --------------------------------------------------------------------------------------------

// What each cell of an axis has over the one before it.
Results differences(FunctionCall& call) {
  ValueId x = call.tensor("input");
  const Size times = call.attrs.integer("n", 1);
  const Size axis = axis_of(call, call.attrs.integer("dim", -1), call.rank(x));
  if (call.optional("prepend") || call.optional("append"))
    call.refuse(Fault::Unsupported, "differences with cells put in front or behind");
  if (times < 0 || times > 64) call.refuse(Fault::Limit, "takes differences " + std::to_string(times) + " times");
  const bool of_truths = !call.failed() && call.type(x).dtype == DType::Bool;
  for (Size i = 0; i < times && !call.failed(); ++i)
    x = call.add(Binary{of_truths ? BinaryFunction::NotEqual : BinaryFunction::Subtract},
                 {call.add(Slice{axis, 1, {}, 1}, {x}), call.add(Slice{axis, {}, -1, 1}, {x})});
  return {x};
}

// The area under straight lines through evenly spaced cells.
Results trapezoid(FunctionCall& call) {
  const ValueId y = call.tensor("y");
  const double step = call.attrs.number("dx", 1.0);
  const Size axis = axis_of(call, call.attrs.integer("dim", -1), call.rank(y));
  const ValueId pairs = call.add(Binary{BinaryFunction::Add},
                                 {call.add(Slice{axis, 1, {}, 1}, {y}), call.add(Slice{axis, {}, -1, 1}, {y})});
  return {call.add(Affine{step / 2, 0}, {call.add(Reduce{Reduction::Sum, {axis}, false}, {pairs})})};
}

// Of three numbers along an axis: a1 b2 - a2 b1 and so on.
Results cross(FunctionCall& call) {
  const ValueId a = call.tensor("input"), b = call.tensor("other");
  if (call.failed()) return {};
  const Size rank = std::max(call.rank(a), call.rank(b));
  Size axis = call.attrs.integer("dim", -1);
  axis = axis_of(call, axis, rank);
  if (call.rank(a) != call.rank(b) || call.dim(a, axis) != Dim(3) || call.dim(b, axis) != Dim(3))
    call.refuse(Fault::Unsupported, "a cross product of other than three numbers each");
  if (call.failed()) return {};
  const auto turned = [&](ValueId x, Sizes order) { return call.add(Take{axis, std::move(order)}, {x}); };
  Arithmetic apply(call, a);
  const ValueId first = apply(BinaryFunction::Multiply, turned(a, {1, 2, 0}), turned(b, {2, 0, 1}));
  const ValueId second = apply(BinaryFunction::Multiply, turned(a, {2, 0, 1}), turned(b, {1, 2, 0}));
  return {apply(BinaryFunction::Subtract, first, second)};
}

// Sums over the axes of the one and of the other that stand at the same places of two lists.
Results tensordot(FunctionCall& call) {
  const ValueId a = call.tensor("input"), b = call.tensor("other");
  const Sizes over_a = call.attrs.list("dims_self"), over_b = call.attrs.list("dims_other");
  if (call.failed()) return {};
  if (over_a.size() != over_b.size() || call.rank(a) + call.rank(b) > 26)
    call.refuse(Fault::Format, "sums over unlike lists of axes");
  if (call.failed()) return {};
  std::string first, second, out;
  for (Size i = 0; i < call.rank(a); ++i) first += static_cast<char>('a' + i);
  for (Size i = 0; i < call.rank(b); ++i) second += static_cast<char>('a' + call.rank(a) + i);
  const std::string all = first + second;
  std::string summed;
  for (std::size_t i = 0; i < over_a.size(); ++i) {
    const Size at = axis_of(call, over_a[i], call.rank(a)), other = axis_of(call, over_b[i], call.rank(b));
    if (call.failed()) return {};
    summed += first[static_cast<std::size_t>(at)];
    summed += second[static_cast<std::size_t>(other)];
    second[static_cast<std::size_t>(other)] = first[static_cast<std::size_t>(at)];
  }
  for (const char c : all)
    if (summed.find(c) == std::string::npos) out += c;
  std::string equation = first;
  equation += "," + second + "->" + out;
  return {call.einsum(equation, {a, b})};
}

// Every number of the one times the whole of the other.
Results kron(FunctionCall& call) {
  const ValueId a = call.tensor("input"), b = call.tensor("other");
  if (call.failed()) return {};
  const Size rank = std::max(call.rank(a), call.rank(b));
  Sizes in_a, in_b, whole;
  const ValueId x = with_axes_in_front(call, a, rank), y = with_axes_in_front(call, b, rank);
  for (Size i = 0; i < rank && !call.failed(); ++i) {
    in_a.push_back(2 * i + 1), in_b.push_back(2 * i);
    whole.push_back(known_size(call, x, i) * known_size(call, y, i));
  }
  const ValueId product =
      call.add(Binary{BinaryFunction::Multiply}, {call.add(Unsqueeze{in_a}, {x}), call.add(Unsqueeze{in_b}, {y})});
  return {call.add(Reshape{whole}, {product})};
}

constexpr std::array rows_of_composed_numbers{
    CatalogueRow{"torch.isinf", "input:T", is_kind<Special::Infinite>},
    CatalogueRow{"torch.isfinite", "input:T", is_kind<Special::Finite>},
    CatalogueRow{"torch.isposinf", "input:T", is_kind<Special::Above>},
    CatalogueRow{"torch.isneginf", "input:T", is_kind<Special::Below>},
    CatalogueRow{"torch.exp2", "input:T", exp2},
    CatalogueRow{"torch.erfc", "input:T", erfc},
    CatalogueRow{"torch.logit", "input:T eps:f?=", logit},
    CatalogueRow{"torch.round", "default(input:T) decimals(input:T * decimals:i)", round, Function::Round},
    CatalogueRow{"torch.xlogy", "Tensor(input:T other:T)", xlogy},
    CatalogueRow{"torch.deg2rad", "input:T", angle_in<true>},
    CatalogueRow{"torch.rad2deg", "input:T", angle_in<false>},
    CatalogueRow{"torch.heaviside", "input:T values:T", heaviside},
    CatalogueRow{"torch.kthvalue", "input:T k:i dim:i=-1 keepdim:b=False -> TT", kth_value},
    CatalogueRow{"torch.median", "default(input:T)", median},
    CatalogueRow{"torch.median", "dim(input:T dim:i keepdim:b=False -> TT)", median},
    CatalogueRow{"torch.quantile", "scalar(input:T q:n dim:i?= keepdim:b=False * interpolation:s=linear)", quantile},
    CatalogueRow{"torch.bucketize", "Tensor(input:T boundaries:T * out_int32:b=False right:b=False)", bucketize},
    CatalogueRow{"torch.searchsorted",
                 "Tensor(sorted_sequence:T input:T * out_int32:b=False right:b=False side:s?= sorter:T?=)",
                 search_sorted},
    CatalogueRow{"torch.take_along_dim", "input:T indices:T dim:i?=", take_along},
    CatalogueRow{"torch.diff", "input:T n:i=1 dim:i=-1 prepend:T?= append:T?=", differences},
    CatalogueRow{"torch.trapezoid torch.trapz", "dx(y:T * dx:n=1 dim:i=-1)", trapezoid},
    CatalogueRow{"aten.linalg_cross", "input:T other:T * dim:i=-1", cross},
    CatalogueRow{"aten.tensordot", "input:T other:T dims_self:I dims_other:I", tensordot},
    CatalogueRow{"torch.kron", "input:T other:T", kron},
};

}  // namespace

std::span<const CatalogueRow> composed_number_operators() { return rows_of_composed_numbers; }

}  // namespace convoy::torch
