// What a cell of an axis has over the one before it, areas, and running extremes and logarithms of sums: functions of the cells up
// to each one.
#include "formats/torch/catalogue/arguments.h"
#include "formats/torch/catalogue/arithmetic.h"
#include "formats/torch/catalogue/catalogue.h"
#include "ops/expect.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

namespace convoy::torch {
namespace {

using Results = std::vector<ValueId>;
using enum BinaryFunction;

ValueId behind_first(FunctionCall& call, ValueId x, Size axis) { return call.add(Slice{axis, 1, {}, 1}, {x}); }
ValueId before_last(FunctionCall& call, ValueId x, Size axis) { return call.add(Slice{axis, {}, -1, 1}, {x}); }

ValueId step_over(FunctionCall& call, ValueId x, Size axis) {
  const bool of_truths = !call.failed() && call.type(x).dtype == DType::Bool;
  return call.add(Binary{of_truths ? NotEqual : Subtract}, {behind_first(call, x, axis), before_last(call, x, axis)});
}

Results differences(FunctionCall& call) {
  ValueId x = call.tensor("input");
  const Size times = integer_or_default(call, "n");
  const Size axis = axis_of(call, integer_or_default(call, "dim"), call.rank(x));
  if (times < 0 || times > 64) call.refuse(Fault::Limit, "takes differences " + std::to_string(times) + " times");
  const ValueId before = call.optional("prepend"), behind = call.optional("append");
  Results parts{before, x, behind};
  std::erase(parts, ValueId{});
  if (times > 0 && parts.size() > 1)
    if (const auto whole = through(call, "cat.default", {{"dim", axis}}, listed("tensors", parts)); !call.failed())
      x = whole[0];
  for (Size i = 0; i < times && !call.failed(); ++i) x = step_over(call, x, axis);
  return {x};
}

// The areas under straight lines from cell to cell, which are a step apart, or as far as the places say.
ValueId areas(FunctionCall& call, ValueId y, Size axis) {
  const ValueId pairs = call.add(Binary{Add}, {behind_first(call, y, axis), before_last(call, y, axis)});
  ValueId places = call.optional("x");
  if (!places || call.failed()) return call.add(Affine{call.attrs.number("dx", 1.0) / 2, 0}, {pairs});
  if (call.rank(places) == 1) {
    Sizes behind(static_cast<std::size_t>(call.rank(y) - axis - 1));
    std::iota(behind.begin(), behind.end(), Size{1});
    if (!behind.empty()) places = call.add(Unsqueeze{behind}, {places});
  } else {
    places = with_axes_in_front(call, places, call.rank(y));
  }
  const Size of_places = call.rank(places) - (call.rank(y) - axis);
  const ValueId steps = step_over(call, places, of_places);
  return call.add(Affine{0.5, 0}, {call.add(Binary{Multiply}, {pairs, steps})});
}

Results trapezoid(FunctionCall& call) {
  const ValueId y = call.tensor("y");
  const Size axis = axis_of(call, integer_or_default(call, "dim"), call.rank(y));
  return {call.add(Reduce{Reduction::Sum, {axis}, false}, {areas(call, y, axis)})};
}
Results running_trapezoid(FunctionCall& call) {
  const ValueId y = call.tensor("y");
  const Size axis = axis_of(call, integer_or_default(call, "dim"), call.rank(y));
  return {call.add(Accumulate{Reduction::Sum, axis, false, false}, {areas(call, y, axis)})};
}

// The slope at each cell of an axis: through its neighbours, and at the ends through the two or three cells there.
ValueId slope(FunctionCall& call, ValueId x, Size axis, double step, bool by_three) {
  const Size size = known_size(call, x, axis);
  if (size < (by_three ? 3 : 2)) call.refuse(Fault::Format, "slopes along an axis of " + std::to_string(size));
  if (call.failed()) return {};
  Arithmetic apply(call, x);
  const auto cell = [&](Size index) { return call.add(cell_at(axis, index), {x}); };
  const auto end = [&](Size first, Size second, Size third, double sign) {
    if (!by_three) return apply.scaled(apply(Subtract, cell(second), cell(first)), sign / step);
    const ValueId near = apply.scaled(apply(Subtract, cell(second), cell(first)), 2 * sign / step);
    const ValueId far = apply.scaled(apply(Subtract, cell(third), cell(first)), sign / (2 * step));
    return apply(Subtract, near, far);
  };
  Results parts{end(0, 1, 2, 1)};
  if (size > 2)
    parts.push_back(apply.scaled(
        apply(Subtract, call.add(Slice{axis, 2, {}, 1}, {x}), call.add(Slice{axis, {}, -2, 1}, {x})), 0.5 / step));
  parts.push_back(end(size - 1, size - 2, size - 3, -1));
  return call.add(Concat{axis}, parts);
}

Results gradient(FunctionCall& call) {
  const ValueId x = in_fractions(call, call.tensor("input"));
  const Size order = call.attrs.integer("edge_order", 1);
  if (order != 1 && order != 2) call.refuse(Fault::Format, "argument 'edge_order' is neither 1 nor 2");
  if (!call.several("spacing").empty())
    call.refuse(Fault::Unsupported, "slopes between cells whose places are a tensor");
  if (call.failed()) return {};
  const Json* dim = call.attrs.raw("dim");
  Sizes over = all_axes(call, x);
  if (dim && dim->is_array()) over = call.attrs.list("dim");
  else if (dim && !dim->is_null()) over = {call.attrs.integer("dim")};
  const Json* spacing = call.attrs.raw("spacing");
  std::vector<double> steps(over.size(), 1);
  if (spacing && spacing->is_array()) {
    steps.clear();
    for (const Json& one : *spacing) steps.push_back(call.attrs.number_of(&one, "spacing"));
  }
  if (spacing && spacing->is_number()) std::ranges::fill(steps, call.attrs.number("spacing"));
  if (steps.size() != over.size()) call.refuse(Fault::Format, "as many steps as axes are wanted");
  if (call.failed()) return {};
  Results all;
  for (std::size_t i = 0; i < over.size(); ++i)
    all.push_back(slope(call, x, axis_of(call, over[i], call.rank(x)), steps[i], order == 2));
  return all;
}

// ---- running ------------------------------------------------------------------------------------------------------------

constexpr Size longest = 2048;  // as every cell is set beside every one before it

// x [..., n, ...] as [..., n, n, ...]: for each cell of the axis those up to it, itself again in place of those behind it.
ValueId cells_up_to(FunctionCall& call, ValueId x, Size axis) {
  const Size size = known_size(call, x, axis);
  if (size > longest) call.refuse(Fault::Limit, "running extremes of " + std::to_string(size) + " cells");
  if (call.failed()) return {};
  Take take{axis, {}};
  for (Size i = 0; i < size; ++i)
    for (Size k = 0; k < size; ++k) take.indices.push_back(std::min(i, k));
  Sizes to;
  for (Size i = 0; i < call.rank(x); ++i) {
    to.push_back(i == axis ? size : call.dim(x, i).size().value_or(i < axis ? 0 : -1));
    if (i == axis) to.push_back(size);
  }
  if (std::ranges::count(to, Size{-1}) > 1)
    call.refuse(Fault::Unsupported, "several sizes beside the axis are free; give the input a size");
  return call.add(Reshape{to}, {call.add(take, {x})});
}

// And where it lies: of equal ones the last.
template <bool largest>
Results running_extreme(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size axis = axis_of(call, call.attrs.integer("dim"), call.rank(x));
  const ValueId cells = cells_up_to(call, x, axis);
  const ValueId extreme =
      call.add(Reduce{largest ? Reduction::Maximum : Reduction::Minimum, {axis + 1}, false}, {cells});
  if (call.results < 2) return {extreme};
  const ValueId last = call.add(ArgExtreme{largest, axis + 1, false, true}, {cells});
  const Size size = known_size(call, x, axis);
  if (call.failed()) return {};
  std::vector<std::int64_t> own(static_cast<std::size_t>(size));
  std::iota(own.begin(), own.end(), 0);
  Sizes shape(static_cast<std::size_t>(call.rank(x)), 1);
  shape[static_cast<std::size_t>(axis)] = size;
  return {extreme, call.add(Binary{Minimum}, {last, call.make_constant("places", Tensor::of(shape, std::move(own)))})};
}

Results running_log_sum_exp(FunctionCall& call) {
  ValueId x = in_fractions(call, call.tensor("input"));
  const Size rank = call.rank(x);
  if (rank == 0) return {x};
  const Size axis = axis_of(call, call.attrs.integer("dim"), rank), size = known_size(call, x, axis);
  if (size > longest) call.refuse(Fault::Limit, "running sums of exponentials of " + std::to_string(size) + " cells");
  if (call.failed()) return {};
  Sizes order = all_axes(call, x);
  std::swap(order[static_cast<std::size_t>(axis)], order.back());
  if (axis != rank - 1) x = call.add(Transpose{order}, {x});
  std::vector<std::byte> counts;
  for (Size i = 0; i < size; ++i)
    for (Size k = 0; k < size; ++k) counts.push_back(static_cast<std::byte>(k <= i));
  const ValueId mask = call.make_constant("counts", *Tensor::owning(DType::Bool, {size, size}, std::move(counts)));
  Arithmetic apply(call, x);
  const ValueId nothing = apply.number(-std::numeric_limits<double>::infinity());
  const ValueId cells = apply.choose(mask, call.add(Unsqueeze{{rank - 1}}, {x}), nothing);
  const auto sums = through(call, "logsumexp.default", {{"dim", Json::array({rank})}}, {{"input", cells}});
  if (call.failed()) return {};
  return {axis == rank - 1 ? sums[0] : call.add(Transpose{order}, {sums[0]})};
}

constexpr std::string_view slopes =
    "scalarint(input:T * spacing:n?= dim:i?= edge_order:i=1 -> L) scalararray(input:T * spacing:n dim:I edge_order:i=1 "
    "-> L) "
    "array(input:T * dim:I edge_order:i=1 -> L) scalarrayint(input:T * spacing:F dim:i?= edge_order:i=1 -> L) "
    "scalarrayarray(input:T * spacing:F dim:I edge_order:i=1 -> L)";
constexpr std::array rows_of_neighbours{
    CatalogueRow{"torch.diff", "input:T n:i=1 dim:i=-1 prepend:T?= append:T?=", differences},
    CatalogueRow{"torch.trapezoid torch.trapz", "x(y:T x:T * dim:i=-1) dx(y:T * dx:n=1 dim:i=-1)", trapezoid},
    CatalogueRow{"torch.cumulative_trapezoid", "x(y:T x:T * dim:i=-1) dx(y:T * dx:n=1 dim:i=-1)", running_trapezoid},
    CatalogueRow{"aten.gradient", slopes, gradient},
    CatalogueRow{"torch.cummax", "input:T dim:i -> TT", running_extreme<true>},
    CatalogueRow{"torch.cummin", "input:T dim:i -> TT", running_extreme<false>},
    CatalogueRow{"torch.logcumsumexp", "input:T dim:i", running_log_sum_exp},
};

}  // namespace

std::span<const CatalogueRow> neighbour_operators() { return rows_of_neighbours; }

}  // namespace convoy::torch
