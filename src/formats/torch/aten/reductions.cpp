// Axes folded into one number each.
#include "formats/torch/aten/aten.h"
#include "formats/torch/functions/arguments.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

namespace convoy::torch {
namespace {

using Results = std::vector<ValueId>;

// No list, or an empty one: all axes.
Sizes axes(FunctionCall& call, ValueId x) {
  Sizes all = call.attrs.has("dim") ? call.attrs.list("dim") : Sizes();
  for (Size& axis : all) axis = axis_of(call, axis, call.rank(x));
  if (all.empty()) {
    all.resize(static_cast<std::size_t>(call.rank(x)));
    std::iota(all.begin(), all.end(), Size{0});
  }
  std::ranges::sort(all);
  return all;
}

template <Reduction reduction>
Results reduce(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Sizes over = axes(call, x);
  return {call.add(Reduce{reduction, over, call.attrs.truth("keepdim", false)}, {x})};
}

// The mean of the squares of what the mean leaves, divided by n - correction instead of n.
Results variance(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Sizes over = axes(call, x);
  const bool keeps = call.attrs.truth("keepdim", false);
  double correction = call.attrs.number("correction", 1);
  if (call.attrs.has("unbiased")) correction = call.attrs.truth("unbiased") ? 1 : 0;
  const ValueId mean = call.add(Reduce{Reduction::Mean, over, true}, {x});
  const ValueId centred = call.add(Binary{BinaryFunction::Subtract}, {x, mean});
  ValueId y = call.add(Reduce{Reduction::Mean, over, keeps}, {call.add(Unary{Function::Square}, {centred})});
  if (correction == 0) return {y};
  double count = 1;
  for (const Size axis : over) {
    const Dim size = call.dim(x, axis);
    if (!size.known()) call.refuse(Fault::Unsupported, "an unbiased variance over a size that is free");
    count *= size.known() ? static_cast<double>(*size) : 1;
  }
  return {call.add(Affine{count / (count - correction), 0}, {y})};
}

// (sum |x|^ord)^(1/ord)
Results vector_norm(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const double order = call.attrs.number("ord", 2.0);
  const Sizes over = axes(call, x);
  const bool keeps = call.attrs.truth("keepdim", false);
  if (order == 1) return {call.add(Reduce{Reduction::Sum, over, keeps}, {call.add(Unary{Function::Abs}, {x})})};
  if (order == std::numeric_limits<double>::infinity())
    return {call.add(Reduce{Reduction::Maximum, over, keeps}, {call.add(Unary{Function::Abs}, {x})})};
  if (order != 2) {
    call.refuse(Fault::Unsupported, "a norm of order " + std::to_string(order));
    return {};
  }
  const ValueId squares = call.add(Unary{Function::Square}, {x});
  return {call.add(Unary{Function::Sqrt}, {call.add(Reduce{Reduction::Sum, over, keeps}, {squares})})};
}

constexpr std::array rows{
    FunctionRow{"mean", "input dim keepdim", reduce<Reduction::Mean>},
    FunctionRow{"sum", "input dim keepdim", reduce<Reduction::Sum>},
    FunctionRow{"amax", "input dim keepdim", reduce<Reduction::Maximum>},
    FunctionRow{"amin", "input dim keepdim", reduce<Reduction::Minimum>},
    FunctionRow{"prod", "input dim keepdim", reduce<Reduction::Product>},
    FunctionRow{"max.default", "input", reduce<Reduction::Maximum>},
    FunctionRow{"min.default", "input", reduce<Reduction::Minimum>},
    FunctionRow{"var", "input dim correction keepdim", variance},
    FunctionRow{"linalg_vector_norm", "input ord dim keepdim", vector_norm},
};

}  // namespace

std::span<const FunctionRow> aten_reductions() { return rows; }

}  // namespace convoy::torch
