// Axes folded into one number each, extremes with their places, what is sorted, and running sums.
#include "formats/torch/aten/aten.h"
#include "formats/torch/functions/arguments.h"
#include "ops/expect.h"

#include <nlohmann/json.hpp>

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

// Whether any, or all, are not 0.
template <Reduction reduction>
Results truth(FunctionCall& call) {
  ValueId x = call.tensor("input");
  const Sizes over = axes(call, x);
  const bool of_bytes = !call.failed() && call.fact(x).dtype == DType::U8;  // whose answer is in bytes as well
  if (!call.failed() && call.fact(x).dtype != DType::Bool) x = call.add(Cast{DType::Bool}, {x});
  const ValueId y = call.add(Reduce{reduction, over, call.attrs.truth("keepdim", false)}, {x});
  return {of_bytes ? call.add(Cast{DType::U8}, {y}) : y};
}

// Sums and products of whole numbers are of 64 bits; a sum of truths counts them.
ValueId widened(FunctionCall& call, ValueId x) {
  const DType dtype = call.failed() ? DType::F32 : call.fact(x).dtype;
  return is_floating(dtype) || dtype == DType::I64 ? x : call.add(Cast{DType::I64}, {x});
}

template <Reduction reduction>
Results total(FunctionCall& call) {
  ValueId x = call.tensor("input");
  const std::string wanted = call.attrs.word("dtype", "");
  const Sizes over = axes(call, x);
  if (call.failed()) return {};
  if (!wanted.empty() && wanted != name_of(call.fact(x).dtype))
    call.refuse(Fault::Unsupported, "a sum or product in another type");
  else if (wanted.empty()) x = widened(call, x);
  return {call.add(Reduce{reduction, over, call.attrs.truth("keepdim", false)}, {x})};
}

// The mean of the squares of what the mean leaves, divided by n - correction instead of n.
ValueId variance_of(FunctionCall& call, ValueId x) {
  const Sizes over = axes(call, x);
  const bool keeps = call.attrs.truth("keepdim", false);
  double correction = call.attrs.number("correction", 1);
  if (call.attrs.has("unbiased")) correction = call.attrs.truth("unbiased") ? 1 : 0;
  const ValueId mean = call.add(Reduce{Reduction::Mean, over, true}, {x});
  const ValueId centred = call.add(Binary{BinaryFunction::Subtract}, {x, mean});
  ValueId y = call.add(Reduce{Reduction::Mean, over, keeps}, {call.add(Unary{Function::Square}, {centred})});
  if (correction == 0) return y;
  double count = 1;
  for (const Size axis : over) {
    const Dim size = call.dim(x, axis);
    if (!size.known()) call.refuse(Fault::Unsupported, "an unbiased variance over a size that is free");
    count *= size.known() ? static_cast<double>(*size) : 1;
  }
  return call.add(Affine{count / (count - correction), 0}, {y});
}
Results variance(FunctionCall& call) { return {variance_of(call, call.tensor("input"))}; }
Results deviation(FunctionCall& call) {
  return {call.add(Unary{Function::Sqrt}, {variance_of(call, call.tensor("input"))})};
}
template <bool root>
Results variance_and_mean(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const ValueId y = variance_of(call, x);
  const ValueId mean = call.add(Reduce{Reduction::Mean, axes(call, x), call.attrs.truth("keepdim", false)}, {x});
  return {root ? call.add(Unary{Function::Sqrt}, {y}) : y, mean};
}

// m + log(sum(exp(x - m))) with m the maximum, which cannot overflow.
Results log_sum_exp(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Sizes over = axes(call, x);
  const bool keeps = call.attrs.truth("keepdim", false);
  const ValueId most = call.add(Reduce{Reduction::Maximum, over, true}, {x});
  const ValueId left = call.add(Binary{BinaryFunction::Subtract}, {x, most});
  const ValueId sum = call.add(Reduce{Reduction::Sum, over, keeps}, {call.add(Unary{Function::Exp}, {left})});
  const ValueId shift = keeps ? most : call.add(Squeeze{over}, {most});
  return {call.add(Binary{BinaryFunction::Add}, {call.add(Unary{Function::Log}, {sum}), shift})};
}

// Without an axis: the place in the whole, counted in row-major order.
template <bool largest>
Results place_of_extreme(FunctionCall& call) {
  ValueId x = call.tensor("input");
  const bool keeps = call.attrs.truth("keepdim", false);
  if (call.attrs.has("dim")) {
    const Size axis = axis_of(call, call.attrs.integer("dim"), call.rank(x));
    return {call.add(ArgExtreme{largest, axis, keeps, false}, {x})};
  }
  if (keeps) call.refuse(Fault::Unsupported, "keeps axes of an extreme of the whole");
  x = call.add(Reshape{{-1}}, {x});
  return {call.add(ArgExtreme{largest, 0, false, false}, {x})};
}

template <bool largest>
Results extreme_with_place(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size axis = axis_of(call, call.attrs.integer("dim"), call.rank(x));
  const bool keeps = call.attrs.truth("keepdim", false);
  const ValueId value = call.add(Reduce{largest ? Reduction::Maximum : Reduction::Minimum, {axis}, keeps}, {x});
  if (call.results < 2) return {value};
  return {value, call.add(ArgExtreme{largest, axis, keeps, false}, {x})};
}

Results top_k(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size axis = axis_of(call, call.attrs.integer("dim", -1), call.rank(x)), count = call.attrs.integer("k");
  const bool largest = call.attrs.truth("largest", true);
  call.attrs.ignore({"sorted"});
  return call.add_all(TopK{axis, count, largest, false}, {x});
}

// All numbers of an axis in order: the largest n of n.
Results sort(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size axis = axis_of(call, call.attrs.integer("dim", -1), call.rank(x));
  call.attrs.ignore({"stable"});  // on a processor it always is
  const bool descending = call.attrs.truth("descending", false);
  const Dim size = call.dim(x, axis);
  if (!size.known()) call.refuse(Fault::Unsupported, "sorts an axis whose size is free");
  if (call.failed()) return {};
  Results both = call.add_all(TopK{axis, *size, descending}, {x});
  if (call.name == "argsort" && both.size() == 2) return {both[1]};
  return both;
}

template <Reduction reduction>
Results accumulate(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size axis = axis_of(call, call.attrs.integer("dim"), call.rank(x));
  const std::string wanted = call.attrs.word("dtype", "");
  if (!wanted.empty() && wanted != name_of(call.fact(x).dtype))
    call.refuse(Fault::Unsupported, "running sums in another type");
  return {call.add(Accumulate{reduction, axis, false, false}, {wanted.empty() ? widened(call, x) : x})};
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

constexpr std::array reductions_table{
    FunctionRow{"mean", "input dim keepdim", reduce<Reduction::Mean>},
    FunctionRow{"sum", "input dim keepdim", total<Reduction::Sum>},
    FunctionRow{"amax", "input dim keepdim", reduce<Reduction::Maximum>},
    FunctionRow{"amin", "input dim keepdim", reduce<Reduction::Minimum>},
    FunctionRow{"prod", "input dim keepdim", total<Reduction::Product>},
    FunctionRow{"max.default", "input", reduce<Reduction::Maximum>},
    FunctionRow{"min.default", "input", reduce<Reduction::Minimum>},
    FunctionRow{"max.dim", "input dim keepdim", extreme_with_place<true>},
    FunctionRow{"min.dim", "input dim keepdim", extreme_with_place<false>},
    FunctionRow{"any", "input dim keepdim", truth<Reduction::Maximum>},
    FunctionRow{"all", "input dim keepdim", truth<Reduction::Minimum>},
    FunctionRow{"argmax", "input dim keepdim", place_of_extreme<true>},
    FunctionRow{"argmin", "input dim keepdim", place_of_extreme<false>},
    FunctionRow{"topk", "input k dim largest sorted", top_k},
    FunctionRow{"sort", "input dim descending stable", sort},
    FunctionRow{"argsort", "input dim descending stable", sort},
    FunctionRow{"cumsum", "input dim", accumulate<Reduction::Sum>},
    FunctionRow{"cumprod", "input dim", accumulate<Reduction::Product>},
    FunctionRow{"logsumexp", "input dim keepdim", log_sum_exp},
    FunctionRow{"std", "input dim correction keepdim", deviation},
    FunctionRow{"var_mean", "input dim correction keepdim", variance_and_mean<false>},
    FunctionRow{"std_mean", "input dim correction keepdim", variance_and_mean<true>},
    FunctionRow{"var", "input dim correction keepdim", variance},
    FunctionRow{"linalg_vector_norm", "input ord dim keepdim", vector_norm},
};

}  // namespace

std::span<const FunctionRow> aten_reductions() { return reductions_table; }

}  // namespace convoy::torch
