// Channels in another order: the outputs or inputs of a layer, its bias, the vectors of a norm, what a stretch hands on. The
// order is not guessed but read off the numbers that both have.
#include "diagnose/channel_order.h"
#include "diagnose/hypothesis.h"

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
  if (std::holds_alternative<Conv>(op)) return ChannelAxes{0, 1};
  if (const auto* up = std::get_if<ConvTranspose>(&op); up && up->groups == 1) return ChannelAxes{1, 0};
  if (const auto* linear = std::get_if<Linear>(&op))
    return linear->order == LinearOrder::OutIn ? ChannelAxes{0, 1} : ChannelAxes{1, 0};
  if (std::holds_alternative<Embedding>(op)) return ChannelAxes{1, 0};
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
                with_constant(scene.a, node, 1, *theirs), std::holds_alternative<Linear>(about.op) ? 1 : 0);
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
    const auto* concat = std::get_if<Concat>(&node.op);
    return concat && concat->axis == static_cast<Size>(axis) && node.inputs.size() > 1;
  });
  return joins ? "concat_order" : "axis_order";
}

// b takes channels in another order by a step of its own.
void guess_taken(Guesses& guesses) {
  const Scene& scene = guesses.scene;
  for (const Node* other : twins<Take>(scene)) {
    const auto& take = std::get<Take>(other->op);
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

// What b hands on are a's numbers, in another order along one axis.
void guess_output(Guesses& guesses) {
  const Scene& scene = guesses.scene;
  if (!scene.got || !guesses.so_far.empty()) return;
  const ValueId out = scene.a.outputs[0];
  const Tensor& wanted = scene.values[static_cast<std::size_t>(out.index)];
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
  while (scene.a[v].producer && std::holds_alternative<Identity>(scene.a[scene.a[v].producer].op))
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
  const bool has_vectors = std::holds_alternative<BatchNorm>(about.op) || std::holds_alternative<PRelu>(about.op) ||
                           std::holds_alternative<LayerNorm>(about.op) || std::holds_alternative<GroupNorm>(about.op);
  if (!axes && !has_vectors) return;
  for (const Node& other : scene.b.nodes) {
    if (other.op.index() != about.op.index()) continue;
    if (axes) {
      guess_kernel(guesses, node, other, *axes);
      guess_bias_order(guesses, node, other);
    } else {
      guess_vectors(guesses, node, other, std::holds_alternative<BatchNorm>(about.op) ? 4 : 2);
    }
  }
}

void guess_order_of_channels(Guesses& guesses) {
  guess_taken(guesses);
  guess_output(guesses);
}

}  // namespace convoy::diagnose
