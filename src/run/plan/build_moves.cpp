// What only moves numbers: parts that are made where they belong, other views, and copies where neither will do.
#include "run/plan/builder.h"
#include "run/plan/strided.h"

#include "ops/expect.h"

#include <algorithm>

namespace convoy::plan {

namespace {

// Whether axes are moved past none but those of length 1: the numbers stay where they are.
bool keeps_order(const Sizes& shape, const Sizes& permutation) {
  Size last = -1;
  for (const Size axis : permutation) {
    if (shape[static_cast<std::size_t>(axis)] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

}  // namespace

// Parts that nobody holds in place become parts of the whole; others are copied.
bool Builder::try_concat(const Node& node) {
  const auto* concat = get_if<Concat>(&node.op);
  if (!concat || !is_real(node.outputs[0])) return false;
  const auto rank = graph_[node.outputs[0]].type.rank();
  bool any_last = false;
  for (const ValueId v : node.inputs)
    any_last = any_last || (!graph_[v].constant && usual_layout(v) == Layout::ChannelsLast);
  Layout layout = Layout::AsIs;
  if (concat->axis == 1 && rank > 2 && any_last) layout = Layout::ChannelsLast;
  for (const ValueId v : node.inputs)
    if (!is_real(v) || *checked_count(shape_of(v)) == 0) return false;
  if (layout == Layout::AsIs && concat->axis != rank - 1) return concat_rows(node, concat->axis);
  std::vector<PlaceId> parts;
  for (const ValueId v : node.inputs) parts.push_back(need(v, layout));
  const PlaceId whole = make(node.outputs[0], layout);
  Size first = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Place& part = places_[parts[i]];
    const Size channels = part.channels();
    if (part.where == Place::Where::Arena && !part.parent && !part.is_fixed) {
      part.parent = whole, part.is_part = true, part.first_channel = first;
      if (part.has_read_parts || !is_last_use(node.inputs[i])) places_[whole].has_read_parts = true;
    } else {
      Place copy;
      copy.shape = part.shape, copy.parent = whole, copy.is_part = true, copy.first_channel = first;
      const PlaceId to = places_.add(std::move(copy));
      auto& step = add<Move>(node, "copy a part");
      step.x = parts[i], step.y = to;
      step.reads = {step.x}, step.writes = {to};
    }
    first += channels;
  }
  return true;
}

// Along an axis before the last: all that lies behind it is one row of channels.
bool Builder::concat_rows(const Node& node, Size axis) {
  const ValueId y = node.outputs[0];
  const auto rows_of = [&](ValueId v) -> Sizes {
    const Sizes shape = shape_of(v);
    Size rows = 1;
    for (Size i = 0; i < axis; ++i) rows *= shape[static_cast<std::size_t>(i)];
    return {rows, *checked_count(shape) / rows};
  };
  Place all;
  all.shape = rows_of(y), all.is_fixed = true;
  const PlaceId whole = places_.add(std::move(all));
  Size first = 0;
  for (const ValueId v : node.inputs) {
    const PlaceId x = view(dense(need(v, Layout::AsIs), node.layer), rows_of(v));
    Place part;
    part.shape = places_[x].shape, part.parent = whole, part.is_part = true, part.first_channel = first;
    first += part.channels();
    auto& step = add<Move>(node, "copy a part");
    step.x = x, step.y = places_.add(std::move(part));
    step.reads = {step.x}, step.writes = {step.y};
  }
  set(y, Layout::AsIs, view(whole, shape_of(y)));
  return true;
}

// The same numbers under another shape.
bool Builder::try_view(const Node& node) {
  if (node.inputs.empty() || !node.inputs[0] || !is_real(node.inputs[0])) return false;
  const ValueId x = node.inputs[0], y = node.outputs[0];
  if (node.outputs.size() != 1 || *checked_count(shape_of(x)) == 0) return false;
  const bool is_moved = strided_[x.slot()] && !has_place(x, Layout::AsIs);
  if (const auto* transpose = get_if<Transpose>(&node.op)) {
    if (is_moved) return false;
    if (usual_layout(x) == Layout::AsIs && keeps_order(shape_of(x), transpose->permutation)) {
      set(y, Layout::AsIs, view(dense(need(x, Layout::AsIs), node.layer), shape_of(y)));
      return true;
    }
    const auto space = static_cast<Size>(transpose->permutation.size()) - 2;
    if (space < 1) return false;
    const bool to_last = transpose->permutation == to_channels_last(space);
    if (!to_last && transpose->permutation != to_channels_first(space)) return false;
    const PlaceId from = need(x, to_last ? Layout::ChannelsLast : Layout::AsIs);
    if (!places_.is_dense(from)) return false;
    const Layout layout = to_last ? Layout::AsIs : Layout::ChannelsLast;
    set(y, layout, view(from, laid(y, layout)));
    return true;
  }
  if (traits_of(node.op).contents != Contents::Kept || holds_alternative<Cast>(node.op)) return false;
  const bool is_same = shape_of(x) == shape_of(y);
  if (is_moved || (!is_same && usual_layout(x) == Layout::ChannelsLast))
    if (auto same = reshaped(strided(x), shape_of(y))) {
      set_strided(y, *same, same->what.empty() ? "copy" : same->what, same->layer.empty() ? node.layer : same->layer);
      return true;
    }
  const Layout layout = is_same ? usual_layout(x) : Layout::AsIs;
  const PlaceId from = need(x, layout);
  if (!places_.is_dense(from)) return false;
  set(y, layout, view(from, laid(y, layout)));
  return true;
}

bool Builder::try_slice(const Node& node) {
  const auto* slice = get_if<Slice>(&node.op);
  if (!slice || slice->step != 1 || !is_real(node.inputs[0]) || graph_[node.inputs[0]].constant) return false;
  const ValueId x = node.inputs[0], y = node.outputs[0];
  const Sizes shape = shape_of(x);
  const auto rank = static_cast<Size>(shape.size()), axis = positive_axis(slice->axis, rank);
  const bool is_second = axis == 1 && rank > 2 && usual_layout(x) == Layout::ChannelsLast;
  const Size first = resolve(*slice, shape[static_cast<std::size_t>(axis)]).first;
  if (*checked_count(shape_of(y)) == 0) return false;
  const bool is_moved = strided_[x.slot()] && !has_place(x, Layout::AsIs);
  if (is_moved || (axis != rank - 1 && !is_second)) {
    const auto at = static_cast<std::size_t>(axis);
    set_strided(y, part_of(strided(x), at, first, shape_of(y)[at]), "slice", node.layer);
    return true;
  }
  const Layout layout = is_second ? Layout::ChannelsLast : Layout::AsIs;
  const PlaceId whole = need(x, layout);
  places_[whole].is_fixed = true;
  Place part;
  part.where = places_[whole].where, part.shape = laid(y, layout), part.parent = whole, part.is_part = true;
  part.first_channel = first, part.is_fixed = true;
  set(y, layout, places_.add(std::move(part)));
  return true;
}

}  // namespace convoy::plan
