// Truth: comparisons, logic, choices by it, and what is said with them: Where, Not, IsNaN, IsInf, OneHot, Trilu.
#include "formats/onnx/arguments.h"

#include "formats/triangle.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

namespace convoy::onnx {
namespace {

using Results = std::vector<ValueId>;

Results compare(FunctionCall& call) {
  const ValueId a = call.tensor("A"), b = call.tensor("B");
  return {call.add(Binary{meaning_of<BinaryFunction>(call.name)}, {a, b})};
}

Results negate(FunctionCall& call) { return {call.add(Unary{Function::Not}, {call.tensor("X")})}; }

Results where(FunctionCall& call) {
  const ValueId condition = call.tensor("condition"), x = call.tensor("X"), y = call.tensor("Y");
  return {call.add(Where{}, {condition, x, y})};
}

// Nothing else is unlike itself.
Results is_nan(FunctionCall& call) {
  const ValueId x = call.tensor("X");
  return {call.add(Binary{BinaryFunction::NotEqual}, {x, x})};
}

Results is_infinite(FunctionCall& call) {
  const ValueId x = call.tensor("X");
  const bool negative = call.attrs.truth("detect_negative", true), positive = call.attrs.truth("detect_positive", true);
  const auto is = [&](float bound) {
    const ValueId number = call.make_constant("infinity", Tensor::of({}, std::vector<float>{bound}));
    return call.add(Binary{BinaryFunction::Equal}, {x, number});
  };
  constexpr float infinity = std::numeric_limits<float>::infinity();
  if (negative && positive) return {call.add(Binary{BinaryFunction::Or}, {is(-infinity), is(infinity)})};
  if (negative || positive) return {is(negative ? -infinity : infinity)};
  return {call.add(Binary{BinaryFunction::And}, {is(-infinity), is(infinity)})};  // never both
}

// 0, 1, 2, ... along `axis` of `rank` axes.
ValueId counting(FunctionCall& call, Size count, Size axis, Size rank, Size from = 0) {
  Sizes shape(static_cast<std::size_t>(rank), 1), values(static_cast<std::size_t>(count));
  shape[static_cast<std::size_t>(axis)] = count;
  std::iota(values.begin(), values.end(), from);
  return call.make_constant("places", Tensor::of(shape, std::move(values)));
}

bool fits(FunctionCall& call, Size count) {
  constexpr Size most = Size{1} << 23;
  if (count >= 0 && count <= most) return true;
  call.refuse(Fault::Limit, "a table of " + std::to_string(count) + " numbers, more than " + std::to_string(most));
  return false;
}

// on where a place along the new axis is the index, off elsewhere; negative indices count from the end.
Results one_hot(FunctionCall& call) {
  const ValueId indices = call.tensor("indices");
  const auto depth = known_number(call, "depth");
  const ValueId values = call.tensor("values");
  const Size rank = call.rank(indices) + 1, axis = axis_of(call, "axis", call.attrs.integer("axis", -1), rank);
  const Tensor* known = call.constant(values);
  if (!known || known->count() != 2) call.refuse(Fault::Unsupported, "input 'values' is not two known numbers");
  if (!depth) call.refuse(Fault::Unsupported, "input 'depth' is not known beforehand");
  if (call.failed() || !fits(call, static_cast<Size>(*depth))) return {};
  const auto count = static_cast<Size>(*depth);
  const Tensor both = *known;
  const auto choice = [&](std::size_t i) {
    const auto each = static_cast<std::size_t>(bytes_of(both.dtype()));
    const auto bytes = both.bytes().subspan(i * each, each);
    return call.make_constant(i == 0 ? "off" : "on", *Tensor::owning(both.dtype(), {}, {bytes.begin(), bytes.end()}));
  };
  const ValueId spread = call.add(Unsqueeze{{axis}}, {indices});
  const auto is = [&](Size from) {
    return call.add(Binary{BinaryFunction::Equal}, {spread, counting(call, count, axis, rank, from)});
  };
  const ValueId hot = call.add(Binary{BinaryFunction::Or}, {is(0), is(-count)});
  const ValueId on = choice(1), off = choice(0);
  return {call.add(Where{}, {hot, on, off})};
}

// The upper or lower triangle of the last two axes, zeros elsewhere.
Results triangle(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const auto diagonal = known_integers(call, "k");
  const bool upper = call.attrs.truth("upper", true);
  const Size k = diagonal && !diagonal->empty() ? diagonal->front() : 0;
  return {triangle_of(call, x, k, upper)};
}

// clang-format off
constexpr std::array comparison_table{
    Operator{"Equal", {}, "A B", "", compare, BinaryFunction::Equal},
    Operator{"Less", {}, "A B", "", compare, BinaryFunction::Less},
    Operator{"LessOrEqual", {12}, "A B", "", compare, BinaryFunction::LessOrEqual},
    Operator{"Greater", {}, "A B", "", compare, BinaryFunction::Greater},
    Operator{"GreaterOrEqual", {12}, "A B", "", compare, BinaryFunction::GreaterOrEqual},
    Operator{"And", {}, "A B", "", compare, BinaryFunction::And},
    Operator{"Or", {}, "A B", "", compare, BinaryFunction::Or},
    Operator{"Xor", {}, "A B", "", compare, BinaryFunction::Xor},
    Operator{"Not", {}, "X", "", negate, Function::Not},
    Operator{"Where", {9}, "condition X Y", "", where},
    Operator{"IsNaN", {9}, "X", "", is_nan},
    Operator{"IsInf", {10}, "X", "detect_negative:i detect_positive:i", is_infinite},
    Operator{"OneHot", {9}, "indices depth values", "axis:i", one_hot},
    Operator{"Trilu", {14}, "input k?", "upper:i", triangle}};
// clang-format on

}  // namespace

std::span<const Operator> comparison_operators() { return comparison_table; }

}  // namespace convoy::onnx
