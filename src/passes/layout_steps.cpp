// The operators that change axes or are bound to some of them.
#include "passes/layout.h"

#include <algorithm>

namespace convoy {

// A Transpose of the source only renames axes: the value stays where it is.
Status Layout::transpose(const Node& node, const Transpose& op) {
  const Held x = held(node.inputs[0]);
  const Sizes back = inverse(op.permutation);
  Sizes order;
  for (const Size axis : x.order) order.push_back(back[static_cast<std::size_t>(axis)]);
  const ValueId y = node.outputs[0];
  held_[y.slot()] = {x.id, order, source_order(static_cast<Size>(order.size()))};
  patch_.replace(y, x.id, is_identity(order) ? Sizes{} : order);
  changed_ = true;
  return {};
}

Status Layout::reduce(const Node& node, Reduce op) {
  const Held& x = held(node.inputs[0]);
  Sizes kept = x.order;  // axes of the source that stay, as they lie
  std::erase_if(kept, [&](Size axis) { return std::ranges::find(op.axes, axis) != op.axes.end(); });
  Sizes order;
  for (const Size axis : kept) order.push_back(std::ranges::count_if(kept, [&](Size other) { return other < axis; }));
  for (Size& axis : op.axes) axis = place_in(x.order, axis);
  std::ranges::sort(op.axes);
  return emit(node, op, {x.id}, order, order);
}

Status Layout::linear(const Node& node, const Linear& op) {
  const Held& x = held(node.inputs[0]);
  const auto rank = static_cast<Size>(x.order.size());
  const Sizes order = x.order.back() == rank - 1 ? x.order : source_order(rank);
  const Sizes home = x.home;
  auto inputs = inputs_with_first_in(node, order);
  if (!inputs) return pass(inputs);
  return emit(node, op, std::move(*inputs), order, home);
}

// Of the other tensor a length alone is read, wherever it lies.
Status Layout::expand_like(const Node& node, ExpandLike op) {
  const Held x = held(node.inputs[0]);
  const Held& other = held(node.inputs[1]);
  op.axis = place_in(x.order, op.axis);
  op.from = place_in(other.order, op.from);
  return emit(node, op, {x.id, other.id}, x.order, x.home);
}

// Letters follow their axes, so an equation takes every order and gives the one that is wished for.
Status Layout::einsum(const Node& node, const Einsum& op) {
  const auto comma = op.equation.find(','), arrow = op.equation.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || op.equation.find(' ') != std::string::npos)
    return in_source_order(node);
  const std::string terms[] = {op.equation.substr(0, comma), op.equation.substr(comma + 1, arrow - comma - 1)};
  const std::string result = op.equation.substr(arrow + 2);
  const auto moved = [](const std::string& term, const Sizes& order) {
    std::string letters;
    for (const Size axis : order) letters += term[static_cast<std::size_t>(axis)];
    return letters;
  };
  std::vector<ValueId> inputs;
  Sizes home = source_order(static_cast<Size>(result.size()));
  std::string equation;
  for (std::size_t i = 0; i < 2; ++i) {
    const Held& x = held(node.inputs[i]);
    inputs.push_back(x.id);
    equation += (i ? "," : "") + moved(terms[i], x.order);
  }
  const Sizes order = wish(node.outputs[0]).empty() ? home : wish(node.outputs[0]);
  return emit(node, Einsum{equation + "->" + moved(result, order)}, std::move(inputs), order, order);
}

// Where channels come first, normalised axes have to lie behind all others; Keras takes them anywhere. Their parameters
// follow the order in which they lie.
template <class Norm>
Status Layout::trailing_norm(const Node& node, Norm op) {
  const Held& x = held(node.inputs[0]);
  const auto rank = static_cast<Size>(x.order.size());
  Sizes axes = op.axes;
  for (Size& axis : axes) axis = positive_axis(axis, rank);
  std::ranges::sort(axes);
  const auto normalised = [&](Size axis) { return std::ranges::find(axes, axis) != axes.end(); };
  Sizes order = x.order;
  if (to_ == Order::ChannelsFirst) std::ranges::stable_partition(order, [&](Size axis) { return !normalised(axis); });
  const Sizes home = x.home;
  Sizes own, places;  // of the parameters: their axes as they lie now, and where
  for (std::size_t i = 0; i < order.size(); ++i)
    if (normalised(order[i])) {
      own.push_back(place_in(axes, order[i]));
      places.push_back(static_cast<Size>(i));
    }
  op.axes = places;
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.inputs[i]) {
      inputs.push_back({});
      continue;
    }
    auto made = in(node, node.inputs[i], i == 0 ? order : own);
    if (!made) return pass(made);
    inputs.push_back(*made);
  }
  return emit(node, op, std::move(inputs), order, home);
}

template Status Layout::trailing_norm(const Node& node, LayerNorm op);
template Status Layout::trailing_norm(const Node& node, RmsNorm op);

namespace {

// `to` of a Reshape whose output is wanted in another order. Nothing: two sizes would have to be told by -1.
std::optional<Sizes> target_sizes(const AxisGroups& groups, const Sizes& in, const Shape& out_shape, const Sizes& out) {
  Sizes to;
  bool asked = false;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Dim size = out_shape[static_cast<std::size_t>(out[i])];
    const bool copied =
        i < in.size() &&
        std::ranges::any_of(groups, [&](const AxisGroup& g) { return g.in == Sizes{in[i]} && g.out == Sizes{out[i]}; });
    if (size.known()) {
      to.push_back(*size);
    } else if (copied) {
      to.push_back(0);
    } else {
      if (asked) return std::nullopt;
      asked = true;
      to.push_back(-1);
    }
  }
  return to;
}

}  // namespace

// Merging, splitting and unit axes move no data as long as the axes of each group are neighbours in their own order.
// Where they are not and channels come last, they are brought together and everything else stays where it lies.
Status Layout::reshape(const Node& node) {
  const ValueId y = node.outputs[0];
  Held x = held(node.inputs[0]);
  const Shape& out_shape = type(y).shape;
  const auto groups = groups_of(node.op, type(node.inputs[0]).shape, out_shape);
  auto order = carried(groups, x.order, wish(y));
  if (!order && to_ == Order::ChannelsLast) {
    const Sizes together = gathered(groups, x.order);
    order = carried(groups, together, wish(y));
    if (order && !is_identity(together)) {
      auto moved = in(node, node.inputs[0], together);
      if (!moved) return pass(moved);
      x = {*moved, together, x.home, {}};
    } else {
      order.reset();
    }
  }
  const Sizes source = source_order(type(y).rank());
  if (!order || (is_identity(x.order) && is_identity(*order))) return in_source_order(node);
  // Axes of its own: handed out as the source has them, unless spatial operators follow.
  const bool merges =
      std::ranges::any_of(groups, [](const AxisGroup& g) { return g.in.size() > 1 || g.out.size() > 1; });
  const Sizes home = merges && wish(y).empty() ? source : *order;
  Op op = node.op;
  if (auto* squeeze = get_if<Squeeze>(&op)) {
    for (Size& axis : squeeze->axes) axis = place_in(x.order, axis);
    std::ranges::sort(squeeze->axes);
  } else if (auto* unsqueeze = get_if<Unsqueeze>(&op)) {
    for (Size& axis : unsqueeze->axes) axis = place_in(*order, axis);
    std::ranges::sort(unsqueeze->axes);
  } else {
    const auto to = target_sizes(groups, x.order, out_shape, *order);
    if (!to) return in_source_order(node);
    op = Reshape{*to};
  }
  return emit(node, std::move(op), {x.id}, *order, home);
}

// [N, ...] -> [N, F]. Free where only axes of size 1 changed places; folded into the parameters behind it where they can
// take it; a Transpose in front otherwise.
Status Layout::flatten(const Node& node) {
  const Held& x = held(node.inputs[0]);
  const Shape& shape = type(node.inputs[0]).shape;
  const ValueId y = node.outputs[0];
  const Sizes rows = source_order(type(y).rank());
  const auto groups = groups_of(node.op, shape, type(y).shape);
  const bool keeps_batch = !groups.empty() && groups[0].in == Sizes{0} && groups[0].out == Sizes{0};
  if (type(y).rank() != 2 || !keeps_batch || x.order.empty() || x.order[0] != 0) return in_source_order(node);
  Sizes long_axes;
  for (const Size axis : x.order)
    if (const Dim size = shape[static_cast<std::size_t>(axis)]; axis != 0 && !(size.known() && *size == 1))
      long_axes.push_back(axis);
  if (std::ranges::is_sorted(long_axes)) return emit(node, node.op, {x.id}, rows, rows);
  const auto sizes = sizes_of({shape.begin() + 1, shape.end()});
  if (!sizes || !takes_features(y)) {
    patch_.remark(node, sizes
                            ? "axes are put back in the source's order in front, because not everything behind it can "
                              "take the features in another order"
                            : "axes are put back in the source's order in front, because their sizes are free");
    return in_source_order(node);
  }
  Features features{*sizes, {}};
  for (std::size_t i = 1; i < x.order.size(); ++i) features.permutation.push_back(x.order[i] - 1);
  return emit(node, node.op, {x.id}, rows, rows, std::move(features));
}

}  // namespace convoy
