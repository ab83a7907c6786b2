// Functions that look at what is special about a number: its sign, also that of a zero, whether it is infinite or none at all.
#include "formats/torch/catalogue/arguments.h"
#include "formats/torch/catalogue/arithmetic.h"
#include "formats/torch/catalogue/catalogue.h"
#include "ops/expect.h"

#include <nlohmann/json.hpp>

#include <array>
#include <numbers>

namespace convoy::torch {
namespace {

using Results = std::vector<ValueId>;
using enum BinaryFunction;

ValueId is_none(FunctionCall& call, ValueId x) { return call.add(Binary{NotEqual}, {x, x}); }
Results is_nan(FunctionCall& call) { return {is_none(call, call.tensor("input"))}; }

enum class SpecialNumber : std::uint8_t { Infinite, Finite, Above, Below };
template <SpecialNumber kind>
Results is_kind(FunctionCall& call) {
  const ValueId x = in_fractions(call, call.tensor("input"));
  Arithmetic apply(call, x);
  if (kind == SpecialNumber::Above) return {apply(Equal, x, endless)};
  if (kind == SpecialNumber::Below) return {apply(Equal, x, -endless)};
  return {apply(kind == SpecialNumber::Infinite ? Equal : Less, apply(Function::Abs, x), endless)};
}

// Truths as large as x.
Results all_true(FunctionCall& call) {
  return through(call, "ones_like.default", {{"dtype", "bool"}}, {{"input", call.tensor("input")}});
}

// NaN and the infinities become numbers, the largest ones of the type where none are said.
Results nan_to_num(FunctionCall& call) {
  ValueId x = call.tensor("input");
  if (call.failed() || !is_floating(call.type(x).dtype)) return {x};
  const DType dtype = call.type(x).dtype;
  const double most = largest_finite(dtype);
  if (dtype == DType::BF16) call.refuse(Fault::Unsupported, "numbers in place of NaN in bfloat16");
  Arithmetic apply(call, x);
  const double for_nan = call.attrs.number("nan", 0.0), above = call.attrs.number("posinf", most),
               below = call.attrs.number("neginf", -most);
  x = apply.choose(is_none(call, x), apply.number(for_nan), x);
  x = apply.choose(apply(Equal, x, endless), apply.number(above), x);
  return {apply.choose(apply(Equal, x, -endless), apply.number(below), x)};
}

// The larger or smaller of two, or the one that is a number.
template <BinaryFunction extreme>
Results extreme_number(FunctionCall& call) {
  const auto [a, b] = promoted(call, call.tensor("input"), call.tensor("other"));
  if (call.failed()) return {};
  const ValueId both = call.add(Binary{extreme}, {a, b});
  if (!is_floating(call.type(a).dtype)) return {both};
  Arithmetic apply(call, a);
  return {apply.choose(is_none(call, a), b, apply.choose(is_none(call, b), a, both))};
}

// Below 0, or the zero whose reciprocal is; what is no number counts as above.
ValueId is_negative(FunctionCall& call, ValueId x) {
  Arithmetic apply(call, x);
  const ValueId below = apply(Less, x, 0.0);
  if (call.failed() || !is_floating(call.type(x).dtype)) return below;
  return apply(Or, below, apply(Less, apply(Function::Reciprocal, x), 0.0));
}

Results sign_bit(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  if (!call.failed() && (is_unsigned(call.type(x).dtype) || call.type(x).dtype == DType::Bool))
    return through(call, "zeros_like.default", {{"dtype", "bool"}}, {{"input", x}});
  return {is_negative(call, x)};
}

// The size of the one under the sign of the other.
Results copy_sign(FunctionCall& call) {
  ValueId x = call.tensor("input"), other = call.optional("other");
  if (other) x = promoted(call, x, other).a;
  x = in_fractions(call, x);
  Arithmetic apply(call, x);
  if (!other) other = apply.number(call.attrs.number("other"));
  const bool has_sign = !call.failed() && !is_unsigned(call.type(other).dtype) && call.type(other).dtype != DType::Bool;
  const ValueId size = apply(Function::Abs, x);
  if (call.failed()) return {};
  const ValueId negative = has_sign ? is_negative(call, other) : apply(Less, cast_to(call, other, DType::I64), 0.0);
  return {apply.choose(negative, apply(Function::Negate, size), size)};
}

// Half a turn below 0, none elsewhere.
Results angle(FunctionCall& call) {
  const ValueId x = in_fractions(call, call.tensor("input"));
  Arithmetic apply(call, x);
  const ValueId turned = apply.choose(apply(Less, x, 0.0), apply.number(std::numbers::pi), apply.number(0));
  return {apply.choose(is_none(call, x), x, turned)};
}

// Equal, or finite and no further apart than atol + |rtol other|.
Results is_close(FunctionCall& call) {
  const ValueId a = call.tensor("input"), b = call.tensor("other");
  const double rtol = call.attrs.number("rtol", 1e-5), atol = call.attrs.number("atol", 1e-8);
  const bool with_nan = call.attrs.truth("equal_nan", false);
  if (call.failed()) return {};
  if (call.type(a).dtype != call.type(b).dtype) call.refuse(Fault::Format, "compares tensors of unlike types");
  const auto both = [&](BinaryFunction function, ValueId x, ValueId y) { return call.add(Binary{function}, {x, y}); };
  ValueId close = both(Equal, a, b);
  if (with_nan && !call.failed() && is_floating(call.type(a).dtype))
    close = both(Or, close, both(And, is_none(call, a), is_none(call, b)));
  if (rtol == 0 && atol == 0) return {close};
  const ValueId x = in_fractions(call, a), y = in_fractions(call, b);
  Arithmetic apply(call, x);
  const ValueId actual = apply(Function::Abs, apply(Subtract, x, y));
  const ValueId allowed = apply.scaled(apply(Function::Abs, apply.scaled(y, rtol)), 1, atol);
  return {apply(Or, close, apply(And, apply(Less, actual, endless), apply(LessOrEqual, actual, allowed)))};
}

// ---- folded without what is no number -----------------------------------------------------------------------------------

ValueId without_none(FunctionCall& call, ValueId x, double instead) {
  if (call.failed() || !is_floating(call.type(x).dtype)) return x;
  Arithmetic apply(call, x);
  return apply.choose(is_none(call, x), apply.number(instead), x);
}

Results nan_sum(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  Json plain{{"dim", reduced_axes(call, x)}, {"keepdim", truth_or_default(call, "keepdim")}};
  if (const auto asked = asked_type(call)) plain["dtype"] = name_of(*asked);
  return through(call, "sum.dim_IntList", plain, {{"input", without_none(call, x, 0)}});
}

Results nan_mean(FunctionCall& call) {
  ValueId x = call.tensor("input");
  if (const auto asked = asked_type(call)) x = cast_to(call, x, *asked);
  if (!call.failed() && !is_floating(call.type(x).dtype)) call.refuse(Fault::Format, "takes no whole numbers");
  const Sizes over = reduced_axes(call, x);
  const bool keeps = truth_or_default(call, "keepdim");
  Arithmetic apply(call, x);
  const ValueId one = apply.choose(is_none(call, x), apply.number(0), apply.number(1));
  const ValueId count = apply.folded(Reduction::Sum, one, over, keeps);
  return {apply(Divide, apply.folded(Reduction::Sum, without_none(call, x, 0), over, keeps), count)};
}

Results count_nonzero(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Sizes over = reduced_axes(call, x);
  Arithmetic apply(call, x);
  const bool are_truths = !call.failed() && call.type(x).dtype == DType::Bool;
  const ValueId counts = cast_to(call, are_truths ? x : apply(NotEqual, x, 0.0), DType::I64);
  return {apply.folded(Reduction::Sum, counts, over)};
}

constexpr std::string_view comparison = "input:T other:T rtol:f=1e-05 atol:f=1e-08 equal_nan:b=False";
constexpr std::array rows_of_special_numbers{
    CatalogueRow{"torch.isnan", "input:T", is_nan},
    CatalogueRow{"torch.isinf", "input:T", is_kind<SpecialNumber::Infinite>},
    CatalogueRow{"torch.isfinite", "input:T", is_kind<SpecialNumber::Finite>},
    CatalogueRow{"torch.isposinf", "input:T", is_kind<SpecialNumber::Above>},
    CatalogueRow{"torch.isneginf", "input:T", is_kind<SpecialNumber::Below>},
    CatalogueRow{"torch.isreal", "input:T", all_true},
    CatalogueRow{"torch.isclose", comparison, is_close},
    CatalogueRow{"torch.nan_to_num", "input:T nan:f?= posinf:f?= neginf:f?=", nan_to_num},
    CatalogueRow{"torch.fmax", "input:T other:T", extreme_number<Maximum>},
    CatalogueRow{"torch.fmin", "input:T other:T", extreme_number<Minimum>},
    CatalogueRow{"torch.signbit", "input:T", sign_bit},
    CatalogueRow{"torch.copysign", "Tensor(input:T other:T) Scalar(input:T other:n)", copy_sign},
    CatalogueRow{"torch.angle", "input:T", angle},
    CatalogueRow{"torch.nansum", "input:T dim:I?= keepdim:b=False * dtype:t?=", nan_sum},
    CatalogueRow{"torch.nanmean", "input:T dim:I?= keepdim:b=False * dtype:t?=", nan_mean},
    CatalogueRow{"torch.count_nonzero", "dim_IntList(input:T dim:I) default(input:T dim:i?=)", count_nonzero},
};

}  // namespace

std::span<const CatalogueRow> special_number_operators() { return rows_of_special_numbers; }

}  // namespace convoy::torch
