// Spells recurrent cells out, step by step, where the length is known: TFLite's own operators for them keep a state between calls.
// Behind order_gates: kernels are [F, gates*U], gates i, f, c, o and z, r, h, one bias but for a GRU that resets behind the product.
#include "passes/constants.h"
#include "passes/node_by_node.h"
#include "passes/passes.h"
#include "passes/rewrites.h"

#include <algorithm>
#include <numeric>

namespace convoy {

namespace {

constexpr Size most_steps = 512;

// What the nodes of one cell are made by; the first failure stays.
class Cell {
 public:
  Cell(const Graph& graph, Patch& patch, NodeId id) : graph_(graph), patch_(patch), id_(id), node_(graph[id]) {}

  bool has(std::size_t i) const { return i < node_.inputs.size() && node_.inputs[i]; }
  ValueId input(std::size_t i) const { return has(i) ? node_.inputs[i] : ValueId{}; }
  const Tensor* constant(std::size_t i) const {
    return has(i) && graph_[node_.inputs[i]].constant ? &*graph_[node_.inputs[i]].constant : nullptr;
  }
  const Shape& input_shape() const { return graph_[node_.inputs[0]].type.shape; }
  const Status& status() const { return status_; }

  std::vector<ValueId> all(Op op, std::vector<ValueId> inputs, std::size_t outputs) {
    if (!status_) return std::vector<ValueId>(outputs);
    auto made = patch_.node(node_, std::move(op), std::move(inputs), outputs);
    if (!made) return status_ = pass(made), std::vector<ValueId>(outputs);
    return *made;
  }
  ValueId one(Op op, std::vector<ValueId> inputs) { return all(std::move(op), std::move(inputs), 1)[0]; }
  ValueId sum(ValueId a, ValueId b) { return a && b ? one(Binary{BinaryFunction::Add}, {a, b}) : a ? a : b; }
  ValueId product(ValueId a, ValueId b) { return one(Binary{BinaryFunction::Multiply}, {a, b}); }
  ValueId numbers(std::string_view word, Tensor tensor) {
    return patch_.constant(node_.layer + "/" + std::string(word), std::move(tensor));
  }
  // Parts of [N, parts * U] along the last axis.
  std::vector<ValueId> parts(ValueId x, std::size_t count, Size units) {
    return all(Split{1, Sizes(count, units)}, {x}, count);
  }
  ValueId function(CellFunction f, ValueId x);

  // [N, T, F] to what the input adds to the gates in each step, [N, gates * U] each, in walking order.
  std::vector<ValueId> gates_of_steps(bool backwards);
  // Steps beside one another, or the last.
  Status become(const std::vector<ValueId>& states, bool returns_sequence, ValueId cell = {});

 private:
  const Graph& graph_;
  Patch& patch_;
  NodeId id_;
  const Node& node_;
  Status status_;
};

ValueId Cell::function(CellFunction f, ValueId x) {
  switch (f) {
    case CellFunction::Linear: return x;
    case CellFunction::Tanh: return one(Unary{Function::Tanh}, {x});
    case CellFunction::Sigmoid: return one(Unary{Function::Sigmoid}, {x});
    case CellFunction::Relu: return one(Relu{}, {x});
    case CellFunction::HardSigmoid6: return one(HardSigmoid{1.0 / 6, 0.5}, {x});
    case CellFunction::HardSigmoid5: return one(HardSigmoid{0.2, 0.5}, {x});
    case CellFunction::Softsign: return one(Unary{Function::Softsign}, {x});
    case CellFunction::Elu: return one(Elu{}, {x});
    case CellFunction::Selu: return one(Unary{Function::Selu}, {x});
    case CellFunction::Softplus: return one(Unary{Function::Softplus}, {x});
  }
  std::unreachable();
}

std::vector<ValueId> Cell::gates_of_steps(bool backwards) {
  const auto steps = static_cast<std::size_t>(*input_shape()[1]);
  const ValueId gates = one(Linear{LinearOrder::InOut}, {input(0), input(1), input(3)});
  auto each = all(Split{1, Sizes(steps, 1)}, {gates}, steps);
  for (ValueId& step : each) step = one(Squeeze{{1}}, {step});
  if (backwards) std::ranges::reverse(each);
  return each;
}

Status Cell::become(const std::vector<ValueId>& states, bool returns_sequence, ValueId cell) {
  ValueId y = states.back();
  if (returns_sequence) {
    std::vector<ValueId> steps;
    for (const ValueId state : states) steps.push_back(one(Unsqueeze{{1}}, {state}));
    y = one(Concat{1}, std::move(steps));
  }
  if (!status_) return status_;
  patch_.replace(node_.outputs[0], y);
  if (cell) patch_.replace(node_.outputs[1], cell);
  patch_.remove(id_);
  patch_.remark(node_, "spelt out over " + std::to_string(states.size()) + " steps");
  return {};
}

Status spell(Cell& cell, const Lstm& op) {
  const Size units = cell.constant(2)->shape()[0];
  std::vector<ValueId> peepholes(3);
  if (cell.has(7)) peepholes = cell.all(Split{0, Sizes(3, units)}, {cell.input(7)}, 3);
  const auto seen = [&](ValueId gate, ValueId c, std::size_t i) {
    return peepholes[i] && c ? cell.sum(gate, cell.product(c, peepholes[i])) : gate;
  };
  ValueId h = cell.input(5), c = cell.input(6);
  std::vector<ValueId> states;
  for (const ValueId from_input : cell.gates_of_steps(op.backwards)) {
    const ValueId inner = h ? cell.one(Linear{LinearOrder::InOut}, {h, cell.input(2), cell.input(4)}) : cell.input(4);
    const auto gates = cell.parts(cell.sum(from_input, inner), 4, units);
    const ValueId in = cell.function(op.recurrent_activation, seen(gates[0], c, 0));
    const ValueId forget = cell.function(op.recurrent_activation, seen(gates[1], c, 1));
    const ValueId added = cell.product(in, cell.function(op.activation, gates[2]));
    c = c ? cell.sum(cell.product(forget, c), added) : added;
    const ValueId out = cell.function(op.recurrent_activation, seen(gates[3], c, 2));
    h = cell.product(out, cell.function(op.activation, c));
    states.push_back(h);
  }
  return cell.become(states, op.returns_sequence, op.returns_cell ? c : ValueId{});
}

// The columns from `first` on.
Tensor columns(const Tensor& kernel, Size first, Size count) {
  Sizes places(static_cast<std::size_t>(count));
  std::iota(places.begin(), places.end(), first);
  return cells_along(kernel, 1, places);
}

Status spell(Cell& cell, const Gru& op) {
  const Size units = cell.constant(2)->shape()[0];
  ValueId kernel = cell.input(2), candidate;
  if (!op.reset_after) {
    kernel = cell.numbers("recurrent_gates", columns(*cell.constant(2), 0, 2 * units));
    candidate = cell.numbers("recurrent_candidate", columns(*cell.constant(2), 2 * units, units));
  }
  std::vector<ValueId> biases(3);
  if (cell.has(4)) biases = cell.all(Split{0, Sizes(3, units)}, {cell.input(4)}, 3);
  ValueId h = cell.input(5);
  std::vector<ValueId> states;
  for (const ValueId from_input : cell.gates_of_steps(op.backwards)) {
    const auto x = cell.parts(from_input, 3, units);
    std::vector<ValueId> inner = biases;
    if (h) {
      const std::size_t count = op.reset_after ? 3 : 2;
      inner = cell.parts(cell.one(Linear{LinearOrder::InOut}, {h, kernel, op.reset_after ? cell.input(4) : ValueId{}}),
                         count, units);
      if (!op.reset_after && biases[0]) inner = {cell.sum(inner[0], biases[0]), cell.sum(inner[1], biases[1])};
    }
    const ValueId z = cell.function(op.recurrent_activation, cell.sum(x[0], inner[0]));
    const ValueId r = cell.function(op.recurrent_activation, cell.sum(x[1], inner[1]));
    ValueId recurrent = biases[2];
    if (op.reset_after) recurrent = inner[2] ? cell.product(r, inner[2]) : ValueId{};
    else if (h) recurrent = cell.one(Linear{LinearOrder::InOut}, {cell.product(r, h), candidate, biases[2]});
    const ValueId next =
        cell.product(cell.one(Affine{-1, 1}, {z}), cell.function(op.activation, cell.sum(x[2], recurrent)));
    h = h ? cell.sum(cell.product(z, h), next) : next;
    states.push_back(h);
  }
  return cell.become(states, op.returns_sequence);
}

Status spell(Cell& cell, const SimpleRnn& op) {
  ValueId h = cell.input(5);
  std::vector<ValueId> states;
  for (const ValueId from_input : cell.gates_of_steps(op.backwards)) {
    const ValueId inner = h ? cell.one(Linear{LinearOrder::InOut}, {h, cell.input(2), cell.input(4)}) : cell.input(4);
    h = cell.function(op.activation, cell.sum(from_input, inner));
    states.push_back(h);
  }
  return cell.become(states, op.returns_sequence);
}

}  // namespace

Result<Patch> lower_cells(const Graph& graph, const Target& target) {
  Patch patch(graph);
  if (!target.lite) return patch;
  return node_by_node<Lstm, Gru, SimpleRnn>(graph, patch, [&](NodeId id, const auto& op) -> Status {
    Cell cell(graph, patch, id);
    const Dim steps = cell.input_shape()[1];
    if (op.gates != GateOrder::Keras || !steps.known() || *steps < 1 || *steps > most_steps || !cell.constant(2))
      return {};
    return spell(cell, op);
  });
}

}  // namespace convoy
