// Axes folded into one number each, extremes' places, the largest few, running sums. Axes are an attribute until opset 17 (of ReduceSum until 12) and an input since;
// none named means all.
#include "formats/onnx/arguments.h"

#include "ops/expect.h"

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

struct NamedReduction {
  std::string_view word;
  Reduction reduction;
};
constexpr NamedReduction plain[] = {{"ReduceMean", Reduction::Mean},
                                    {"ReduceSum", Reduction::Sum},
                                    {"ReduceMax", Reduction::Maximum},
                                    {"ReduceMin", Reduction::Minimum},
                                    {"ReduceProd", Reduction::Product}};

std::vector<ValueId> reduce(FunctionCall& call) {
  const ValueId x = call.tensor("data");
  const Fold fold = fold_of(call, x);
  if (fold.nothing) return {call.add(Identity{}, {x})};
  const Reduction reduction = std::ranges::find(plain, call.name, &NamedReduction::word)->reduction;
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

std::vector<ValueId> arg_extreme(FunctionCall& call) {
  const ValueId x = call.tensor("data");
  const Size axis = axis_of(call, "axis", call.attrs.integer("axis", 0), std::max<Size>(call.rank(x), 1));
  const bool keeps = call.attrs.truth("keepdims", true);
  const bool last = call.opset >= 12 && call.attrs.truth("select_last_index", false);
  return {call.add(ArgExtreme{call.name == "ArgMax", axis, keeps, last}, {x})};
}

// The count is an attribute until opset 9. Unsorted results may come in any order; sorted is one of them.
std::vector<ValueId> top_k(FunctionCall& call) {
  const ValueId x = call.tensor("X");
  const Size axis = axis_of(call, "axis", call.attrs.integer("axis", -1), std::max<Size>(call.rank(x), 1));
  const bool chooses = call.opset >= 11;
  const bool largest = !chooses || call.attrs.truth("largest", true);
  if (chooses) call.attrs.ignore({"sorted"});
  Size count = 0;
  if (call.opset < 10) {
    count = call.attrs.integer("k");
  } else {
    const auto known = known_integers(call, "K");
    if (!known || known->size() != 1) call.refuse(Fault::Unsupported, "input 'K' is not one known number");
    else count = known->front();
  }
  return call.add_all(TopK{axis, count, largest}, {x});
}

std::vector<ValueId> accumulate(FunctionCall& call) {
  const ValueId x = call.tensor("x");
  const auto said = known_integers(call, "axis");
  if (!said || said->size() != 1) call.refuse(Fault::Unsupported, "input 'axis' is not one known number");
  const bool exclusive = call.attrs.truth("exclusive", false), backwards = call.attrs.truth("reverse", false);
  if (call.failed()) return {};
  const Size axis = axis_of(call, "axis", said->front(), std::max<Size>(call.rank(x), 1));
  const Reduction reduction = call.name == "CumSum" ? Reduction::Sum : Reduction::Product;
  return {call.add(Accumulate{reduction, axis, exclusive, backwards}, {x})};
}

constexpr std::array reduction_table{FunctionRow{"ReduceMean", "data axes", reduce},
                                     FunctionRow{"ReduceSum", "data axes", reduce},
                                     FunctionRow{"ReduceMax", "data axes", reduce},
                                     FunctionRow{"ReduceMin", "data axes", reduce},
                                     FunctionRow{"ReduceProd", "data axes", reduce},
                                     FunctionRow{"ReduceL1", "data axes", reduce_by_sum},
                                     FunctionRow{"ReduceL2", "data axes", reduce_by_sum},
                                     FunctionRow{"ReduceSumSquare", "data axes", reduce_by_sum},
                                     FunctionRow{"ReduceLogSum", "data axes", reduce_by_sum},
                                     FunctionRow{"ReduceLogSumExp", "data axes", reduce_by_sum},
                                     FunctionRow{"ArgMax", "data", arg_extreme},
                                     FunctionRow{"ArgMin", "data", arg_extreme},
                                     FunctionRow{"TopK", "X K", top_k},
                                     FunctionRow{"CumSum", "x axis", accumulate},
                                     FunctionRow{"CumProd", "x axis", accumulate}};

}  // namespace

std::span<const FunctionRow> reduction_functions() { return reduction_table; }

}  // namespace convoy::onnx
