// Axes folded into one number each. Axes are an attribute until opset 17 (of ReduceSum until 12) and an input since;
// none named means all.
#include "formats/onnx/arguments.h"

#include <algorithm>
#include <array>

namespace convoy::onnx {
namespace {

struct Fold {
  Sizes axes;
  bool keeps_axes = true, nothing = false;
};

Fold fold_of(FunctionCall& call, ValueId x) {
  const Size input_since = call.name == "ReduceSum" ? 13 : 18;
  const auto said = moved_integers(call, "axes", input_since);
  Fold fold;
  fold.keeps_axes = call.attrs.truth("keepdims", true);
  const bool noop = call.opset >= input_since && call.attrs.truth("noop_with_empty_axes", false);
  const bool none = !said || said->empty();
  fold.nothing = none && noop;
  fold.axes = none ? all_axes(call.rank(x)) : axes_of(call, "axes", *said, call.rank(x));
  return fold;
}

struct Named {
  std::string_view word;
  Reduction reduction;
};
constexpr Named plain[] = {{"ReduceMean", Reduction::Mean},
                           {"ReduceSum", Reduction::Sum},
                           {"ReduceMax", Reduction::Maximum},
                           {"ReduceMin", Reduction::Minimum},
                           {"ReduceProd", Reduction::Product}};

std::vector<ValueId> reduce(FunctionCall& call) {
  const ValueId x = call.tensor("data");
  const Fold fold = fold_of(call, x);
  if (fold.nothing) return {call.add(Identity{}, {x})};
  const Reduction reduction = std::ranges::find(plain, call.name, &Named::word)->reduction;
  return {call.add(Reduce{reduction, fold.axes, fold.keeps_axes}, {x})};
}

// Those that apply a function before or after the sum.
std::vector<ValueId> reduce_by_sum(FunctionCall& call) {
  const ValueId x = call.tensor("data");
  const Fold fold = fold_of(call, x);
  if (fold.nothing) call.refuse(Fault::Unsupported, "attribute 'noop_with_empty_axes' without axes");
  const auto apply = [&](Function function, ValueId value) { return call.add(Unary{function}, {value}); };
  const auto sum = [&](ValueId value) { return call.add(Reduce{Reduction::Sum, fold.axes, fold.keeps_axes}, {value}); };
  if (call.name == "ReduceL1") return {sum(apply(Function::Abs, x))};
  if (call.name == "ReduceL2") return {apply(Function::Sqrt, sum(apply(Function::Square, x)))};
  if (call.name == "ReduceSumSquare") return {sum(apply(Function::Square, x))};
  if (call.name == "ReduceLogSum") return {apply(Function::Log, sum(x))};
  // log(sum(exp(x))) = m + log(sum(exp(x - m))) with m the maximum, which cannot overflow.
  const ValueId most = call.add(Reduce{Reduction::Maximum, fold.axes, true}, {x});
  const ValueId left = call.add(Binary{BinaryFunction::Subtract}, {x, most});
  const ValueId logarithm = apply(Function::Log, sum(apply(Function::Exp, left)));
  const ValueId shift = fold.keeps_axes ? most : call.add(Squeeze{fold.axes}, {most});
  return {call.add(Binary{BinaryFunction::Add}, {logarithm, shift})};
}

constexpr std::array rows{FunctionRow{"ReduceMean", "data axes", reduce},
                          FunctionRow{"ReduceSum", "data axes", reduce},
                          FunctionRow{"ReduceMax", "data axes", reduce},
                          FunctionRow{"ReduceMin", "data axes", reduce},
                          FunctionRow{"ReduceProd", "data axes", reduce},
                          FunctionRow{"ReduceL1", "data axes", reduce_by_sum},
                          FunctionRow{"ReduceL2", "data axes", reduce_by_sum},
                          FunctionRow{"ReduceSumSquare", "data axes", reduce_by_sum},
                          FunctionRow{"ReduceLogSum", "data axes", reduce_by_sum},
                          FunctionRow{"ReduceLogSumExp", "data axes", reduce_by_sum}};

}  // namespace

std::span<const FunctionRow> reduction_functions() { return rows; }

}  // namespace convoy::onnx
