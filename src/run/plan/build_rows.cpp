// Which resizing and layer norms become steps of their own (run/plan/row_steps.h).
#include "run/plan/builder.h"
#include "run/plan/row_steps.h"

#include <algorithm>

namespace convoy::plan {

bool Builder::try_resize(const Node& node) {
  const auto* resize = get_if<Resize>(&node.op);
  if (!resize || !is_real(node.inputs[0])) return false;
  const Sizes shape = shape_of(node.inputs[0]), out = shape_of(node.outputs[0]);
  const std::size_t rank = shape.size();
  if (rank < 3 || *checked_count(shape) == 0 || resize->axes.size() != rank - 2) return false;
  const auto first = resize->axes[0];
  if (first != 1 && first != 2) return false;
  for (std::size_t i = 0; i < resize->axes.size(); ++i)
    if (resize->axes[i] != first + static_cast<Size>(i)) return false;
  const Layout layout = first == 2 ? Layout::ChannelsLast : Layout::AsIs;
  std::vector<std::vector<Taps>> taps;
  Sizes space;
  for (std::size_t i = 0; i < resize->axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(resize->axes[i]);
    space.push_back(shape[axis]);
    taps.push_back(taps_of(*resize, i, shape[axis], out[axis]));
    // Outputs without cells are filled by the plain kernel.
    const auto suits = [](const Taps& one) { return !one.cells.empty(); };
    if (taps.back().empty() || !std::ranges::all_of(taps.back(), suits)) return false;
  }
  const PlaceId x = need(node.inputs[0], layout);
  auto& step = add<ResizeLines>(node, "resize");
  step.taps = std::move(taps), step.space = std::move(space);
  step.x = x, step.y = make(node.outputs[0], layout);
  step.reads = {x}, step.writes = {step.y};
  return true;
}

bool Builder::try_layer_norm(const Node& node) {
  const auto* norm = get_if<LayerNorm>(&node.op);
  if (!norm || norm->keras_rms_scaling || norm->axes.size() != 1 || !is_real(node.inputs[0])) return false;
  const Sizes shape = shape_of(node.inputs[0]);
  const auto rank = static_cast<Size>(shape.size());
  if (rank < 2 || *checked_count(shape) == 0) return false;
  const Size axis = positive_axis(norm->axes[0], rank);
  const bool is_second = axis == 1 && rank > 2 && usual_layout(node.inputs[0]) == Layout::ChannelsLast;
  if (axis != rank - 1 && !is_second) return false;
  for (std::size_t i = 1; i < node.inputs.size(); ++i)
    if (node.inputs[i] && !graph_[node.inputs[i]].constant) return false;
  const Layout layout = axis == rank - 1 ? Layout::AsIs : Layout::ChannelsLast;
  const PlaceId x = need(node.inputs[0], layout);
  auto& step = add<NormRows>(node, "layer norm");
  const auto numbers = [&](std::size_t i) {
    return i < node.inputs.size() && node.inputs[i] ? graph_[node.inputs[i]].constant->floats() : std::vector<float>();
  };
  step.gamma = numbers(1), step.beta = numbers(2), step.epsilon = static_cast<float>(norm->epsilon);
  step.x = x, step.y = make_over(x, node.inputs[0], node.outputs[0], layout);
  step.reads = {x}, step.writes = {step.y};
  return true;
}

}  // namespace convoy::plan
