// Axes folded into one number each, extremes' places, the largest few, running sums. No axis named means all.
#include "formats/onnx/arguments.h"
#include "formats/onnx/write/sink.h"
#include "formats/whole_arithmetic.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>

namespace convoy::onnx {
namespace {

struct Folding {
  Sizes axes;
  bool keeps_axes = true, nothing = false;
};

Folding fold_of(FunctionCall& call, ValueId x) {
  const auto argument = moved_integers(call, "axes");
  Folding fold;
  fold.keeps_axes = call.attrs.truth("keepdims", true);
  const bool noop = takes(call, "noop_with_empty_axes") && call.attrs.truth("noop_with_empty_axes", false);
  const bool none = !argument || argument->empty();
  fold.nothing = none && noop;
  fold.axes = none ? all_axes(call.rank(x)) : axes_of(call, "axes", *argument, call.rank(x));
  return fold;
}

std::vector<ValueId> reduce(FunctionCall& call) {
  const ValueId x = call.tensor("data");
  const Folding fold = fold_of(call, x);
  if (fold.nothing) return {call.add(Identity{}, {x})};
  if (call.name == "ReduceMean" && !call.failed() && !is_floating(call.type(x).dtype))
    return {mean_of_whole(call, x, fold.axes, fold.keeps_axes)};
  return {call.add(Reduce{meaning_of<Reduction>(call.name), fold.axes, fold.keeps_axes}, {x})};
}

// Those that apply a function before or after the sum.
std::vector<ValueId> reduce_by_sum(FunctionCall& call) {
  const ValueId x = call.tensor("data");
  const Folding fold = fold_of(call, x);
  if (fold.nothing) call.refuse(Fault::Unsupported, "attribute 'noop_with_empty_axes' without axes");
  const auto apply = [&](Function function, ValueId value) { return call.add(Unary{function}, {value}); };
  const auto sum = [&](ValueId value) { return call.add(Reduce{Reduction::Sum, fold.axes, fold.keeps_axes}, {value}); };
  if (call.name == "ReduceL1") return {sum(apply(Function::Abs, x))};
  if (call.name == "ReduceL2" && !call.failed() && !is_floating(call.type(x).dtype)) {
    const ValueId squares = call.add(Cast{DType::F64}, {sum(apply(Function::Square, x))});
    return {call.add(Cast{call.type(x).dtype}, {apply(Function::Sqrt, squares)})};
  }
  if (call.name == "ReduceL2") return {apply(Function::Sqrt, sum(apply(Function::Square, x)))};
  if (call.name == "ReduceSumSquare") return {sum(apply(Function::Square, x))};
  if (call.name == "ReduceLogSum") return {apply(Function::Log, sum(x))};
  return {call.log_sum_exp(x, fold.axes, fold.keeps_axes)};
}

std::vector<ValueId> arg_extreme(FunctionCall& call) {
  const ValueId x = call.tensor("data");
  const Size axis = axis_of(call, "axis", call.attrs.integer("axis", 0), std::max<Size>(call.rank(x), 1));
  const bool keeps = call.attrs.truth("keepdims", true);
  const bool last = takes(call, "select_last_index") && call.attrs.truth("select_last_index", false);
  return {call.add(ArgExtreme{call.name == "ArgMax", axis, keeps, last}, {x})};
}

// The count is an attribute until opset 9. Unsorted results may come in any order; sorted is one of them.
std::vector<ValueId> top_k(FunctionCall& call) {
  const ValueId x = call.tensor("X");
  const Size axis = axis_of(call, "axis", call.attrs.integer("axis", -1), std::max<Size>(call.rank(x), 1));
  const bool chooses = takes(call, "largest");
  const bool largest = !chooses || call.attrs.truth("largest", true);
  if (chooses) call.attrs.ignore({"sorted"});
  Size count = 0;
  if (takes(call, "k")) {
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
  const auto argument = known_integers(call, "axis");
  if (!argument || argument->size() != 1) call.refuse(Fault::Unsupported, "input 'axis' is not one known number");
  const bool exclusive = call.attrs.truth("exclusive", false), backwards = call.attrs.truth("reverse", false);
  if (call.failed()) return {};
  const Size axis = axis_of(call, "axis", argument->front(), std::max<Size>(call.rank(x), 1));
  const Reduction reduction = call.name == "CumSum" ? Reduction::Sum : Reduction::Product;
  return {call.add(Accumulate{reduction, axis, exclusive, backwards}, {x})};
}

// clang-format off
constexpr std::array reduction_table{
    Operator{"ReduceMean", {}, "data axes?@18", "axes:I@-17 keepdims:i noop_with_empty_axes:i@18", reduce, Reduction::Mean},
    Operator{"ReduceSum", {}, "data axes?@13", "axes:I@-12 keepdims:i noop_with_empty_axes:i@13", reduce, Reduction::Sum},
    Operator{"ReduceMax", {}, "data axes?@18", "axes:I@-17 keepdims:i noop_with_empty_axes:i@18", reduce, Reduction::Maximum},
    Operator{"ReduceMin", {}, "data axes?@18", "axes:I@-17 keepdims:i noop_with_empty_axes:i@18", reduce, Reduction::Minimum},
    Operator{"ReduceProd", {}, "data axes?@18", "axes:I@-17 keepdims:i noop_with_empty_axes:i@18", reduce, Reduction::Product},
    Operator{"ReduceL1", {}, "data axes?@18", "axes:I@-17 keepdims:i noop_with_empty_axes:i@18", reduce_by_sum},
    Operator{"ReduceL2", {}, "data axes?@18", "axes:I@-17 keepdims:i noop_with_empty_axes:i@18", reduce_by_sum},
    Operator{"ReduceSumSquare", {}, "data axes?@18", "axes:I@-17 keepdims:i noop_with_empty_axes:i@18", reduce_by_sum},
    Operator{"ReduceLogSum", {}, "data axes?@18", "axes:I@-17 keepdims:i noop_with_empty_axes:i@18", reduce_by_sum},
    Operator{"ReduceLogSumExp", {}, "data axes?@18", "axes:I@-17 keepdims:i noop_with_empty_axes:i@18", reduce_by_sum},
    Operator{"ArgMax", {}, "data", "axis:i keepdims:i select_last_index:i@12", arg_extreme},
    Operator{"ArgMin", {}, "data", "axis:i keepdims:i select_last_index:i@12", arg_extreme},
    Operator{"TopK", {}, "X K@10", "axis:i k:i@-9 largest:i@11 sorted:i@11", top_k, {}, {2, 2}},
    Operator{"CumSum", {11}, "x axis", "exclusive:i reverse:i", accumulate},
    Operator{"CumProd", {26}, "x axis", "exclusive:i reverse:i", accumulate}};
// clang-format on

// ---- written ----------------------------------------------------------------------------------------------------------

// The type in which ONNX Runtime adds up or compares numbers of this one: it adds up whole numbers of 32 and 64 bits alone,
// and compares bytes as well. Truths are compared from operator set 20 on: before, as numbers.
DType computed_in(DType dtype, bool adds) {
  switch (dtype) {
    case DType::I8:
    case DType::U8: return adds ? DType::I32 : dtype;
    case DType::Bool:
    case DType::I16:
    case DType::U16: return DType::I32;
    case DType::U32:
    case DType::U64: return DType::I64;
    default: return dtype;
  }
}

// The input in the type that is computed in.
std::string computable(Sink& sink, DType dtype) {
  if (sink.type().dtype == dtype) return sink.name();
  return sink.step("Cast", {sink.name()}, {{"to", data_type_of(dtype)}});
}

Status write_reduce(const Reduce& op, Sink& sink) {
  const std::string word(operator_for(op.reduction)->name);
  const DocumentAttribute keeps{"keepdims", Size{op.keeps_axes}};
  const bool compares = op.reduction == Reduction::Maximum || op.reduction == Reduction::Minimum;
  const DType own = sink.type().dtype, wanted = sink.result_type().dtype;
  const DType dtype = op.reduction == Reduction::Mean ? wanted : computed_in(own, !compares);
  if (dtype == own) return sink.last_with(word, sink.name(), "axes", op.axes, {keeps}), Status();
  const std::string numbers = computable(sink, dtype);
  if (dtype == wanted) return sink.last_with(word, numbers, "axes", op.axes, {keeps}), Status();
  sink.last("Cast", {sink.step_with(word, numbers, "axes", op.axes, {keeps})}, {{"to", data_type_of(wanted)}});
  return {};
}

Status write_arg_extreme(const ArgExtreme& op, Sink& sink) {
  if (op.last && !sink.takes("ArgMax", "select_last_index"))
    return sink.too_old("the last of equal extremes", "ArgMax", "select_last_index");
  Attributes attributes{{"axis", op.axis}, {"keepdims", Size{op.keeps_axis}}};
  if (op.last) attributes.emplace_back("select_last_index", Size{1});
  const std::string numbers = computable(sink, computed_in(sink.type().dtype, false));
  sink.last(op.largest ? "ArgMax" : "ArgMin", {numbers}, std::move(attributes));
  return {};
}

Status write_top_k(const TopK& op, Sink& sink) {
  if (computed_in(sink.type().dtype, false) != sink.type().dtype && sink.type().dtype != DType::I16)
    return sink.refused("the largest few of " + std::string(name_of(sink.type().dtype)));
  sink.last_of_many("TopK", {sink.name(), sink.numbers({op.count})},
                    {{"axis", op.axis}, {"largest", Size{op.largest}}, {"sorted", Size{1}}});
  return {};
}

Status write_accumulate(const Accumulate& op, Sink& sink) {
  if (op.reduction != Reduction::Sum) return sink.refused("a running product");
  const DType own = sink.type().dtype, wanted = sink.result_type().dtype;
  const DType dtype = own == DType::Bool ? wanted : computed_in(own, true);
  const std::string numbers = computable(sink, dtype);
  const std::string axis = sink.stored("axis", Tensor::of({}, std::vector<std::int64_t>{op.axis}));
  const Attributes attributes{{"exclusive", Size{op.exclusive}}, {"reverse", Size{op.backwards}}};
  if (dtype == wanted) return sink.last("CumSum", {numbers, axis}, attributes), Status();
  sink.last("Cast", {sink.step("CumSum", {numbers, axis}, attributes)}, {{"to", data_type_of(wanted)}});
  return {};
}

constexpr std::array reduction_writers{writes<write_reduce>(), writes<write_arg_extreme>(), writes<write_top_k>(),
                                       writes<write_accumulate>()};
static_assert(decides<ReductionFamily>(reduction_writers));

}  // namespace

std::span<const Operator> reduction_operators() { return reduction_table; }

std::span<const Row> reduction_rows() { return reduction_writers; }

}  // namespace convoy::onnx
