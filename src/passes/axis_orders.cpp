#include "passes/axis_orders.h"

#include <algorithm>
#include <numeric>

namespace convoy {

Sizes source_order(Size rank) {
  Sizes order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), Size{0});
  return order;
}

Size place_in(const Sizes& order, Size axis) {
  return static_cast<Size>(std::ranges::find(order, axis) - order.begin());
}

namespace {

Sizes brought(Order from, Order to, Size space) {
  if (from == to) return source_order(space + 2);
  return to == Order::ChannelsFirst ? to_channels_first(space) : to_channels_last(space);
}

template <class... Ops>
struct Overloaded : Ops... {
  using Ops::operator()...;
};

Sizes places_in(const Sizes& order, const Sizes& axes) {
  Sizes places;
  for (const Size axis : axes) places.push_back(place_in(order, axis));
  std::ranges::sort(places);
  return places;
}

}  // namespace

Sizes wanted_order(const Node& node, const TensorType& x, Order to) {
  return node.op.visit(Overloaded{
      [&]<class T>(const T& op) -> Sizes {
        if constexpr (requires { Axes{op.axes.order, op.axes.space}; })
          return brought(op.axes.order, to, op.axes.space);
        return {};
      },
      [&](const DepthToSpace& op) { return x.rank() == 4 ? brought(op.order, to, 2) : Sizes{}; },
      [&](const SpaceToDepth& op) { return x.rank() == 4 ? brought(op.order, to, 2) : Sizes{}; },
      [&](const Resize& op) -> Sizes {
        for (const Order order : {Order::ChannelsFirst, Order::ChannelsLast})
          if (x.rank() >= 3 && op.axes == spatial_axes({order, x.rank() - 2})) return brought(order, to, x.rank() - 2);
        return {};
      },
      [&](const GroupNorm& op) -> Sizes {
        if (x.rank() < 3) return {};
        Sizes order = source_order(x.rank());
        const Size axis = positive_axis(op.axis, x.rank());
        order.erase(order.begin() + axis);
        order.insert(to == Order::ChannelsFirst ? order.begin() + 1 : order.end(), axis);
        return order;
      },
  });
}

std::optional<Op> reordered(const Op& op, const Sizes& order) {
  const auto rank = static_cast<Size>(order.size());
  const auto at = [&](Size axis) { return place_in(order, positive_axis(axis, rank)); };
  return op.visit(Overloaded{
      [&]<class T>(T o) -> std::optional<Op> {
        if constexpr (T::traits.axes == AxisUse::Named) {
          if constexpr (requires { o.axis; }) {
            o.axis = at(o.axis);
          } else {
            for (Size& axis : o.axes) axis = at(axis);
            std::ranges::sort(o.axes);
          }
          return o;
        }
        if constexpr (T::traits.axes == AxisUse::Elementwise) return o;
        return std::nullopt;
      },
      [&](Dropout o) -> std::optional<Op> {
        if (drops_channels(o)) o.channel = at(o.channel);
        return o;
      },
      [&](const Resize& o) -> std::optional<Op> { return resized_in(o, order); },
      [&](Pad o) -> std::optional<Op> {
        const Pad from = o;
        for (std::size_t i = 0; i < order.size(); ++i) {
          o.before[i] = from.before[static_cast<std::size_t>(order[i])];
          o.after[i] = from.after[static_cast<std::size_t>(order[i])];
        }
        return o;
      },
      [&](PadToWindow o) -> std::optional<Op> {
        for (Size& axis : o.axes) axis = at(axis);
        return o;
      },
      [&](Reduce o) -> std::optional<Op> {
        if (!o.keeps_axes) return std::nullopt;
        o.axes = places_in(order, o.axes);
        return o;
      },
  });
}

Resize resized_in(const Resize& op, const Sizes& order) {
  std::vector<std::size_t> entries(op.axes.size());
  std::iota(entries.begin(), entries.end(), std::size_t{0});
  std::ranges::sort(entries, {}, [&](std::size_t i) { return place_in(order, op.axes[i]); });
  Resize moved = op;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    moved.axes[i] = place_in(order, op.axes[entries[i]]);
    if (!op.sizes.empty()) moved.sizes[i] = op.sizes[entries[i]];
    if (!op.factors.empty()) moved.factors[i] = op.factors[entries[i]];
    if (!op.starts.empty()) moved.starts[i] = op.starts[entries[i]];
    if (!op.ends.empty()) moved.ends[i] = op.ends[entries[i]];
  }
  return moved;
}

AxisGroups reversed(AxisGroups groups) {
  for (AxisGroup& g : groups) std::swap(g.in, g.out);
  return groups;
}

namespace {

// Whether the first axis of both is the batch, carried on whole.
bool keeps_batch(const Reshape* reshape, const Shape& in, const Shape& out) {
  if (!reshape) return true;
  if (!reshape->to.empty() && reshape->to[0] == 0) return true;
  if (in[0].known() && out[0].known()) return in[0] == out[0];
  // The rest has to hold as many elements on both sides.
  const auto rest_in = sizes_of({in.begin() + 1, in.end()}), rest_out = sizes_of({out.begin() + 1, out.end()});
  return rest_in && rest_out && checked_count(*rest_in) == checked_count(*rest_out);
}

// The axes between what is equal on the left and on the right: cut wherever the products agree.
void cut(AxisGroups& groups, const Shape& in, const Shape& out, Size i, Size in_end, Size o, Size out_end) {
  const auto known = [](const Shape& s, Size from, Size to) {
    return std::all_of(s.begin() + from, s.begin() + to, [](Dim d) { return d.known() && *d > 0; });
  };
  if (!known(in, i, in_end) || !known(out, o, out_end)) {
    AxisGroup all;
    while (i < in_end) all.in.push_back(i++);
    while (o < out_end) all.out.push_back(o++);
    groups.push_back(std::move(all));
    return;
  }
  while (i < in_end || o < out_end) {
    AxisGroup group;
    Size a = 1, b = 1;
    while (i < in_end && a == 1) a *= *in[static_cast<std::size_t>(i)], group.in.push_back(i++);
    while (o < out_end && b == 1) b *= *out[static_cast<std::size_t>(o)], group.out.push_back(o++);
    while (a != b && (i < in_end || o < out_end)) {
      if (a < b && i < in_end) a *= *in[static_cast<std::size_t>(i)], group.in.push_back(i++);
      else if (o < out_end) b *= *out[static_cast<std::size_t>(o)], group.out.push_back(o++);
      else a *= *in[static_cast<std::size_t>(i)], group.in.push_back(i++);
    }
    groups.push_back(std::move(group));
  }
}

}  // namespace

AxisGroups groups_of(const Op& op, const Shape& in, const Shape& out) {
  AxisGroups groups;
  const Sizes* squeezed = nullptr;
  const Sizes* added = nullptr;
  if (const auto* o = get_if<Squeeze>(&op)) squeezed = &o->axes;
  if (const auto* o = get_if<Unsqueeze>(&op)) added = &o->axes;
  const auto in_rank = static_cast<Size>(in.size()), out_rank = static_cast<Size>(out.size());
  if (squeezed || added) {
    const Sizes& ones = squeezed ? *squeezed : *added;
    const Size rank = squeezed ? in_rank : out_rank;
    for (Size longer = 0, shorter = 0; longer < rank; ++longer) {
      AxisGroup g{{longer}, {}};
      if (std::ranges::find(ones, longer) == ones.end()) g.out.push_back(shorter++);
      groups.push_back(std::move(g));
    }
    return squeezed ? groups : reversed(groups);
  }
  const auto* reshape = get_if<Reshape>(&op);
  Size left = 0, in_end = in_rank, out_end = out_rank;
  const auto copied = [&](Size i) {
    const auto at = static_cast<std::size_t>(i);
    if (reshape && at < reshape->to.size() && reshape->to[at] == 0) return true;
    if (i == 0) return keeps_batch(reshape, in, out);
    return in[at].known() && in[at] == out[at];
  };
  while (left < in_rank && left < out_rank && copied(left)) groups.push_back({{left}, {left}}), ++left;
  AxisGroups right;
  while (in_end > left && out_end > left && in[static_cast<std::size_t>(in_end - 1)].known() &&
         in[static_cast<std::size_t>(in_end - 1)] == out[static_cast<std::size_t>(out_end - 1)]) {
    --in_end, --out_end;
    right.push_back({{in_end}, {out_end}});
  }
  if (left < in_end || left < out_end) cut(groups, in, out, left, in_end, left, out_end);
  groups.insert(groups.end(), right.rbegin(), right.rend());
  return groups;
}

std::optional<Sizes> carried(const AxisGroups& groups, const Sizes& order, const Sizes& wish) {
  // The groups as `order` visits them; every one has to be visited whole and in its own order.
  std::vector<std::size_t> visited;
  for (std::size_t at = 0; at < order.size();) {
    const auto it =
        std::ranges::find_if(groups, [&](const AxisGroup& g) { return !g.in.empty() && g.in[0] == order[at]; });
    if (it == groups.end()) return std::nullopt;
    for (const Size axis : it->in)
      if (at >= order.size() || order[at++] != axis) return std::nullopt;
    visited.push_back(static_cast<std::size_t>(it - groups.begin()));
  }
  Sizes bound;
  for (const std::size_t g : visited) bound.insert(bound.end(), groups[g].out.begin(), groups[g].out.end());
  if (!wish.empty()) {
    Sizes rest;
    for (const Size axis : wish)
      if (std::ranges::find(bound, axis) != bound.end()) rest.push_back(axis);
    if (rest == bound) return wish;
  }
  // Axes without a counterpart stay behind their neighbour on the left.
  Sizes out;
  const auto append = [&](std::size_t g) {
    out.insert(out.end(), groups[g].out.begin(), groups[g].out.end());
    for (std::size_t next = g + 1; next < groups.size() && groups[next].in.empty(); ++next)
      out.insert(out.end(), groups[next].out.begin(), groups[next].out.end());
  };
  for (std::size_t g = 0; g < groups.size() && groups[g].in.empty(); ++g)
    out.insert(out.end(), groups[g].out.begin(), groups[g].out.end());
  for (const std::size_t g : visited) append(g);
  return out;
}

Sizes gathered(const AxisGroups& groups, const Sizes& order) {
  Sizes together;
  for (const Size axis : order) {
    if (std::ranges::find(together, axis) != together.end()) continue;
    const auto it =
        std::ranges::find_if(groups, [&](const AxisGroup& g) { return std::ranges::find(g.in, axis) != g.in.end(); });
    if (it == groups.end()) together.push_back(axis);
    else together.insert(together.end(), it->in.begin(), it->in.end());
  }
  return together;
}

namespace {

bool is_reshape(const Op& op) {
  return holds_alternative<Reshape>(op) || holds_alternative<Squeeze>(op) || holds_alternative<Unsqueeze>(op);
}

// Whether inputs and output share one order of axes.
bool shares_order(const Op& op, const Sizes& order) {
  return holds_alternative<Binary>(op) || holds_alternative<PRelu>(op) || reordered(op, order).has_value();
}

}  // namespace

std::vector<Sizes> wishes_of(const Graph& graph, Order to) {
  std::vector<Sizes> found(graph.values.size()), wish(graph.values.size());
  const auto at = [](auto& all, ValueId v) -> auto& { return all[v.slot()]; };
  const auto rank = [&](ValueId v) { return graph[v].type.rank(); };
  // Forward: what spatial operators give, as far as it is carried on.
  for (const Node& node : graph.nodes) {
    Sizes order = node.inputs.empty() || !node.inputs[0] ? Sizes{} : wanted_order(node, graph[node.inputs[0]].type, to);
    if (order.empty())
      for (const ValueId v : node.inputs)
        if (order.empty() && v && !node.outputs.empty() && rank(v) == rank(node.outputs[0])) order = at(found, v);
    if (order.empty()) continue;
    const bool spatial = !wanted_order(node, graph[node.inputs[0]].type, to).empty();
    if (spatial || shares_order(node.op, order))
      for (const ValueId v : node.outputs) at(found, v) = order;
  }
  // Backward: what readers want.
  for (auto it = graph.nodes.rbegin(); it != graph.nodes.rend(); ++it) {
    const Node& node = *it;
    if (node.inputs.empty() || !node.inputs[0]) continue;
    if (Sizes order = wanted_order(node, graph[node.inputs[0]].type, to); !order.empty()) {
      at(wish, node.inputs[0]) = std::move(order);
      continue;
    }
    const ValueId y = node.outputs[0];
    const Sizes order = at(wish, y).empty() ? at(found, y) : at(wish, y);
    if (order.empty()) continue;
    if (const auto* move = get_if<Transpose>(&node.op)) {
      Sizes before = in_order(move->permutation, order);
      if (at(wish, node.inputs[0]).empty()) at(wish, node.inputs[0]) = std::move(before);
    } else if (is_reshape(node.op)) {
      const auto groups = groups_of(node.op, graph[node.inputs[0]].type.shape, graph[y].type.shape);
      if (auto before = carried(reversed(groups), order, {}); before && at(wish, node.inputs[0]).empty())
        at(wish, node.inputs[0]) = std::move(*before);
    } else if (shares_order(node.op, order)) {
      for (const ValueId v : node.inputs)
        if (v && rank(v) == rank(y) && at(wish, v).empty()) at(wish, v) = order;
    }
  }
  return wish;
}

}  // namespace convoy
