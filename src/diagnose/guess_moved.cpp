// What goes wrong where numbers only change their places: reshapes, shuffles, concatenations; and the axis of a softmax.
#include "base/permute.h"
#include "diagnose/hypothesis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace convoy::diagnose {

namespace {

Sizes identity(std::size_t rank) {
  Sizes order(rank);
  std::iota(order.begin(), order.end(), Size{0});
  return order;
}

// The channels' axis of x and of y lies first or last in each.
void shuffles_between(Guesses& guesses, std::size_t node, ValueId from, const Node& about) {
  const Scene& scene = guesses.scene;
  const ValueId out = scene.a.nodes[node].outputs[0];
  const Sizes &x = scene.shape(from), &y = scene.shape(out);
  if (x.size() != 4 || y.size() != 4) return;
  for (const bool x_first : {true, false})
    for (const bool y_first : {true, false}) {
      const Sizes in = x_first ? x : Sizes{x[0], x[3], x[1], x[2]}, to = y_first ? y : Sizes{y[0], y[3], y[1], y[2]};
      const bool grows = in[2] > 0 && to[2] > in[2] && to[2] % in[2] == 0;
      const bool shrinks = to[2] > 0 && in[2] > to[2] && in[2] % to[2] == 0;
      if (!grows && !shrinks) continue;
      for (const bool depth_first : {true, false}) {
        Graph changed = scene.a;
        changed.nodes[node].inputs = {from};
        if (grows) changed.nodes[node].op = DepthToSpace{Order::ChannelsFirst, to[2] / in[2], depth_first};
        else changed.nodes[node].op = SpaceToDepth{Order::ChannelsFirst, in[2] / to[2], depth_first};
        if (!y_first) changed = with_node_behind(changed, out, Transpose{{0, 2, 3, 1}}, about);
        if (!x_first) {
          std::size_t at = 0;
          while (
              at < changed.nodes.size() &&
              !(changed.nodes[at].inputs.size() == 1 && changed.nodes[at].inputs[0] == from &&
                changed.nodes[at].op == (grows ? Op(DepthToSpace{Order::ChannelsFirst, to[2] / in[2], depth_first})
                                               : Op(SpaceToDepth{Order::ChannelsFirst, in[2] / to[2], depth_first}))))
            ++at;
          if (at == changed.nodes.size()) continue;
          changed = with_node_in_front(changed, at, 0, Transpose{{0, 3, 1, 2}});
        }
        guesses.add("depth_to_space_order", about,
                    depth_first ? "blocks are the slow part of the channel" : "blocks are the fast part of the channel",
                    std::move(changed));
      }
    }
}

// A run of reshapes and transposes that ends at `node` and turns [N, C, H, W] into [N, C/(b*b), H*b, W*b], or back.
void guess_shuffle(Guesses& guesses, std::size_t node) {
  const Scene& scene = guesses.scene;
  const auto moves = [](const Op& op) {
    return holds_alternative<Reshape>(op) || holds_alternative<Transpose>(op) || holds_alternative<Unsqueeze>(op) ||
           holds_alternative<Squeeze>(op) || holds_alternative<Flatten>(op);
  };
  const Node& last = scene.a.nodes[node];
  if (!moves(last.op)) return;
  ValueId from = last.inputs[0];
  // The layer that the source itself calls a transpose, where a pass left it as another operator.
  const auto turns = [](const Node& n) {
    return n.kind.find("ranspose") != std::string::npos || n.kind.find("ermute") != std::string::npos;
  };
  const Node* transpose = turns(last) || holds_alternative<Transpose>(last.op) ? &last : nullptr;
  while (from) {
    const Node& about = transpose ? *transpose : last;
    shuffles_between(guesses, node, from, about);
    if (!scene.a[from].producer) break;
    const Node& maker = scene.a[scene.a[from].producer];
    if (!moves(maker.op)) break;
    if (turns(maker) || (holds_alternative<Transpose>(maker.op) && !(transpose && turns(*transpose))))
      transpose = &maker;
    from = maker.inputs[0];
  }
}

template <class O>
void guess_depth_order(Guesses& guesses, std::size_t node, O op) {
  op.depth_first = !op.depth_first;
  guesses.add("depth_to_space_order", guesses.scene.a.nodes[node], "blocks and channels the other way",
              with_op(guesses.scene.a, node, op));
}

void guess_layout(Guesses& guesses, std::size_t node) {
  const Scene& scene = guesses.scene;
  const Node& about = scene.a.nodes[node];
  const Sizes& shape = scene.shape(about.inputs[0]);
  const Sizes& out = scene.shape(about.outputs[0]);
  const auto turned = [&](const Sizes& sizes, auto&& add) {
    if (sizes.size() < 3 || sizes.size() > 5) return;
    Sizes order = identity(sizes.size());
    while (std::ranges::next_permutation(order.begin() + 1, order.end()).found) add(order);
  };
  const std::string_view cause = out.size() == 2 && shape.size() > 2 ? "flatten_order" : "reshape_layout";
  // Between two reshapes the order of axes is a matter of layout: it is the second that reads it as it should not.
  const bool is_read_flat = out.size() > 2 && std::ranges::any_of(scene.a.nodes, [&](const Node& next) {
                              return holds_alternative<Reshape>(next.op) && next.inputs[0] == about.outputs[0];
                            });
  // Another order in front, and the same numbers read under that order's shape.
  turned(shape, [&](const Sizes& order) {
    guesses.add(cause, about, "the axes in another order in front",
                with_node_in_front(scene.a, node, 0, Transpose{order}), is_read_flat ? 1 : 0);
  });
  turned(out, [&](const Sizes& order) {
    Graph changed = with_op(scene.a, node, Reshape{in_order(out, order)});
    guesses.add(cause, about, "the axes in another order behind",
                with_node_behind(changed, about.outputs[0], Transpose{inverse(order)}, about), is_read_flat ? 1 : 0);
  });
}

}  // namespace

void guess_moved(Guesses& guesses, std::size_t node) {
  const Scene& scene = guesses.scene;
  const Node& about = scene.a.nodes[node];
  guess_shuffle(guesses, node);
  if (const auto* op = get_if<DepthToSpace>(&about.op)) guess_depth_order(guesses, node, *op);
  if (const auto* op = get_if<SpaceToDepth>(&about.op)) guess_depth_order(guesses, node, *op);
  if (holds_alternative<Reshape>(about.op) || holds_alternative<Flatten>(about.op)) guess_layout(guesses, node);
  if (const auto* op = get_if<Transpose>(&about.op); op && op->permutation.size() <= 4) {
    Sizes order = identity(op->permutation.size());
    do {
      if (order != op->permutation)
        guesses.add("reshape_layout", about, "another order of axes", with_op(scene.a, node, Transpose{order}));
    } while (std::ranges::next_permutation(order).found);
  }
  if (const auto* op = get_if<convoy::Concat>(&about.op)) {
    const auto inputs = about.inputs;
    const auto in_order = [&](const Sizes& order) {
      Graph changed = scene.a;
      for (std::size_t i = 0; i < inputs.size(); ++i)
        changed.nodes[node].inputs[i] = inputs[static_cast<std::size_t>(order[i])];
      if (changed.nodes[node].inputs != inputs)
        guesses.add("concat_order", about, "the inputs in another order", std::move(changed));
    };
    Sizes order = identity(inputs.size());
    if (inputs.size() <= 4) {
      while (std::ranges::next_permutation(order).found) in_order(order);
    } else if (inputs.size() <= 32) {
      for (std::size_t i = 0; i < order.size(); ++i)
        for (std::size_t j = i + 1; j < order.size(); ++j) {
          std::swap(order[i], order[j]);
          in_order(order);
          std::swap(order[i], order[j]);
        }
      std::ranges::reverse(order);
      in_order(order);
    }
    for (std::size_t axis = 0; axis < scene.shape(inputs[0]).size(); ++axis)
      if (static_cast<Size>(axis) != op->axis)
        guesses.add("concat_axis", about, fmt::format("along axis {} in place of {}", axis, op->axis),
                    with_op(scene.a, node, convoy::Concat{static_cast<Size>(axis)}));
  }
  if (const auto* op = get_if<convoy::Softmax>(&about.op)) {
    for (std::size_t axis = 0; axis < scene.shape(about.inputs[0]).size(); ++axis) {
      convoy::Softmax now = *op;
      now.axes = {static_cast<Size>(axis)};
      if (now != *op)
        guesses.add("softmax_axis", about, fmt::format("over axis {}", axis), with_op(scene.a, node, now));
    }
    convoy::Softmax now = *op;
    now.logarithm = !now.logarithm;
    guesses.add("activation_variant", about, "its logarithm, or not", with_op(scene.a, node, now));
  }
}

// ---- the model's input -------------------------------------------------------------------------------------------------

// After every step, as one scale and offset.
std::vector<Affine> lines_from_inputs(const Graph& b) {
  std::vector<Affine> lines;
  std::vector<std::pair<ValueId, Affine>> open;
  for (const ValueId v : b.inputs) open.emplace_back(v, Affine{1, 0});
  for (std::size_t at = 0; at < open.size() && at < 16; ++at) {
    const auto [from, line] = open[at];
    for (const Node& node : b.nodes) {
      if (node.inputs.empty() || node.inputs[0] != from) continue;
      const auto* affine = get_if<Affine>(&node.op);
      const auto* binary = get_if<Binary>(&node.op);
      const Tensor* number = binary ? constant_of(b, node, 1) : nullptr;
      if (!affine && (!number || number->count() != 1)) continue;
      Affine now = line;
      if (affine) {
        now = {line.scale * affine->scale, line.offset * affine->scale + affine->offset};
      } else {
        const double n = number->doubles()[0];
        if (binary->function == BinaryFunction::Multiply) now = {line.scale * n, line.offset * n};
        else if (binary->function == BinaryFunction::Divide && n != 0) now = {line.scale / n, line.offset / n};
        else if (binary->function == BinaryFunction::Add) now.offset += n;
        else if (binary->function == BinaryFunction::Subtract) now.offset -= n;
        else continue;
      }
      lines.push_back(now);
      open.emplace_back(node.outputs[0], now);
    }
  }
  return lines;
}

namespace {

// What a pipeline does to pictures before the first layer sees them.
bool prepares(const Graph& piece, const Node& node) {
  if (holds_alternative<Affine>(node.op)) return true;
  return holds_alternative<Binary>(node.op) && node.inputs.size() == 2 && constant_of(piece, node, 1);
}

}  // namespace

bool prepares_input(const Graph& graph, const Node& node) {
  return prepares(graph, node) || holds_alternative<Transpose>(node.op) || holds_alternative<Take>(node.op) ||
         holds_alternative<Pad>(node.op) || holds_alternative<Identity>(node.op);
}

bool is_in_front(const Scene& scene, const Node& node) {
  ValueId v = node.inputs[0];
  while (v && scene.a[v].producer) {
    const Node& maker = scene.a[scene.a[v].producer];
    if (!prepares_input(scene.a, maker)) return false;
    v = maker.inputs[0];
  }
  const auto at = static_cast<std::size_t>(std::ranges::find(scene.a.inputs, v) - scene.a.inputs.begin());
  return at < scene.a.inputs.size() && (at >= scene.of_model.size() || scene.of_model[at]);
}

namespace {

// One number for all channels is a scale or an offset; a vector in which some numbers are a's is one that was loaded wrongly.
std::string_view cause_of_numbers(const Tensor& own, const Tensor& theirs) {
  const auto x = own.doubles(), y = theirs.doubles();
  const auto is_near = [](double p, double q) { return std::abs(p - q) <= 0x1p-7 * std::abs(p); };
  const bool some_alike = std::inner_product(x.begin(), x.end(), y.begin(), false, std::logical_or<>(), is_near);
  return x.size() > 1 && (some_alike || std::ranges::is_permutation(x, y)) ? "weights_differ" : "preprocessing";
}

// All steps at once; and each with b's numbers.
void guess_preparation(Guesses& guesses) {
  const Scene& scene = guesses.scene;
  Graph bare = scene.a;
  std::vector<ValueId> gone;
  for (const Node& node : scene.a.nodes) {
    if (!prepares(scene.a, node) || !is_in_front(scene, node)) continue;
    gone.push_back(node.outputs[0]);
    const auto n = static_cast<std::size_t>(&node - scene.a.nodes.data());
    for (const Node* other : twins<Binary>(scene)) {
      const Tensor *own = constant_of(scene.a, node, 1), *theirs = constant_of(scene.b, *other, 1);
      if (own && theirs && other->op == node.op && own->count() == theirs->count() && !same_bytes(*own, *theirs))
        guesses.add(cause_of_numbers(*own, *theirs), node, "b's numbers",
                    with_constant(scene.a, n, 1, theirs->reshaped(own->shape())));
    }
  }
  if (gone.size() < 2) return;
  const Node first = scene.a[scene.a[gone.front()].producer];
  for (const ValueId v : gone) {
    const auto at = std::ranges::find_if(bare.nodes, [&](const Node& node) { return node.outputs[0] == v; });
    bare = without_node(bare, static_cast<std::size_t>(at - bare.nodes.begin()));
  }
  guesses.add("preprocessing", first, "without it and the steps behind it", std::move(bare));
}

}  // namespace

void guess_input(Guesses& guesses) {
  const Scene& scene = guesses.scene;
  if (!scene.reads_input) return;
  guess_preparation(guesses);
  for (std::size_t i = 0; i < scene.a.inputs.size(); ++i) {
    if (i < scene.of_model.size() && !scene.of_model[i]) continue;
    Node before;
    before.layer = i < scene.before.size() ? scene.before[i] : std::string();
    for (const Node& node : scene.a.nodes)
      if (std::ranges::find(node.inputs, scene.a.inputs[i]) != node.inputs.end()) {
        before.layer = node.layer;
        before.kind = node.kind;
        break;
      }
    const Sizes& shape = scene.shape(scene.a.inputs[i]);
    for (std::size_t axis = 1; axis < shape.size(); ++axis) {
      if (shape[axis] < 2 || shape[axis] > 4 || (axis != 1 && axis + 1 != shape.size())) continue;
      Sizes order = identity(static_cast<std::size_t>(shape[axis]));
      std::ranges::reverse(order);
      guesses.add("channel_order", before, std::string(reversed_input),
                  with_node_behind(scene.a, scene.a.inputs[i], Take{static_cast<Size>(axis), order}, before));
    }
    if (shape.size() == 4 && shape[2] > 1 && shape[3] > 1)
      guesses.add("input_hw_swapped", before, "rows and columns exchanged",
                  with_node_behind(scene.a, scene.a.inputs[i], Transpose{{0, 1, 3, 2}}, before));
    // What b does to its input, done to a's; and what a does left out.
    std::vector<Affine> lines = lines_from_inputs(scene.b);
    for (const Node* node : twins<Affine>(scene)) lines.push_back(get<Affine>(node->op));
    for (const Affine& affine : lines)
      guesses.add("preprocessing", before,
                  fmt::format("the input times {:.6g} plus {:.6g}", affine.scale, affine.offset),
                  with_node_behind(scene.a, scene.a.inputs[i], affine, before));
  }
  for (std::size_t n = 0; n < scene.a.nodes.size(); ++n) {
    const auto* affine = get_if<Affine>(&scene.a.nodes[n].op);
    const auto* binary = get_if<Binary>(&scene.a.nodes[n].op);
    const bool is_constant = binary && scene.a.nodes[n].inputs.size() == 2 && constant_of(scene.a, scene.a.nodes[n], 1);
    if ((!affine && !is_constant) || !is_in_front(scene, scene.a.nodes[n])) continue;
    guesses.add("preprocessing", scene.a.nodes[n], "without it", without_node(scene.a, n));
    if (!affine) continue;
    for (const Node* other : twins<Affine>(scene))
      guesses.add("preprocessing", scene.a.nodes[n], "b's scale and offset", with_op(scene.a, n, other->op));
    for (const Affine& other : {Affine{1.0 / 255, 0}, Affine{1 / 127.5, -1}, Affine{1.0 / 127, -1}, Affine{1, 0},
                                Affine{affine->scale, 0}, Affine{1, affine->offset}})
      if (!(other == *affine))
        guesses.add("preprocessing", scene.a.nodes[n], "another scale and offset", with_op(scene.a, n, other));
  }
}

}  // namespace convoy::diagnose
