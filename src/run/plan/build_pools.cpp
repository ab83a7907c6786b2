// Which pools, means and softmaxes become steps.
#include "run/plan/builder.h"

#include "ops/expect.h"
#include "run/plain/convolution.h"

#include <algorithm>

namespace convoy::plan {

bool Builder::try_pool(const Node& node) {
  const auto* most = get_if<MaxPool>(&node.op);
  const auto* average = get_if<AveragePool>(&node.op);
  const auto* adaptive = get_if<AdaptivePool>(&node.op);
  if ((!most && !average && !adaptive) || !is_real(node.inputs[0])) return false;
  if ((most && most->positions != Positions::None) || (adaptive && adaptive->positions != Positions::None))
    return false;
  const Axes& axes = most ? most->axes : average ? average->axes : adaptive->axes;
  const Sizes shape = shape_of(node.inputs[0]);
  std::vector<plain::AxisReach> reaches;
  Sizes space;
  if (adaptive) reaches = plain::adaptive_reaches(*adaptive, shape);
  for (Size i = 0; i < axes.space; ++i) {
    const auto axis = static_cast<std::size_t>(i);
    space.push_back(shape[static_cast<std::size_t>(axes.spatial(i))]);
    if (adaptive) continue;
    const Counting counting = average && average->counts_padding ? Counting::WithPadding : Counting::Inside;
    auto reach = plain::reach_of(most ? most->paddings[axis] : average->paddings[axis],
                                 most ? most->windows[axis] : average->windows[axis], space.back(), counting);
    if (!reach) return false;
    reaches.push_back(*std::move(reach));
  }
  if (*checked_count(shape) == 0 || *checked_count(shape_of(node.outputs[0])) == 0) return false;
  double cells = 1;
  for (const auto& axis : reaches)
    cells *= static_cast<double>(std::ranges::max_element(axis, {}, &plain::Reach::count)->count) *
             static_cast<double>(axis.size());
  if (cells > 1e7) return false;  // each is looked up
  const Layout layout = axes.order == Order::ChannelsFirst ? Layout::ChannelsLast : Layout::AsIs;
  const PlaceId x = need(node.inputs[0], layout);
  auto& step =
      add<PoolWindows>(node, most || (adaptive && adaptive->kind == Extreme::Maximum) ? "max pool" : "average pool");
  step.reaches = std::move(reaches), step.space = std::move(space);
  step.is_average = average || (adaptive && adaptive->kind == Extreme::Average);
  step.passes_over_nan = most && graph_.rules.max_pools_pass_over_nan;
  if (average) step.divisor = average->divisor;
  step.x = x, step.y = make(node.outputs[0], layout);
  step.reads = {x}, step.writes = {step.y};
  return true;
}

bool Builder::try_mean(const Node& node) {
  const auto* reduce = get_if<Reduce>(&node.op);
  if (!reduce || (reduce->reduction != Reduction::Mean && reduce->reduction != Reduction::Sum)) return false;
  if (!is_real(node.inputs[0])) return false;
  const Sizes shape = shape_of(node.inputs[0]);
  const auto rank = static_cast<Size>(shape.size());
  if (rank < 3 || *checked_count(shape) == 0 || static_cast<Size>(reduce->axes.size()) != rank - 2) return false;
  const bool first = reduce->axes.front() == 2, last = reduce->axes.front() == 1 && reduce->axes.back() == rank - 2;
  if (!first && !last) return false;
  const Layout layout = first ? Layout::ChannelsLast : Layout::AsIs;
  const PlaceId x = need(node.inputs[0], layout);
  auto& step = add<MeanOfPixels>(node, reduce->reduction == Reduction::Mean ? "mean" : "sum");
  step.images = shape[0], step.is_sum = reduce->reduction == Reduction::Sum;
  step.x = x, step.y = make(node.outputs[0], reduce->keeps_axes ? layout : Layout::AsIs);
  step.reads = {x}, step.writes = {step.y};
  return true;
}

bool Builder::try_softmax(const Node& node) {
  const auto* softmax = get_if<Softmax>(&node.op);
  if (!softmax || softmax->logarithm || softmax->axes.size() != 1 || !is_real(node.inputs[0])) return false;
  const Sizes shape = shape_of(node.inputs[0]);
  const auto rank = static_cast<Size>(shape.size());
  const Size axis = positive_axis(softmax->axes[0], rank);
  if (*checked_count(shape) == 0 || (axis != rank - 1 && !(axis == 1 && rank > 2))) return false;
  const Layout layout = axis == rank - 1 ? Layout::AsIs : Layout::ChannelsLast;
  const PlaceId x = need(node.inputs[0], layout);
  auto& step = add<SoftmaxRows>(node, "softmax");
  step.x = x, step.y = make(node.outputs[0], layout);
  step.reads = {x}, step.writes = {step.y};
  return true;
}

}  // namespace convoy::plan
