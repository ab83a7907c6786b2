// What goes wrong with cells that walk along time: the order of the gates, the end that is taken, the functions inside.
#include "diagnose/fingerprint.h"
#include "diagnose/hypothesis.h"

#include <algorithm>
#include <numeric>

namespace convoy::diagnose {

namespace {

// Inputs from 1 on up to `weights` hold gates; behind them are states, and behind those the peepholes of an LSTM.
constexpr std::size_t weights = 5, peepholes = 7, most_inputs = 8;

template <class Cell>
constexpr Size gates_of() {
  return std::is_same_v<Cell, Lstm> ? 4 : std::is_same_v<Cell, Gru> ? 3 : 1;
}

// Every tensor of the cell, or the one of this input alone, with its blocks of gates in this order.
template <class Cell>
Graph with_gates(const Graph& piece, std::size_t node, const Cell& cell, const Sizes& order, std::size_t only = 0) {
  Graph changed = piece;
  const Node about = piece.nodes[node];
  for (std::size_t input = 1; input < std::min(weights, about.inputs.size()); ++input) {
    if (only != 0 && input != only) continue;
    const Tensor* tensor = constant_of(piece, about, input);
    if (!tensor) continue;
    const std::size_t axis = tensor->rank() == 2 && cell.gates == GateOrder::Keras ? 1 : 0;
    const Size units = tensor->shape()[axis] / static_cast<Size>(order.size());
    Sizes rows;
    for (const Size gate : order)
      for (Size u = 0; u < units; ++u) rows.push_back(gate * units + u);
    changed = with_constant(changed, node, input, taken(*tensor, axis, rows));
  }
  return changed;
}

// Steps and batch exchanged in front of the cell, and back behind it; the end is then that of the sequence still.
template <class Cell>
void guess_time(Guesses& guesses, std::size_t node, const Cell& cell) {
  const Node& about = guesses.scene.a.nodes[node];
  const ValueId out = about.outputs[0];
  Cell all = cell;
  all.returns_sequence = true;
  Graph changed = with_op(guesses.scene.a, node, all);
  if (!cell.returns_sequence) {
    changed = with_node_behind(changed, out, Squeeze{{1}}, about);
    changed = with_node_behind(changed, out, Slice{1, -1, {}, 1}, about);
  }
  changed = with_node_behind(changed, out, Transpose{{1, 0, 2}}, about);
  const auto at = std::ranges::find(changed.nodes, about.outputs, &Node::outputs);
  if (at == changed.nodes.end()) return;
  guesses.add(
      "sequence_axis", about, "walked along the batch",
      with_node_in_front(changed, static_cast<std::size_t>(at - changed.nodes.begin()), 0, Transpose{{1, 0, 2}}));
}

// B's cell in the place of a's, with the weights that it has: one of another kind, or one whose weights have other shapes.
template <class Other, class Cell>
void guess_kind(Guesses& guesses, std::size_t node, const Cell& cell, std::string_view cause) {
  if (!guesses.so_far.empty()) return;  // it would explain whatever else was changed
  for (const Node* twin : twins<Other>(guesses.scene)) {
    auto theirs = get<Other>(twin->op);
    if constexpr (std::is_same_v<Other, Gru> && std::is_same_v<Cell, Gru>)
      if (theirs.reset_after == cell.reset_after) continue;
    theirs.returns_sequence = cell.returns_sequence;
    theirs.backwards = cell.backwards;
    Graph changed = with_op(guesses.scene.a, node, theirs);
    for (std::size_t input = 1; input < std::max(twin->inputs.size(), changed.nodes[node].inputs.size()); ++input) {
      const Tensor* tensor = constant_of(guesses.scene.b, *twin, input);
      changed = tensor ? with_constant(changed, node, input, *tensor) : without_input(changed, node, input);
    }
    guesses.add(cause, guesses.scene.a.nodes[node], "b's cell with its own weights", std::move(changed));
  }
}

// B's numbers in the place of a's: each tensor alone, and all of them.
template <class Cell>
void guess_numbers(Guesses& guesses, std::size_t node, const Cell&) {
  const Scene& scene = guesses.scene;
  const Node& about = scene.a.nodes[node];
  for (const Node* other : twins<Cell>(scene)) {
    Graph all = scene.a;
    int differing = 0;
    for (std::size_t input = 1; input < std::min(weights, about.inputs.size()); ++input) {
      const Tensor *own = constant_of(scene.a, about, input), *theirs = constant_of(scene.b, *other, input);
      if (!own || !theirs || own->shape() != theirs->shape() || same_bytes(*own, *theirs)) continue;
      constexpr std::string_view words[] = {"", "the kernel", "the recurrent kernel", "the bias", "the recurrent bias"};
      guesses.add("weights_differ", about, std::string(words[input]) + " of b",
                  with_constant(scene.a, node, input, *theirs));
      all = with_constant(all, node, input, *theirs);
      ++differing;
    }
    if (differing < 2) continue;
    // A cell of both directions goes by one name.
    const Tensor *own = constant_of(scene.a, about, 1), *theirs = constant_of(scene.b, *other, 1);
    const bool is_anothers = own && theirs && scene.kernels && fingerprint(*own) != fingerprint(*theirs) &&
                             scene.kernels->contains(fingerprint(*theirs));
    guesses.add(is_anothers ? "weights_exchanged" : "weights_differ", about,
                is_anothers ? "the numbers of another cell" : "the numbers of b", std::move(all));
  }
}

// What the cell reads there: numbers of b, or none.
template <class Cell>
void guess_inputs(Guesses& guesses, std::size_t node, std::size_t first, std::size_t last, std::string_view cause,
                  std::string_view what) {
  const Scene& scene = guesses.scene;
  const Node& about = scene.a.nodes[node];
  for (const Node* other : twins<Cell>(scene)) {
    Graph changed = scene.a;
    bool any = false, given = false;
    for (std::size_t input = first; input < std::min(last, std::max(about.inputs.size(), other->inputs.size()));
         ++input) {
      const Tensor *own = constant_of(scene.a, about, input), *theirs = constant_of(scene.b, *other, input);
      if (!own && !theirs) continue;
      changed = theirs ? with_constant(changed, node, input, *theirs) : without_input(changed, node, input);
      any = any || !own || !theirs || !same_bytes(*own, *theirs);
      given = given || theirs;
    }
    if (any) guesses.add(cause, about, (given ? "b's " : "without ") + std::string(what), std::move(changed));
  }
}

// PyTorch adds two biases: where both were filled with the original's, it is added twice.
void guess_bias_twice(Guesses& guesses, std::size_t node) {
  const Scene& scene = guesses.scene;
  const Node& about = scene.a.nodes[node];
  const Tensor *bias = constant_of(scene.a, about, 3), *recurrent = constant_of(scene.a, about, 4);
  if (!bias || (recurrent && recurrent->shape() != bias->shape())) return;
  auto twice = bias->floats();
  const auto more = recurrent ? recurrent->floats() : std::vector<float>(twice.size(), 0.0F);
  for (std::size_t i = 0; i < twice.size(); ++i) twice[i] = 2 * (twice[i] + more[i]);
  const Graph once = recurrent ? without_input(scene.a, node, 4) : scene.a;
  guesses.add("bias_doubled", about, "with its bias twice",
              with_constant(once, node, 3, Tensor::of(bias->shape(), std::move(twice))));
}

template <class Cell>
void guess_cell(Guesses& guesses, std::size_t node, const Cell& cell) {
  const Scene& scene = guesses.scene;
  const Node& about = scene.a.nodes[node];
  Sizes order(static_cast<std::size_t>(gates_of<Cell>()));
  std::iota(order.begin(), order.end(), Size{0});
  while (std::ranges::next_permutation(order).found)
    for (std::size_t only = 0; only < std::min(guesses.so_far.empty() ? weights : 1, about.inputs.size()); ++only)
      guesses.add("gate_order", about,
                  only == 0 ? "the gates in another order" : "the gates of one tensor in another order",
                  with_gates(scene.a, node, cell, order, only), only == 0 ? 0 : 1);
  guess_numbers(guesses, node, cell);
  guess_inputs<Cell>(guesses, node, weights, peepholes, "initial_state", "state in front of the first step");
  guess_inputs<Cell>(guesses, node, peepholes, most_inputs, "peepholes", "peepholes");
  // The number at the other end of the sequence, walked the same way; or the whole walked the other way.
  if (!cell.returns_sequence) {
    Cell all = cell;
    all.returns_sequence = true;
    guesses.add("sequence_end", about, "the state after the first step",
                with_node_behind(with_node_behind(with_op(scene.a, node, all), about.outputs[0], Squeeze{{1}}, about),
                                 about.outputs[0], Slice{1, 0, 1, 1}, about));
  } else {
    guesses.add("sequence_end", about, "the steps in reverse order",
                with_node_behind(scene.a, about.outputs[0], Slice{1, {}, {}, -1}, about));
  }
  guess_time(guesses, node, cell);
  if constexpr (!std::is_same_v<Cell, Lstm>) guess_kind<Lstm>(guesses, node, cell, "cell_kind");
  guess_kind<Gru>(guesses, node, cell, std::is_same_v<Cell, Gru> ? "reset_after" : "cell_kind");
  if constexpr (!std::is_same_v<Cell, SimpleRnn>) guess_kind<SimpleRnn>(guesses, node, cell, "cell_kind");
  Cell other = cell;
  other.backwards = !cell.backwards;
  guesses.add("sequence_end", about, "walked the other way", with_op(scene.a, node, other));
  if constexpr (!std::is_same_v<Cell, Gru>) guess_bias_twice(guesses, node);
  for (std::size_t input = 3; input < std::min(weights, about.inputs.size()); ++input)
    if (constant_of(scene.a, about, input))
      guesses.add("bias_missing", about, "without a bias", without_input(scene.a, node, input));
  if constexpr (std::is_same_v<Cell, Gru>) {
    Gru now = cell;
    now.reset_after = !now.reset_after;
    guesses.add("reset_after", about, "the reset gate on the other side of the product", with_op(scene.a, node, now));
  }
  if constexpr (!std::is_same_v<Cell, SimpleRnn>) {
    for (const CellFunction f : {CellFunction::Sigmoid, CellFunction::HardSigmoid6, CellFunction::HardSigmoid5}) {
      Cell now = cell;
      now.recurrent_activation = f;
      if (now != cell)
        guesses.add("activation_variant", about, "another function of the gates", with_op(scene.a, node, now));
    }
  }
  for (const CellFunction f : {CellFunction::Tanh, CellFunction::Relu, CellFunction::Linear}) {
    Cell now = cell;
    now.activation = f;
    if (now != cell)
      guesses.add("activation_kind", about, "another function of the state", with_op(scene.a, node, now));
  }
  for (const std::size_t input : {std::size_t{1}, std::size_t{2}}) {
    const Tensor* tensor = constant_of(scene.a, about, input);
    if (tensor && tensor->shape()[0] == tensor->shape()[1])
      guesses.add("dense_transposed", about, "a matrix transposed",
                  with_constant(scene.a, node, input, tensor->permuted(Sizes{1, 0})));
  }
}

}  // namespace

void guess_recurrent(Guesses& guesses, std::size_t node) {
  const Op& op = guesses.scene.a.nodes[node].op;
  if (const auto* cell = get_if<Lstm>(&op)) guess_cell(guesses, node, *cell);
  if (const auto* cell = get_if<Gru>(&op)) guess_cell(guesses, node, *cell);
  if (const auto* cell = get_if<SimpleRnn>(&op)) guess_cell(guesses, node, *cell);
}

}  // namespace convoy::diagnose
