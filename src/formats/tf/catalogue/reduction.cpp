// Axes folded into one number each, the places of extremes, running sums and the largest few.
#include "formats/tf/arguments.h"
#include "formats/tf/catalogue/catalogue.h"
#include "formats/whole_arithmetic.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>

namespace convoy::tf {
namespace {

Sizes folded_axes(FunctionCall& call, ValueId x) {
  Sizes axes = numbers(call, "axis");
  for (Size& axis : axes) {
    const Size said = axis;
    axis = positive_axis(axis, call.rank(x));
    if (!call.failed() && (axis < 0 || axis >= call.rank(x)))
      call.refuse(Fault::Format, "axis " + std::to_string(said) + " is none of " + std::to_string(call.rank(x)));
  }
  std::ranges::sort(axes);
  axes.erase(std::ranges::unique(axes).begin(), axes.end());
  return axes;
}

std::vector<ValueId> reduce(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Sizes axes = folded_axes(call, x);
  const bool keeps = call.attrs.truth("keep_dims", false);
  if (axes.empty() && !call.failed()) return {call.add(Identity{}, {x})};
  if (call.name == "Mean" && !call.failed() && !is_floating(call.type(x).dtype))
    return {mean_of_whole(call, x, axes, keeps)};
  const ValueId y = call.add(Reduce{meaning_of<Reduction>(call), axes, keeps}, {x});
  const DType dtype = call.type(x).dtype;
  if (call.failed() || call.type(y).dtype == dtype) return {y};
  return {call.add(Cast{dtype}, {y})};
}

// The square root of the sum of squares.
std::vector<ValueId> euclidean_norm(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Sizes axes = folded_axes(call, x);
  const ValueId squares = call.add(Unary{Function::Square}, {x});
  const ValueId sum = call.add(Reduce{Reduction::Sum, axes, call.attrs.truth("keep_dims", false)}, {squares});
  return {call.add(Unary{Function::Sqrt}, {sum})};
}

Size one_axis(FunctionCall& call, ValueId x, const char* name) {
  const Sizes said = numbers(call, name);
  if (!call.failed() && said.size() != 1) call.refuse(Fault::Format, std::string("'") + name + "' is not one number");
  if (call.failed()) return 0;
  const Size axis = positive_axis(said[0], call.rank(x));
  if (axis < 0 || axis >= call.rank(x))
    call.refuse(Fault::Format, std::string("'") + name + "' is " + std::to_string(said[0]) + " of " +
                                   std::to_string(call.rank(x)) + " axes");
  return axis;
}

std::vector<ValueId> arg_extreme(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size axis = one_axis(call, x, "dimension");
  const std::string type = call.attrs.word("output_type", "int64");
  const ValueId place = call.add(ArgExtreme{call.name == "ArgMax", axis, false, false}, {x});
  return {type == "int32" ? call.add(Cast{DType::I32}, {place}) : place};
}

std::vector<ValueId> top_k(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  call.attrs.ignore({"sorted"});
  const Sizes count = numbers(call, "k");
  const std::string type = call.attrs.word("index_type", "int32");
  if (!call.failed() && (count.size() != 1 || count[0] < 1)) call.refuse(Fault::Format, "'k' is " + text_of(count));
  if (call.failed()) return {};
  const auto both = call.add_all(TopK{call.rank(x) - 1, count[0], true, true}, {x});
  if (both.size() != 2) return {};
  return {both[0], type == "int32" ? call.add(Cast{DType::I32}, {both[1]}) : both[1]};
}

std::vector<ValueId> accumulate(FunctionCall& call) {
  const ValueId x = call.tensor("x");
  const Size axis = one_axis(call, x, "axis");
  const bool exclusive = call.attrs.truth("exclusive", false), backwards = call.attrs.truth("reverse", false);
  return {call.add(Accumulate{call.name == "Cumsum" ? Reduction::Sum : Reduction::Product, axis, exclusive, backwards},
                   {x})};
}

constexpr Operator over_axes(std::string_view name, Reduction reduction) {
  return {.name = name, .inputs = "input axis", .read = reduce, .meaning = reduction};
}
constexpr std::array reduction_operator_table{
    over_axes("Mean", Reduction::Mean),
    over_axes("Sum", Reduction::Sum),
    over_axes("Max", Reduction::Maximum),
    over_axes("Min", Reduction::Minimum),
    over_axes("Prod", Reduction::Product),
    over_axes("All", Reduction::Minimum),
    over_axes("Any", Reduction::Maximum),
    Operator{.name = "EuclideanNorm", .inputs = "input axis", .read = euclidean_norm},
    Operator{.name = "ArgMax", .inputs = "input dimension", .read = arg_extreme, .types = "output_type"},
    Operator{.name = "ArgMin", .inputs = "input dimension", .read = arg_extreme, .types = "output_type"},
    Operator{.name = "TopKV2", .inputs = "input k", .read = top_k, .outputs = "values indices", .types = "index_type"},
    Operator{.name = "Cumsum", .inputs = "x axis", .read = accumulate},
    Operator{.name = "Cumprod", .inputs = "x axis", .read = accumulate},
};

}  // namespace

std::span<const Operator> reduction_operators() { return reduction_operator_table; }

}  // namespace convoy::tf
