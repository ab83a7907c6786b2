// Axes folded into one number, the places of extremes, running sums, and norms over the last axis.
#include "formats/tflite/catalogue/catalogue.h"
#include "formats/tflite/options.h"
#include "formats/tflite/types.h"
#include "formats/whole_arithmetic.h"

#include "ops/expect.h"

#include <algorithm>
#include <array>

namespace convoy::tflite {
namespace {

template <Reduction reduction>
std::vector<ValueId> reduce(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  Sizes axes = numbers(call, "axes");
  const bool keeps = call.attrs.truth("keep_dims", false);
  for (Size& axis : axes) axis = positive_axis(axis, call.rank(x));
  std::ranges::sort(axes);
  axes.erase(std::ranges::unique(axes).begin(), axes.end());
  if (reduction == Reduction::Mean && !call.failed() && !is_floating(call.type(x).dtype))
    return {mean_of_whole(call, x, axes, keeps)};
  return {call.add(Reduce{reduction, std::move(axes), keeps}, {x})};
}

// The places are of 32 bits.
std::vector<ValueId> top_k(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Sizes count = numbers(call, "k");
  if (!call.failed() && count.size() != 1) call.refuse(Fault::Format, "tensor 'k' holds " + text_of(count));
  if (call.failed()) return {};
  const auto both = call.add_all(TopK{call.rank(x) - 1, count[0], true, true}, {x});
  return call.failed() ? std::vector<ValueId>{} : std::vector<ValueId>{both[0], call.add(Cast{DType::I32}, {both[1]})};
}

template <bool largest>
std::vector<ValueId> arg_extreme(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Sizes axis = numbers(call, "axis");
  const auto to = dtype_of(call.attrs.integer("output_type", 4));
  if (!call.failed() && (axis.size() != 1 || !to || is_floating(*to)))
    call.refuse(Fault::Format,
                "tensor 'axis' holds " + text_of(axis) + ", expected one axis, and a type of whole numbers");
  if (call.failed()) return {};
  const ValueId place = call.add(ArgExtreme{largest, positive_axis(axis[0], call.rank(x)), false, false}, {x});
  return {*to == DType::I64 ? place : call.add(Cast{*to}, {place})};
}

std::vector<ValueId> running_sum(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Sizes axis = numbers(call, "axis");
  const bool exclusive = call.attrs.truth("exclusive", false), backwards = call.attrs.truth("reverse", false);
  if (!call.failed() && axis.size() != 1) call.refuse(Fault::Format, "tensor 'axis' holds " + text_of(axis));
  if (call.failed()) return {};
  return {call.add(Accumulate{Reduction::Sum, positive_axis(axis[0], call.rank(x)), exclusive, backwards}, {x})};
}

// x / max(|x|, 1e-6) over the last axis, as the kernel has it.
std::vector<ValueId> l2_normalization(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  return {activated(call, call.add(LengthNorm{{call.rank(x) - 1}, 2, 1e-6}, {x}))};
}

std::vector<ValueId> local_response(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size radius = call.attrs.integer("radius", 0);
  if (radius < 0 || radius > (1 << 24)) call.refuse(Fault::Format, "option 'radius' is " + std::to_string(radius));
  LocalResponseNorm norm{call.rank(x) - 1,
                         radius,
                         radius,
                         call.attrs.number("alpha", 0),
                         call.attrs.number("beta", 0),
                         call.attrs.number("bias", 0)};
  return {call.add(norm, {x})};
}

constexpr std::array reduction_table{
    Operator{"MEAN", 40, "input axes", 27, "keep_dims:b", reduce<Reduction::Mean>},
    Operator{"SUM", 74, "input axes", 27, "keep_dims:b", reduce<Reduction::Sum>},
    Operator{"REDUCE_MAX", 82, "input axes", 27, "keep_dims:b", reduce<Reduction::Maximum>},
    Operator{"REDUCE_MIN", 89, "input axes", 27, "keep_dims:b", reduce<Reduction::Minimum>},
    Operator{"REDUCE_PROD", 81, "input axes", 27, "keep_dims:b", reduce<Reduction::Product>},
    Operator{"REDUCE_ANY", 91, "input axes", 27, "keep_dims:b", reduce<Reduction::Maximum>},
    Operator{"REDUCE_ALL", 140, "input axes", 27, "keep_dims:b", reduce<Reduction::Minimum>},
    Operator{"ARG_MAX", 56, "input axis", 40, "output_type:b", arg_extreme<true>},
    Operator{"ARG_MIN", 79, "input axis", 57, "output_type:b", arg_extreme<false>},
    Operator{"TOPK_V2", 48, "input k", 34, "", top_k},
    Operator{"CUMSUM", 128, "input axis", 102, "exclusive:b reverse:b", running_sum},
    Operator{"L2_NORMALIZATION", 11, "input", 12, "fused_activation_function:b", l2_normalization},
    Operator{"LOCAL_RESPONSE_NORMALIZATION", 13, "input", 13, "radius:i bias:f alpha:f beta:f", local_response},
};

}  // namespace

std::span<const Operator> reduction_operators() { return reduction_table; }

}  // namespace convoy::tflite
