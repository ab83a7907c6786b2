// Channels in another order: the outputs or inputs of a layer, its bias, the vectors of a norm, what a stretch hands on. The
// order is not guessed but read off the numbers that both have.
#include "diagnose/channel_order.h"
#include "diagnose/hypothesis.h"
#include "diagnose/piece.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace convoy::diagnose {

namespace {

constexpr std::string_view other_order = "channel_order";

struct ChannelAxes {
  std::size_t outputs, inputs;
};

// Of a kernel in the comparable form. Nothing: the operator has none.
std::optional<ChannelAxes> axes_of(const Op& op) {
  if (holds_alternative<Conv>(op)) return ChannelAxes{0, 1};
  if (const auto* up = get_if<ConvTranspose>(&op); up && up->groups == 1) return ChannelAxes{1, 0};
  if (const auto* linear = get_if<Linear>(&op))
    return linear->order == LinearOrder::OutIn ? ChannelAxes{0, 1} : ChannelAxes{1, 0};
  if (holds_alternative<Embedding>(op)) return ChannelAxes{1, 0};
  return std::nullopt;
}

void guess_kernel(Guesses& guesses, std::size_t node, const Node& other, ChannelAxes axes) {
  const Scene& scene = guesses.scene;
  const Node& about = scene.a.nodes[node];
  const Tensor *own = constant_of(scene.a, about, 1), *theirs = constant_of(scene.b, other, 1);
  if (!own || !theirs || own->shape() != theirs->shape()) return;
  const Tensor* bias = constant_of(scene.a, about, 2);
  const auto with_outputs = [&](const Graph& piece, const Sizes& order, const std::string& says) {
    guesses.add(other_order, about, says, piece);
    if (bias && bias->count() == static_cast<Size>(order.size()))
      guesses.add(other_order, about, says, with_constant(piece, node, 2, taken(*bias, 0, order)));
  };
  if (const auto order = order_between(*own, *theirs, axes.outputs))
    with_outputs(with_constant(scene.a, node, 1, *theirs), *order, "the output channels " + order_text(*order));
  // Of a matrix behind a flattened picture, the order of the picture's axes says it better.
  if (const auto order = order_between(*own, *theirs, axes.inputs))
    guesses.add(other_order, about, "the input channels " + order_text(*order),
                with_constant(scene.a, node, 1, *theirs), holds_alternative<Linear>(about.op) ? 1 : 0);
  if (const auto orders = orders_between(*own, *theirs, axes.outputs, axes.inputs))
    with_outputs(
        with_constant(scene.a, node, 1, *theirs), orders->first,
        "the output channels " + order_text(orders->first) + ", the input channels " + order_text(orders->second));
}

void guess_bias_order(Guesses& guesses, std::size_t node, const Node& other) {
  const Scene& scene = guesses.scene;
  const Node& about = scene.a.nodes[node];
  const Tensor *own = constant_of(scene.a, about, 2), *theirs = constant_of(scene.b, other, 2);
  if (!own || !theirs || own->shape() != theirs->shape() || own->rank() != 1) return;
  if (const auto order = order_between(*own, *theirs, 0))
    guesses.add(other_order, about, "the numbers of the bias " + order_text(*order),
                with_constant(scene.a, node, 2, *theirs));
}

// Vectors of one length, one beside the other: [channels, vectors].
std::optional<Tensor> beside(const Graph& graph, const Node& node, std::size_t first, std::size_t last) {
  std::vector<std::vector<float>> vectors;
  for (std::size_t input = first; input <= last; ++input)
    if (const Tensor* vector = constant_of(graph, node, input)) vectors.push_back(vector->floats());
  if (vectors.empty()) return std::nullopt;
  const std::size_t length = vectors.front().size();
  std::vector<float> all;
  for (std::size_t i = 0; i < length; ++i)
    for (const auto& vector : vectors) {
      if (vector.size() != length) return std::nullopt;
      all.push_back(vector[i]);
    }
  return Tensor::of({static_cast<Size>(length), static_cast<Size>(vectors.size())}, std::move(all));
}

// Norms and slopes: every vector in the order of b's.
void guess_vectors(Guesses& guesses, std::size_t node, const Node& other, std::size_t last) {
  const Scene& scene = guesses.scene;
  const Node& about = scene.a.nodes[node];
  const auto own = beside(scene.a, about, 1, last), theirs = beside(scene.b, other, 1, last);
  if (!own || !theirs || own->shape() != theirs->shape()) return;
  const auto order = order_between(*own, *theirs, 0);
  if (!order) return;
  Graph changed = scene.a;
  for (std::size_t input = 1; input <= last; ++input)
    if (const Tensor* vector = constant_of(scene.a, about, input); vector && vector->rank() == 1)
      changed = with_constant(changed, node, input, taken(*vector, 0, *order));
  guesses.add(other_order, about, "the channels " + order_text(*order), std::move(changed));
}

// What another order along an axis is called: of channels, of parts that b puts side by side, of cells.
std::string_view cause_along(const Scene& scene, std::size_t axis) {
  constexpr std::size_t channels = 1;  // in the comparable form
  if (axis == channels) return other_order;
  const bool joins = std::ranges::any_of(scene.b.nodes, [&](const Node& node) {
    const auto* concat = get_if<Concat>(&node.op);
    return concat && concat->axis == static_cast<Size>(axis) && node.inputs.size() > 1;
  });
  return joins ? "concat_order" : "axis_order";
}

// b takes channels in another order by a step of its own.
void guess_taken(Guesses& guesses) {
  const Scene& scene = guesses.scene;
  for (const Node* other : twins<Take>(scene)) {
    const auto& take = get<Take>(other->op);
    if (!is_order(take.indices) || take.axis == 0) continue;
    for (std::size_t v = 0; v < scene.shapes.size(); ++v) {
      const ValueId value{static_cast<std::int32_t>(v)};
      if (scene.a[value].constant || static_cast<Size>(scene.shapes[v].size()) <= take.axis ||
          scene.shapes[v][static_cast<std::size_t>(take.axis)] != static_cast<Size>(take.indices.size()))
        continue;
      const auto axis = static_cast<std::size_t>(take.axis);
      const std::string what = axis == 1 ? "the channels " : "axis " + std::to_string(axis) + " ";
      guesses.add(cause_along(scene, axis), about_value(scene, value), what + order_text(take.indices),
                  with_node_behind(scene.a, value, take, about_value(scene, value)));
    }
  }
}

// The order in which a run of steps that only move numbers leaves whole channels. Nothing: it does something else.
std::optional<Sizes> order_by_moves(const Graph& piece, ValueId from, ValueId to) {
  constexpr Size most = Size{1} << 22;
  const auto shape = sizes_of(piece[from].type.shape), after = sizes_of(piece[to].type.shape);
  if (!shape || shape != after || shape->size() < 3 || checked_count(*shape).value_or(most) >= most)
    return std::nullopt;
  const Size channels = (*shape)[1];
  const auto count = static_cast<std::size_t>(checked_count(*shape).value_or(0));
  if (count == 0) return std::nullopt;
  std::vector<float> places(count);
  for (std::size_t i = 0; i < count; ++i) places[i] = static_cast<float>(i);
  const auto moved = evaluate(cut(piece, to, {from}).graph, {Tensor::of(*shape, std::move(places))}, 1);
  if (!moved || moved->shape() != *shape) return std::nullopt;
  const auto now = moved->doubles();
  const auto cells = count / static_cast<std::size_t>((*shape)[0] * channels);
  Sizes order;
  for (Size c = 0; c < channels; ++c)
    order.push_back(static_cast<Size>(now[static_cast<std::size_t>(c) * cells]) / static_cast<Size>(cells));
  if (!is_order(order)) return std::nullopt;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t channel = i / cells % order.size();
    const std::size_t own = i + (static_cast<std::size_t>(order[channel]) - channel) * cells;
    if (now[i] != static_cast<double>(own)) return std::nullopt;
  }
  return order;
}

// Channels shuffled by reshapes and a transpose between them.
struct Shuffled {
  ValueId from, to;
  Sizes order;
};

std::vector<Shuffled> shuffled_in(const Graph& piece) {
  const auto moves = [](const Op& op) { return holds_alternative<Reshape>(op) || holds_alternative<Transpose>(op); };
  std::vector<Shuffled> all;
  for (const Node& last : piece.nodes) {
    if (!holds_alternative<Reshape>(last.op)) continue;
    ValueId from = last.inputs[0];
    int turns = 0;
    while (from && piece[from].producer && moves(piece[piece[from].producer].op)) {
      const Node& maker = piece[piece[from].producer];
      turns += holds_alternative<Transpose>(maker.op) ? 1 : 0;
      from = maker.inputs[0];
    }
    if (auto order = turns == 1 ? order_by_moves(piece, from, last.outputs[0]) : std::nullopt)
      all.push_back({from, last.outputs[0], *std::move(order)});
  }
  return all;
}

// Such steps that b alone has, and that a alone has.
void guess_shuffled_channels(Guesses& guesses) {
  const Scene& scene = guesses.scene;
  for (const Shuffled& theirs : shuffled_in(scene.b))
    for (std::size_t v = 0; v < scene.shapes.size(); ++v) {
      const ValueId value{static_cast<std::int32_t>(v)};
      if (scene.a[value].constant || scene.shapes[v].size() < 3 || scene.shapes[v][1] != std::ssize(theirs.order))
        continue;
      guesses.add(other_order, about_value(scene, value), "the channels " + order_text(theirs.order),
                  with_node_behind(scene.a, value, Take{1, theirs.order}, about_value(scene, value)));
    }
  for (const Shuffled& own : shuffled_in(scene.a)) {
    const Node about = about_value(scene, own.to);
    guesses.add(other_order, about, "the channels not put " + order_text(own.order),
                with_function(scene.a, own.from, own.to, scene.b, {}, {}, {}, about));
  }
}

// What b hands on are a's numbers, in another order along one axis.
void guess_output(Guesses& guesses) {
  const Scene& scene = guesses.scene;
  if (!scene.got || !guesses.so_far.empty()) return;
  const ValueId out = scene.a.outputs[0];
  const Tensor& wanted = scene.values[out.slot()];
  if (wanted.shape() != scene.got->shape()) return;
  for (std::size_t axis = 1; axis < wanted.shape().size(); ++axis) {
    const auto order = order_of_numbers(wanted, *scene.got, axis);
    if (!order) continue;
    const Node about = about_value(scene, out);
    // A layer with weights of its own says it better.
    guesses.add(cause_along(scene, axis), about, "axis " + std::to_string(axis) + " " + order_text(*order),
                with_node_behind(scene.a, out, Take{static_cast<Size>(axis), *order}, about), 1);
  }
}

}  // namespace

Node about_value(const Scene& scene, ValueId value) {
  ValueId v = value;
  while (scene.a[v].producer && holds_alternative<Identity>(scene.a[scene.a[v].producer].op))
    v = scene.a[scene.a[v].producer].inputs[0];
  if (const NodeId maker = scene.a[v].producer) return scene.a[maker];
  Node node;
  const auto at = std::ranges::find(scene.a.inputs, v);
  const auto i = static_cast<std::size_t>(at - scene.a.inputs.begin());
  if (i < scene.before.size()) node.layer = scene.before[i];
  return node;
}

void guess_channels(Guesses& guesses, std::size_t node) {
  const Scene& scene = guesses.scene;
  const Node& about = scene.a.nodes[node];
  const auto axes = axes_of(about.op);
  const bool has_vectors = holds_alternative<BatchNorm>(about.op) || holds_alternative<PRelu>(about.op) ||
                           holds_alternative<LayerNorm>(about.op) || holds_alternative<GroupNorm>(about.op);
  if (!axes && !has_vectors) return;
  for (const Node& other : scene.b.nodes) {
    if (other.op.index() != about.op.index()) continue;
    if (axes) {
      guess_kernel(guesses, node, other, *axes);
      guess_bias_order(guesses, node, other);
    } else {
      guess_vectors(guesses, node, other, holds_alternative<BatchNorm>(about.op) ? 4 : 2);
    }
  }
}

void guess_order_of_channels(Guesses& guesses) {
  guess_taken(guesses);
  guess_shuffled_channels(guesses);
  guess_output(guesses);
}

}  // namespace convoy::diagnose
