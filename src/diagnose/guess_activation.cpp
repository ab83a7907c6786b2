// What goes wrong with functions of one number: missing, too many, another one, another slope or limit or formula.
#include "diagnose/hypothesis.h"

#include <algorithm>

namespace convoy::diagnose {

namespace {

// ReLU6 however it was said.
Op plain(const Op& op) {
  const auto* clip = get_if<Clip>(&op);
  if (clip && clip->least == 0.0) return Relu{clip->most, 0, 0, false};
  return op;
}

bool same_pair(Function x, Function y, Function a, Function b) { return (x == a && y == b) || (x == b && y == a); }

std::string_view cause_of_change(const Op& from, const Op& to) {
  const Op a = plain(from), b = plain(to);
  const auto *r = get_if<Relu>(&a), *s = get_if<Relu>(&b);
  if (r && s) {
    if (r->max_value != s->max_value && r->negative_slope == s->negative_slope) return "activation_limit";
    if (r->negative_slope != 0 && s->negative_slope != 0) return "activation_slope";
    if (r->negative_slope == s->negative_slope) return "activation_variant";
    return "activation_kind";
  }
  const auto *f = get_if<Unary>(&a), *g = get_if<Unary>(&b);
  if (f && g && same_pair(f->function, g->function, Function::Gelu, Function::GeluTanh)) return "activation_variant";
  if (f && g && same_pair(f->function, g->function, Function::HardSwish, Function::Silu)) return "activation_variant";
  if (holds_alternative<Clip>(a) && holds_alternative<Clip>(b)) return "activation_limit";
  if (a.index() == b.index() && !f) return holds_alternative<Elu>(a) ? "activation_slope" : "activation_variant";
  const auto sigmoid = [](const Op& op) {
    const auto* u = get_if<Unary>(&op);
    return holds_alternative<HardSigmoid>(op) ||
           (u && (u->function == Function::Sigmoid || u->function == Function::SparseSigmoid));
  };
  if (sigmoid(a) && sigmoid(b)) return "activation_variant";
  return "activation_kind";
}

std::vector<Op> candidates(const Scene& scene) {
  std::vector<Op> all;
  for (const Node& node : scene.b.nodes)
    if (is_function(node.op)) all.push_back(node.op);
  for (const double slope : {0.0, 0.01, 0.2, 0.3, 0.1, 0.05, 0.25}) all.push_back(Relu{{}, slope, 0, false});
  all.push_back(Relu{6.0, 0, 0, false});
  for (const Function f : {Function::Sigmoid, Function::Tanh, Function::Silu, Function::Gelu, Function::GeluTanh,
                           Function::Selu, Function::HardSwish, Function::Softsign, Function::Mish, Function::Exp})
    all.push_back(Unary{f});
  all.push_back(Elu{});
  all.push_back(HardSigmoid{1.0 / 6, 0.5});
  all.push_back(HardSigmoid{0.2, 0.5});
  all.push_back(Softplus{});
  all.push_back(Softplus{1, 20});
  return all;
}

// x times a function of x, written out: without that function, or with another.
void guess_gate(Guesses& guesses, std::size_t node) {
  const Scene& scene = guesses.scene;
  const Node& about = scene.a.nodes[node];
  const auto* unary = get_if<Unary>(&about.op);
  if (!unary || (unary->function != Function::Silu && unary->function != Function::HardSwish)) return;
  Graph alone = with_op(scene.a, node, Binary{BinaryFunction::Multiply});
  alone.nodes[node].inputs = {about.inputs[0], about.inputs[0]};
  guesses.add("activation_missing", about, "without the function that it multiplies with", std::move(alone));
  for (const Op& gate : candidates(scene)) {
    const ValueId x = about.inputs[0];
    Graph changed = with_node_in_front(scene.a, node, 0, gate);
    for (Node& product : changed.nodes)
      if (product.outputs[0] == about.outputs[0])
        product.op = Binary{BinaryFunction::Multiply}, product.inputs = {x, product.inputs[0]};
    const Op sigmoid = Unary{}, hard = HardSigmoid{1.0 / 6, 0.5};
    const std::string_view cause = gate == sigmoid ? cause_of_change(about.op, Unary{Function::Silu})
                                   : gate == hard  ? cause_of_change(about.op, Unary{Function::HardSwish})
                                                   : "activation_kind";
    guesses.add(cause, about, "x * " + function_name(gate) + "(x) in place of " + function_name(about.op),
                std::move(changed));
  }
}

// A line cut off at 0 and 1 that b does not cut off, or at one end alone.
void guess_uncut(Guesses& guesses, std::size_t node) {
  const Node& about = guesses.scene.a.nodes[node];
  const auto* cut = get_if<HardSigmoid>(&about.op);
  if (!cut) return;
  const Graph line = with_op(guesses.scene.a, node, Affine{cut->alpha, cut->beta});
  guesses.add("activation_missing", about, "without its limits", line);
  const auto at_one_end = [&](const Clip& clip, std::string says) {
    guesses.add("activation_limit", about, std::move(says), with_node_behind(line, about.outputs[0], clip, about));
  };
  at_one_end(Clip{0, {}}, "without its upper limit");
  at_one_end(Clip{{}, 1}, "without its lower limit");
}

}  // namespace

void guess_activation(Guesses& guesses, std::size_t node) {
  const Scene& scene = guesses.scene;
  const Node& about = scene.a.nodes[node];
  if (holds_alternative<PRelu>(about.op)) {
    guesses.add("activation_missing", about, "without it", without_node(scene.a, node));
    for (const Node* other : twins<PRelu>(scene))
      if (const Tensor* slope = constant_of(scene.b, *other, 1))
        guesses.add("activation_slope", about, "b's slopes", with_constant(scene.a, node, 1, *slope));
    for (const Op& op : candidates(scene)) {
      Graph changed = without_input(with_op(scene.a, node, op), node, 1);
      changed.nodes[node].inputs.resize(1);
      const auto* relu = get_if<Relu>(&op);
      guesses.add(relu && relu->negative_slope != 0 ? "activation_slope" : "activation_kind", about, "another function",
                  std::move(changed));
    }
  }
  if (!is_function(about.op)) return;
  guesses.add("activation_missing", about, "without it", without_node(scene.a, node));
  if (holds_alternative<convoy::Softmax>(about.op)) return;
  guess_gate(guesses, node);
  guess_uncut(guesses, node);
  std::vector<Op> tried{about.op};
  for (const Op& op : candidates(scene)) {
    if (std::ranges::find(tried, op) != tried.end() || holds_alternative<convoy::Softmax>(op)) continue;
    tried.push_back(op);
    guesses.add(cause_of_change(about.op, op), about, function_name(op) + " in place of " + function_name(about.op),
                with_op(scene.a, node, op));
  }
}

// ---- layers in another order, and activations too many ----------------------------------------------------------------

namespace {

// Inputs of a node that are computed.
std::vector<std::size_t> data_inputs(const Graph& piece, const Node& node) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    if (node.inputs[i] && !piece[node.inputs[i]].constant) all.push_back(i);
  return all;
}

std::size_t uses(const Graph& piece, ValueId v) {
  std::size_t count = 0;
  for (const Node& node : piece.nodes) count += static_cast<std::size_t>(std::ranges::count(node.inputs, v));
  return count + static_cast<std::size_t>(std::ranges::count(piece.outputs, v));
}

// The node, with its constants, moved to where it reads `value` and everybody else reads it.
Graph moved_behind(const Graph& piece, std::size_t node, ValueId value) {
  const Node moved = piece.nodes[node];
  std::vector<Tensor> constants;
  for (std::size_t i = 1; i < moved.inputs.size(); ++i) {
    const Tensor* constant = constant_of(piece, moved, i);
    constants.push_back(constant ? *constant : Tensor());
  }
  return with_node_behind(without_node(piece, node), value, moved.op, moved, constants);
}

bool is_elementwise(const Graph& piece, const Node& node) {
  return data_inputs(piece, node).size() == 1 && node.outputs.size() == 1 &&
         (is_function(node.op) || holds_alternative<PRelu>(node.op) || holds_alternative<BatchNorm>(node.op) ||
          holds_alternative<MaxPool>(node.op) || holds_alternative<AveragePool>(node.op) ||
          holds_alternative<Affine>(node.op) || holds_alternative<LayerNorm>(node.op));
}

void guess_extra(Guesses& guesses) {
  const Scene& scene = guesses.scene;
  std::vector<Op> found;
  for (const Node& node : scene.b.nodes)
    if (is_function(node.op) && std::ranges::find(found, node.op) == found.end()) found.push_back(node.op);
  for (const Op& op : found) {
    for (std::size_t i = 0; i < scene.a.inputs.size(); ++i) {
      Node before;
      before.layer = i < scene.before.size() ? scene.before[i] : std::string();
      guesses.add("activation_extra", before, "an activation behind it",
                  with_node_behind(scene.a, scene.a.inputs[i], op, before));
    }
    for (const Node& node : scene.a.nodes)
      if (!holds_alternative<Identity>(node.op))
        guesses.add("activation_extra", node, "an activation behind it",
                    with_node_behind(scene.a, node.outputs[0], op, node));
  }
}

// A bias added behind the functions that follow its layer.
void guess_late_bias(Guesses& guesses) {
  const Scene& scene = guesses.scene;
  constexpr int most_steps_on = 3;
  for (std::size_t n = 0; n < scene.a.nodes.size(); ++n) {
    const Node& node = scene.a.nodes[n];
    const bool has_bias = holds_alternative<Conv>(node.op) || holds_alternative<ConvTranspose>(node.op) ||
                          holds_alternative<Linear>(node.op);
    const Tensor* bias = has_bias ? constant_of(scene.a, node, 2) : nullptr;
    if (!bias || bias->rank() != 1) continue;
    Sizes shape{bias->count()};
    if (!holds_alternative<Linear>(node.op)) shape.resize(scene.shape(node.outputs[0]).size() - 1, 1);
    ValueId v = node.outputs[0];
    for (int step = 0; step < most_steps_on; ++step) {
      const auto next = std::ranges::find_if(scene.a.nodes, [&](const Node& one) {
        return !one.inputs.empty() && one.inputs[0] == v && is_elementwise(scene.a, one);
      });
      if (next == scene.a.nodes.end() || uses(scene.a, v) != 1) break;
      v = next->outputs[0];
      guesses.add("order_of_layers", node, "its bias behind '" + next->layer + "'",
                  with_node_behind(without_input(scene.a, n, 2), v, Binary{BinaryFunction::Add}, node,
                                   {bias->reshaped(shape)}));
    }
  }
}

}  // namespace

void guess_order(Guesses& guesses) {
  const Scene& scene = guesses.scene;
  guess_extra(guesses);
  guess_late_bias(guesses);
  for (std::size_t i = 0; i < scene.a.nodes.size(); ++i) {
    const Node& node = scene.a.nodes[i];
    if (!is_elementwise(scene.a, node)) continue;
    // In front of the node before it: on each of that node's inputs, and on all of them.
    const auto maker = scene.a[node.inputs[0]].producer;
    if (maker && uses(scene.a, node.inputs[0]) == 1) {
      const Node& first = scene.a[maker];
      for (const std::size_t input : data_inputs(scene.a, first)) {
        // Only this reader: a node in front of one input of `first`.
        Graph changed = scene.a;
        const std::size_t from = maker.slot();
        changed = with_node_in_front(changed, from, input, node.op);
        Node* placed = nullptr;
        for (Node& made : changed.nodes)
          if (made.op == node.op && made.layer == first.layer &&
              made.outputs[0].index == static_cast<std::int32_t>(scene.a.values.size()))
            placed = &made;
        if (!placed) continue;
        for (std::size_t c = 1; c < node.inputs.size(); ++c) placed->inputs.push_back(node.inputs[c]);
        for (std::size_t at = 0; at < changed.nodes.size(); ++at)
          if (changed.nodes[at].outputs[0] == node.outputs[0]) {
            guesses.add("order_of_layers", first, "'" + node.layer + "' in front of it", without_node(changed, at));
            break;
          }
      }
    }
    // Behind the node that reads it.
    for (const Node& next : scene.a.nodes) {
      if (std::ranges::find(next.inputs, node.outputs[0]) == next.inputs.end() || holds_alternative<Identity>(next.op))
        continue;
      if (uses(scene.a, node.outputs[0]) == 1)
        guesses.add("order_of_layers", node, "behind '" + next.layer + "'", moved_behind(scene.a, i, next.outputs[0]));
    }
  }
}

}  // namespace convoy::diagnose
