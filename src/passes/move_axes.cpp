// Channels first everywhere, or last: one sweep in order of computation assigns every value the order it is kept in.
// Inputs and outputs lie as the interface says, which was fixed before; only where a form of two models is asked for do
// they lie as the layers behind and before them want. Their origin is told.
#include "graph/time_first.h"
#include "passes/layout.h"
#include "passes/rewrites.h"

#include <algorithm>

namespace convoy {

Layout::Layout(const Graph& graph, Order to, const std::optional<Interface>& interface)
    : graph_(graph),
      to_(to),
      interface_(interface),
      patch_(graph),
      constants_(graph, patch_),
      wishes_(wishes_of(graph, to)),
      readers_(readers_of(graph)),
      held_(graph.values.size()) {
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    const Sizes order = source_order(graph.values[i].type.rank());
    held_[i] = {ValueId{static_cast<std::int32_t>(i)}, order, order};
  }
}

Result<Patch> Layout::run() {
  for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
    const ValueId v = graph_.inputs[i];
    const Sizes order = order_of_input(i);
    if (is_identity(order)) continue;
    Held& input = held_[v.slot()];
    input.order = input.home = order;
    const auto& before = graph_[v].origin;
    Origin origin = before.value_or(Origin{graph_[v].name, {}, {}});
    origin.permutation = origin.permutation.empty() ? order : compose(origin.permutation, order);
    patch_.reshape_input(v, in_order(type(v).shape, order), std::move(origin));
    changed_ = true;
  }
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    const Node& node = graph_.nodes[i];
    if (auto done = within(place_of(node), step(node)); !done) return pass(done);
    patch_.remove({static_cast<std::int32_t>(i)});
  }
  for (std::size_t i = 0; i < graph_.outputs.size(); ++i)
    if (auto done = hand_out(i); !done) return pass(done);
  if (!changed_) return Patch(graph_);
  return std::move(patch_);
}

Sizes Layout::order_of_input(std::size_t i) const {
  if (interface_) return interface_->inputs[i].permutation;
  const ValueId v = graph_.inputs[i];
  const Sizes& order = wish(v);
  const bool takes_it = !order.empty() && order[0] == 0 && type(v).rank() >= 3;
  return takes_it ? order : source_order(type(v).rank());
}

Status Layout::hand_out(std::size_t i) {
  const ValueId v = graph_.outputs[i];
  const Held& output = held(v);
  if (!graph_[v].producer) return {};
  const Node& maker = graph_[graph_[v].producer];
  const Sizes& home = interface_ ? interface_->outputs[i].permutation : output.home;
  // A transpose that came out as nothing leaves its value in another's place; an output stands for itself.
  const bool shared = output.order == home && holds_alternative<Transpose>(maker.op);
  if (output.order == home && !shared) return {};
  auto made = shared ? alias(maker, output.id) : in(maker, v, home);
  if (!made) return pass(made);
  patch_.replace(v, *made, is_identity(home) ? Sizes{} : home);
  return {};
}

Result<ValueId> Layout::alias(const Node& node, ValueId value) {
  auto made = patch_.node(node, Identity{}, {value});
  if (!made) return pass(made);
  return made->front();
}

Status Layout::step(const Node& node) {
  const ValueId x = node.inputs.empty() ? ValueId{} : node.inputs[0];
  if (x && held(x).features) return ordered_features(node, *held(x).features);
  if (!x) return in_source_order(node);
  const Sizes wanted = wanted_order(node, type(x), to_);
  if (const auto* op = get_if<GroupNorm>(&node.op)) return group_norm(node, *op, wanted);
  if (!wanted.empty()) return spatial(node, wanted);
  if (const auto* op = get_if<Binary>(&node.op)) return binary(node, *op);
  if (const auto* op = get_if<PRelu>(&node.op)) return prelu(node, *op);
  if (const auto* op = get_if<Transpose>(&node.op)) return transpose(node, *op);
  if (const auto* op = get_if<Reduce>(&node.op); op && !op->keeps_axes) return reduce(node, *op);
  if (const auto* op = get_if<Linear>(&node.op)) return linear(node, *op);
  if (const auto* op = get_if<Einsum>(&node.op)) return einsum(node, *op);
  if (const auto* op = get_if<LayerNorm>(&node.op)) return trailing_norm(node, *op);
  if (const auto* op = get_if<RmsNorm>(&node.op)) return trailing_norm(node, *op);
  if (const auto* op = get_if<ExpandLike>(&node.op)) return expand_like(node, *op);
  if (holds_alternative<Flatten>(node.op)) return flatten(node);
  if (holds_alternative<Reshape>(node.op))
    return type(node.outputs[0]).rank() == 2 && type(x).rank() > 2 ? flatten(node) : reshape(node);
  if (holds_alternative<Squeeze>(node.op) || holds_alternative<Unsqueeze>(node.op)) return reshape(node);
  if (reordered(node.op, held(x).order)) return shared_order(node);
  return in_source_order(node);
}

Result<ValueId> Layout::in(const Node& like, ValueId source, const Sizes& wanted) {
  const Held& have = held(source);
  if (have.order == wanted) return have.id;
  const auto key = std::pair{source, wanted};
  if (const auto it = turned_.find(key); it != turned_.end()) return it->second;
  if (graph_[source].constant) return turned_[key] = constants_.reordered(source, {}, wanted);
  Sizes permutation;
  for (const Size axis : wanted) permutation.push_back(place_in(have.order, axis));
  auto made = patch_.node(like, Transpose{permutation}, {have.id});
  if (!made) return pass(made);
  changed_ = true;
  return turned_[key] = made->front();
}

Result<std::vector<ValueId>> Layout::inputs_with_first_in(const Node& node, const Sizes& order) {
  std::vector<ValueId> inputs(node.inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!node.inputs[i]) continue;
    auto made = in(node, node.inputs[i], i == 0 ? order : source_order(type(node.inputs[i]).rank()));
    if (!made) return pass(made);
    inputs[i] = *made;
  }
  return inputs;
}

Status Layout::emit(const Node& node, Op op, std::vector<ValueId> inputs, const Sizes& order, const Sizes& home,
                    std::optional<Features> features) {
  if (op != node.op || inputs != node.inputs) changed_ = true;
  auto made = patch_.node(node, std::move(op), std::move(inputs), node.outputs.size());
  if (!made) return pass(made);
  for (std::size_t i = 0; i < made->size(); ++i) {
    const ValueId source = node.outputs[i];
    const Size rank = type(source).rank();
    if (rank != static_cast<Size>(order.size())) {  // the last cell beside all steps
      held_[source.slot()] = {(*made)[i], source_order(rank), source_order(rank)};
      patch_.replace(source, (*made)[i]);
      continue;
    }
    held_[source.slot()] = {(*made)[i], order, home, features};
    patch_.replace(source, (*made)[i], is_identity(order) ? Sizes{} : order);
    const auto& origin = graph_[source].origin;
    if (features && origin && origin->permutation.empty()) {
      Sizes split{-1}, permutation{0};
      split.insert(split.end(), features->split.begin(), features->split.end());
      for (const Size axis : features->permutation) permutation.push_back(axis + 1);
      patch_.origin((*made)[i], {origin->source, split, permutation});
    }
  }
  return {};
}

Status Layout::in_source_order(const Node& node) {
  std::vector<ValueId> inputs(node.inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!node.inputs[i]) continue;
    auto made = in(node, node.inputs[i], source_order(type(node.inputs[i]).rank()));
    if (!made) return pass(made);
    inputs[i] = *made;
  }
  const Sizes order = source_order(type(node.outputs[0]).rank());
  return emit(node, node.op, std::move(inputs), order, order);
}

Status Layout::spatial(const Node& node, const Sizes& order) {
  auto inputs = inputs_with_first_in(node, order);
  if (!inputs) return pass(inputs);
  if (holds_alternative<MaxUnpool>(node.op)) {
    auto positions = in(node, node.inputs[1], order);
    if (!positions) return pass(positions);
    inputs->at(1) = *positions;
  }
  Op op = node.op.visit([&]<class T>(T o) -> Op {
    if constexpr (std::is_same_v<T, Resize>) return resized_in(o, order);
    if constexpr (requires { o.axes.order; }) o.axes.order = to_;
    if constexpr (std::is_same_v<T, DepthToSpace> || std::is_same_v<T, SpaceToDepth>) o.order = to_;
    return o;
  });
  return emit(node, std::move(op), std::move(*inputs), order, order);
}

// Where channels come first they have to be second; Keras takes them anywhere. The other axes may lie in any order,
// because statistics are over all of them.
Status Layout::group_norm(const Node& node, GroupNorm op, const Sizes& wanted) {
  const Held& x = held(node.inputs[0]);
  const Size axis = positive_axis(op.axis, type(node.inputs[0]).rank());
  const bool second = x.order.size() > 1 && x.order[0] == 0 && x.order[1] == axis;
  const bool fits = to_ == Order::ChannelsFirst ? second : !x.order.empty() && x.order[0] == 0;
  const Sizes order = fits || wanted.empty() ? x.order : wanted;
  auto inputs = inputs_with_first_in(node, order);
  if (!inputs) return pass(inputs);
  op.axis = place_in(order, axis);
  return emit(node, op, std::move(*inputs), order, order);
}

// The order of a node whose inputs and output share one: that of its inputs if they agree, else what its readers wish.
Sizes Layout::common_order(const Node& node) const {
  const Size rank = type(node.outputs[0]).rank();
  const Sizes* first = nullptr;
  const Sizes* home = nullptr;
  bool agree = true;
  for (const ValueId v : node.inputs) {
    if (!v || graph_[v].constant || type(v).rank() != rank) continue;
    const Held& x = held(v);
    agree = agree && (!first || *first == x.order);
    if (!first) first = &x.order;
    if (!home || is_identity(*home)) home = &x.home;
  }
  if (!first) return source_order(rank);
  if (agree) return *first;
  return wish(node.outputs[0]).empty() ? *home : wish(node.outputs[0]);
}

Status Layout::shared_order(const Node& node) {
  const bool many = holds_alternative<Concat>(node.op);
  const Sizes order = many ? common_order(node) : held(node.inputs[0]).order;
  std::vector<ValueId> inputs(node.inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!node.inputs[i]) continue;
    auto made = in(node, node.inputs[i], many || i == 0 ? order : source_order(type(node.inputs[i]).rank()));
    if (!made) return pass(made);
    inputs[i] = *made;
  }
  return emit(node, *reordered(node.op, order), std::move(inputs), order, many ? order : held(node.inputs[0]).home);
}

Result<ValueId> Layout::operand(const Node& node, ValueId source, const Sizes& order) {
  const Size rank = type(source).rank(), full = static_cast<Size>(order.size());
  if (rank == full) return in(node, source, order);
  if (is_identity(order) || rank == 0) return in(node, source, source_order(rank));
  Shape shape(static_cast<std::size_t>(full - rank), Dim(1));
  const Shape& own = type(source).shape;
  shape.insert(shape.end(), own.begin(), own.end());
  if (const auto& constant = graph_[source].constant) {
    if (constant->count() == 1) return source;
    // Aligned at the last axis, permuted, and leading ones dropped again: [C] becomes [C, 1, 1].
    const Sizes split = *sizes_of(shape);
    Sizes turned = *sizes_of(in_order(shape, order));
    while (turned.size() > 1 && turned.front() == 1) turned.erase(turned.begin());
    return constants_.reordered(source, split, order, turned);
  }
  auto x = in(node, source, source_order(rank));
  if (!x) return pass(x);
  auto made = patch_.node(node, Unsqueeze{source_order(full - rank)}, {*x});
  if (made) made = patch_.node(node, Transpose{order}, {made->front()});
  if (!made) return pass(made);
  changed_ = true;
  return made->front();
}

Status Layout::binary(const Node& node, const Binary& op) {
  const Sizes order = common_order(node);
  std::vector<ValueId> inputs;
  for (const ValueId v : node.inputs) {
    auto made = operand(node, v, order);
    if (!made) return pass(made);
    inputs.push_back(*made);
  }
  return emit(node, op, std::move(inputs), order, order);
}

Status Layout::prelu(const Node& node, const PRelu& op) {
  Sizes order = held(node.inputs[0]).order;
  if (order[0] != 0) order = source_order(static_cast<Size>(order.size()));
  auto x = in(node, node.inputs[0], order);
  if (!x) return pass(x);
  Sizes own;  // of the slope, which has no batch axis
  for (std::size_t i = 1; i < order.size(); ++i) own.push_back(order[i] - 1);
  const bool full = type(node.inputs[1]).rank() == static_cast<Size>(own.size());
  auto slope = in(node, node.inputs[1], full ? own : source_order(type(node.inputs[1]).rank()));
  if (!slope) return pass(slope);
  return emit(node, op, {*x, *slope}, order, held(node.inputs[0]).home);
}

namespace {

// Whether an operator is given another order of axes than every target wants of it.
bool wants_another_order(const Graph& graph, Order order) {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    if (node.inputs.empty() || !node.inputs[0]) return false;
    const Sizes wanted = wanted_order(node, graph[node.inputs[0]].type, order);
    return !wanted.empty() && !is_identity(wanted);
  });
}

bool moves(const std::optional<Interface>& interface) {
  const auto moved = [](const Border& border) { return !is_identity(border.permutation); };
  return interface && (std::ranges::any_of(interface->inputs, moved) || std::ranges::any_of(interface->outputs, moved));
}

}  // namespace

// A file of the target's own keeps its transposes where it has them, unless fewer would be left: written a second time it
// is the same. Those around recurrent cells are the cells' own affair.
Result<Patch> move_axes(const Graph& graph, const Target& target) {
  const Order wanted = target.framework == Framework::Keras ? Order::ChannelsLast : Order::ChannelsFirst;
  auto patch = Layout(graph, wanted, target.interface).run();
  if (!patch || patch->empty() || target.framework != Framework::OnnxRuntime) return patch;
  if (wants_another_order(graph, wanted) || moves(target.interface)) return patch;
  Graph moved = graph;
  if (auto done = apply(moved, *patch); !done) return pass(done);
  if (time_first(moved).transposes < time_first(graph).transposes) return patch;
  return Patch(graph);
}

}  // namespace convoy
