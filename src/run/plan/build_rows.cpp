// Which resizing, layer norms and products of computed matrices become steps of their own (run/plan/row_steps.h).
#include "run/plan/builder.h"
#include "run/plan/row_steps.h"

#include <algorithm>
#include <span>

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
    const auto suits = [](const Taps& one) { return !one.cells.empty() && one.cells.size() <= ResizeLines::most_taps; };
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

bool Builder::try_permute(const Node& node) {
  const auto* transpose = get_if<Transpose>(&node.op);
  if (!transpose || !is_real(node.inputs[0]) || *checked_count(shape_of(node.inputs[0])) == 0) return false;
  const PlaceId x = dense(need(node.inputs[0], Layout::AsIs), node.layer);
  auto& step = add<PermuteAxes>(node, "transpose");
  step.shape = shape_of(node.inputs[0]), step.axes = transpose->permutation;
  step.x = x, step.y = make(node.outputs[0], Layout::AsIs);
  places_[step.y].is_fixed = true;
  step.reads = {x}, step.writes = {step.y};
  return true;
}

// y: cells first, first + 1, ... of x along an axis, copied.
void Builder::cut(const Node& node, std::string what, ValueId y, std::size_t axis, Size first) {
  const PlaceId x = dense(need(node.inputs[0], Layout::AsIs), node.layer);
  const Sizes shape = shape_of(node.inputs[0]);
  Size inner = 1;
  for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
  auto& step = add<CutRows>(node, std::move(what));
  step.row = shape[axis] * inner, step.first = first * inner, step.length = shape_of(y)[axis] * inner;
  step.x = x, step.y = make(y, Layout::AsIs);
  places_[step.y].is_fixed = true;
  step.reads = {x}, step.writes = {step.y};
}

bool Builder::try_split(const Node& node) {
  const auto* split = get_if<Split>(&node.op);
  if (!split || !is_real(node.inputs[0])) return false;
  for (const ValueId v : node.outputs)
    if (*checked_count(shape_of(v)) == 0) return false;
  const auto axis = static_cast<std::size_t>(positive_axis(split->axis, graph_[node.inputs[0]].type.rank()));
  Size first = 0;
  for (const ValueId v : node.outputs) {
    cut(node, "split", v, axis, first);
    first += shape_of(v)[axis];
  }
  return true;
}

bool Builder::try_pair_products(const Node& node) {
  if (!holds_alternative<MatMul>(node.op) || !is_real(node.outputs[0])) return false;
  const ValueId left = node.inputs[0], right = node.inputs[1];
  if (!is_real(left) || !is_real(right) || graph_[left].constant || graph_[right].constant) return false;
  const Sizes a = shape_of(left), b = shape_of(right);
  if (a.size() < 2 || b.size() < 2 || *checked_count(shape_of(node.outputs[0])) == 0) return false;
  const Size rows = a[a.size() - 2], depth = a.back(), columns = b.back();
  const Size matrices_a = *checked_count(a) / std::max<Size>(rows * depth, 1);
  const Size matrices_b = *checked_count(b) / std::max<Size>(depth * columns, 1);
  if (depth == 0 || !fast::is_within_reach({{}, rows, 1, depth, columns})) return false;
  // As many of both, or one for all; others are spread by the plain kernel.
  const bool are_alike = std::ranges::equal(std::span(a).first(a.size() - 2), std::span(b).first(b.size() - 2));
  if (!are_alike && matrices_a != 1 && matrices_b != 1) return false;
  const PlaceId x = dense(need(left, Layout::AsIs), node.layer), y = dense(need(right, Layout::AsIs), node.layer);
  auto& step = add<PairProducts>(node, "matmul");
  step.rows = rows, step.depth = depth, step.columns = columns, step.pairs = std::max(matrices_a, matrices_b);
  step.is_one_a = matrices_a == 1, step.is_one_b = matrices_b == 1;
  step.operations = 2.0 * static_cast<double>(step.pairs * rows * depth) * static_cast<double>(columns);
  step.a = x, step.b = y, step.y = make(node.outputs[0], Layout::AsIs);
  step.reads = {x, y}, step.writes = {step.y};
  return true;
}

}  // namespace convoy::plan
