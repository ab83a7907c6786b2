// Reductions over axes; where all spatial axes go, the word is global pooling.
#include "formats/onnx/write/sink.h"

#include <array>

namespace convoy::onnx {
namespace {

const char* word_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::Mean: return "ReduceMean";
    case Reduction::Sum: return "ReduceSum";
    case Reduction::Maximum: return "ReduceMax";
    case Reduction::Minimum: return "ReduceMin";
    case Reduction::Product: return "ReduceProd";
  }
  std::unreachable();
}

// Axes are an attribute until operator set 18; those of a sum until 13.
Status write_reduce(const Reduce& op, Sink& sink) {
  const Size since = op.reduction == Reduction::Sum ? 13 : 18;
  const DocumentAttribute keeps{"keepdims", Size{op.keeps_axes}};
  if (sink.fact().dtype == DType::Bool) {  // truths are compared from operator set 20 on: before, as numbers
    constexpr Size float32 = 1, int32 = 6, truth = 9;
    const bool is_mean = op.reduction == Reduction::Mean;
    const std::string numbers = sink.step("Cast", {sink.name()}, {{"to", is_mean ? float32 : int32}});
    const std::string reduced = sink.opset() < since
                                    ? sink.step(word_of(op.reduction), {numbers}, {{"axes", op.axes}, keeps})
                                    : sink.step(word_of(op.reduction), {numbers, sink.numbers(op.axes)}, {keeps});
    sink.last("Cast", {reduced}, {{"to", is_mean ? float32 : truth}});
    return {};
  }
  if (sink.opset() < since) sink.last(word_of(op.reduction), {sink.name()}, {{"axes", op.axes}, keeps});
  else sink.last(word_of(op.reduction), {sink.name(), sink.numbers(op.axes)}, {keeps});
  return {};
}

Status write_arg_extreme(const ArgExtreme& op, Sink& sink) {
  if (op.last && sink.opset() < 12) return sink.too_old("the last of equal extremes", 12);
  Attributes attributes{{"axis", op.axis}, {"keepdims", Size{op.keeps_axis}}};
  if (op.last) attributes.emplace_back("select_last_index", Size{1});
  sink.last(op.largest ? "ArgMax" : "ArgMin", {sink.name()}, std::move(attributes));
  return {};
}

Status write_top_k(const TopK& op, Sink& sink) {
  sink.last_of_many("TopK", {sink.name(), sink.numbers({op.count})},
                    {{"axis", op.axis}, {"largest", Size{op.largest}}, {"sorted", Size{1}}});
  return {};
}

Status write_accumulate(const Accumulate& op, Sink& sink) {
  if (op.reduction != Reduction::Sum) return sink.refused("a running product");
  sink.last("CumSum", {sink.name(), sink.stored("axis", Tensor::of({}, std::vector<std::int64_t>{op.axis}))},
            {{"exclusive", Size{op.exclusive}}, {"reverse", Size{op.backwards}}});
  return {};
}

constexpr std::array reduction_table{writes<write_reduce>(), writes<write_arg_extreme>(), writes<write_top_k>(),
                                     writes<write_accumulate>()};
static_assert(decides<ReductionFamily>(reduction_table));

}  // namespace

std::span<const Row> reduction_rows() { return reduction_table; }

}  // namespace convoy::onnx
