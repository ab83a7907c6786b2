// Means, sums and extremes over axes; over all of space a global pool says it.
#include "formats/keras/write/sink.h"

#include <array>

namespace convoy::keras::writing {
namespace {

const char* word_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::Mean: return "Mean";
    case Reduction::Sum: return "Sum";
    case Reduction::Maximum: return "Max";
    case Reduction::Minimum: return "Min";
    case Reduction::Product: return "Prod";
  }
  std::unreachable();
}

Status write_reduce(const Reduce& op, Sink& sink) {
  const bool pool = op.reduction == Reduction::Mean || op.reduction == Reduction::Maximum;
  if (pool && over_space(op.axes, sink.rank())) {
    LayerConfig config = sink.layer(
        class_of(op.reduction == Reduction::Mean ? "GlobalAveragePooling" : "GlobalMaxPooling", sink.rank() - 2));
    if (op.keeps_axes) config.arguments["keepdims"] = true;
    return sink.last(std::move(config));
  }
  LayerConfig config = sink.operation("numpy", word_of(op.reduction));
  if (op.axes.size() == 1) config.arguments["axis"] = op.axes[0];
  else config.arguments["axis"] = op.axes;
  if (op.keeps_axes) config.arguments["keepdims"] = true;
  return sink.last(std::move(config));
}

Status write_arg_extreme(const ArgExtreme& op, Sink& sink) {
  if (op.last) return sink.refused("the last place of an extreme");
  LayerConfig config = sink.operation("numpy", op.largest ? "Argmax" : "Argmin");
  config.arguments["axis"] = op.axis;
  if (op.keeps_axis) config.arguments["keepdims"] = true;
  return sink.last(std::move(config));
}

Status write_top_k(const TopK& op, Sink& sink) {
  if (!op.largest || op.axis != sink.rank() - 1)
    return sink.refused("the largest few along another axis than the last, or the smallest few");
  LayerConfig config = sink.operation("math", "TopK");
  config.arguments["k"] = op.count;
  return sink.last(std::move(config));
}

Status write_accumulate(const Accumulate& op, Sink& sink) {
  if (op.exclusive || op.backwards) return sink.refused("a running sum from the end, or without the number itself");
  LayerConfig config = sink.operation("numpy", op.reduction == Reduction::Sum ? "Cumsum" : "Cumprod");
  config.arguments["axis"] = op.axis;
  return sink.last(std::move(config));
}

constexpr std::array reduction_table{writes<write_reduce>(), writes<write_arg_extreme>(), writes<write_top_k>(),
                                     writes<write_accumulate>()};
static_assert(decides<ReductionFamily>(reduction_table));

}  // namespace

bool over_space(const Sizes& axes, Size rank) {
  if (rank < 3 || rank > 5 || static_cast<Size>(axes.size()) != rank - 2) return false;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i] != static_cast<Size>(i) + 1) return false;
  return true;
}

std::span<const Row> reduction_rows() { return reduction_table; }

}  // namespace convoy::keras::writing
