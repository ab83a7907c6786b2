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
  const Attribute keeps{"keepdims", Size{op.keeps_axes}};
  if (sink.opset() < since) sink.last(word_of(op.reduction), {sink.name()}, {{"axes", op.axes}, keeps});
  else sink.last(word_of(op.reduction), {sink.name(), sink.numbers(op.axes)}, {keeps});
  return {};
}

constexpr std::array rows{writes<write_reduce>()};
static_assert(decides<ReductionFamily>(rows));

}  // namespace

std::span<const Row> reduction_rows() { return rows; }

}  // namespace convoy::onnx
