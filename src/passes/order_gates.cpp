// Stores recurrent cells as [gates*U, F] with two biases, gates in the order i, f, g, o and r, z, n. Cells that PyTorch has
// no module for are stored as for Keras: their writer spells the steps out.
// For Keras as [F, gates*U] with one bias, the sum of both, gates in the order i, f, c, o and z, r, h; a GRU that resets
// behind the product keeps two.
#include "passes/constants.h"
#include "passes/node_by_node.h"
#include "passes/rewrites.h"

#include <algorithm>
#include <type_traits>

namespace convoy {

namespace {

constexpr std::size_t weights = 5;  // inputs from 1 on up to here hold gates; behind them are states and peepholes

bool has_module(const Node& node, const Lstm& op) {
  const bool peepholes = node.inputs.size() > 7 && node.inputs[7];
  return !peepholes && !rounds_as_keras_does(op) && op.activation == CellFunction::Tanh &&
         op.recurrent_activation == CellFunction::Sigmoid;
}
bool has_module(const Node&, const Gru& op) {
  return op.reset_after && !rounds_as_keras_does(op) && op.activation == CellFunction::Tanh &&
         op.recurrent_activation == CellFunction::Sigmoid;
}
bool has_module(const Node&, const SimpleRnn& op) {
  return !rounds_as_keras_does(op) && (op.activation == CellFunction::Tanh || op.activation == CellFunction::Relu);
}

class Gates {
 public:
  Gates(const Graph& graph, const Target& target)
      : graph_(graph),
        keras_(target.framework == Framework::Keras),
        patch_(graph),
        constants_(graph, patch_) {}

  Result<Patch> run() {
    return node_by_node<Lstm, Gru, SimpleRnn>(graph_, patch_, [&](NodeId id, const auto& op) { return cell(id, op); });
  }

 private:
  template <class Cell>
  Status cell(NodeId id, Cell op) {
    constexpr bool swaps_first_two = std::is_same_v<Cell, Gru>;
    const Node& node = graph_[id];
    if (keras_) return cell_of_keras(id, op, swaps_first_two);
    for (std::size_t i = 1; i < std::min(weights, node.inputs.size()); ++i)
      if (node.inputs[i] && !graph_[node.inputs[i]].constant) return {};
    if (!has_module(node, op)) return cell_of_keras(id, op, swaps_first_two);
    if (op.gates == GateOrder::Torch) return {};
    op.gates = GateOrder::Torch;
    std::vector<ValueId> inputs = node.inputs;
    inputs.resize(std::max(weights, inputs.size()));
    for (std::size_t i = 1; i < weights; ++i)
      if (inputs[i]) inputs[i] = ordered(inputs[i], swaps_first_two);
    if (const ValueId bias = inputs[3] ? inputs[3] : inputs[4]) {
      for (const std::size_t i : {std::size_t{3}, std::size_t{4}})
        if (!inputs[i]) inputs[i] = zeros_like(node, bias, i == 3 ? "bias" : "recurrent_bias");
    }
    return become(id, op, std::move(inputs));
  }

  Status become(NodeId id, const Op& op, std::vector<ValueId> inputs) {
    const Node& node = graph_[id];
    auto now = patch_.node(node, op, std::move(inputs), node.outputs.size());
    if (!now) return pass(now);
    for (std::size_t i = 0; i < now->size(); ++i) patch_.replace(node.outputs[i], (*now)[i]);
    patch_.remove(id);
    return {};
  }

  template <class Cell>
  Status cell_of_keras(NodeId id, Cell op, bool swaps_first_two) {
    const Node& node = graph_[id];
    bool two = false;
    if constexpr (requires { op.reset_after; }) two = op.reset_after;
    std::vector<ValueId> inputs = node.inputs;
    inputs.resize(std::max(weights, inputs.size()));
    const bool one_is_missing = !inputs[3] != !inputs[4];
    if (op.gates == GateOrder::Keras && (two ? !one_is_missing : !inputs[4])) return {};
    for (std::size_t i = 1; i < weights; ++i)
      if (inputs[i] && !graph_[inputs[i]].constant)
        return within(place_of(node), Status(fail(Fault::Unsupported,
                                                  "computes its weights, which a layer of Keras "
                                                  "does not take")));
    const bool turns = op.gates == GateOrder::Torch;
    const ValueId added =
        !two && inputs[3] && inputs[4] ? sum(node, inputs[3], inputs[4], turns && swaps_first_two) : ValueId{};
    for (std::size_t i = 1; turns && i < weights; ++i)
      if (inputs[i] && !(added && i > 2)) inputs[i] = from_torch(inputs[i], swaps_first_two);
    op.gates = GateOrder::Keras;
    if (two && one_is_missing) {
      const std::size_t missing = inputs[3] ? 4 : 3;
      inputs[missing] = zeros_like(node, inputs[7 - missing], missing == 3 ? "bias" : "recurrent_bias");
    } else if (!two) {
      if (added) inputs[3] = added;
      else if (inputs[4]) inputs[3] = inputs[4];
      inputs[4] = {};
    }
    return become(id, op, std::move(inputs));
  }

  // [gates*U, F] -> [F, gates*U], or a bias; r, z, n becomes z, r, h where asked.
  ValueId from_torch(ValueId constant, bool swaps_first_two) {
    const Sizes& shape = graph_[constant].constant->shape();
    if (!swaps_first_two) return shape.size() == 2 ? constants_.reordered(constant, {}, {1, 0}) : constant;
    return constants_.taken(constant, 0, second_gate_first(shape.front() / 3), shape.size() == 2);
  }

  // Of two biases of the graph, with r, z, n as z, r, h where asked.
  ValueId sum(const Node& node, ValueId bias, ValueId other, bool swaps_first_two) {
    const auto key = std::pair{bias, other};
    if (const auto it = sums_.find(key); it != sums_.end()) return it->second;
    const Tensor& a = *graph_[bias].constant;
    auto numbers = a.doubles();
    const auto more = graph_[other].constant->doubles();
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] += more[i];
    if (const auto units = static_cast<std::ptrdiff_t>(numbers.size() / 3); swaps_first_two)
      std::swap_ranges(numbers.begin(), numbers.begin() + units, numbers.begin() + units);
    patch_.remark(node, keras_ ? "its two biases are added, because a layer of Keras has one"
                               : "its two biases are added, because nothing stands between them");
    return sums_[key] =
               patch_.constant(node.layer + "/bias", Tensor::of(a.shape(), std::move(numbers)).converted(a.dtype()));
  }

  // [F, gates*U] -> [gates*U, F], or a bias; z, r, h becomes r, z, h where asked. The swap of two gates is a choice of
  // rows that no permutation of axes says, so such a constant has no origin.
  ValueId ordered(ValueId constant, bool swaps_first_two) {
    const Sizes& shape = graph_[constant].constant->shape();
    if (!swaps_first_two) return shape.size() == 2 ? constants_.reordered(constant, {}, {1, 0}) : constant;
    return constants_.taken(constant, static_cast<Size>(shape.size()) - 1, second_gate_first(shape.back() / 3),
                            shape.size() == 2);
  }

  static Sizes second_gate_first(Size units) {
    Sizes rows;
    for (const Size gate : {Size{1}, Size{0}, Size{2}})
      for (Size u = 0; u < units; ++u) rows.push_back(gate * units + u);
    return rows;
  }

  ValueId zeros_like(const Node& node, ValueId bias, const char* what) {
    const auto key = std::pair{bias, std::string(what)};
    if (const auto it = zeros_.find(key); it != zeros_.end()) return it->second;
    const Sizes shape = *sizes_of(patch_.type(bias).shape);
    Tensor zeros = Tensor::of(shape, std::vector<float>(static_cast<std::size_t>(shape[0]), 0.0F));
    return zeros_[key] = patch_.constant(node.layer + "/" + what, zeros.converted(patch_.type(bias).dtype));
  }

  const Graph& graph_;
  bool keras_;
  Patch patch_;
  Constants constants_;
  std::map<std::pair<ValueId, std::string>, ValueId> zeros_;
  std::map<std::pair<ValueId, ValueId>, ValueId> sums_;
};

}  // namespace

Result<Patch> order_gates(const Graph& graph, const Target& target) { return Gates(graph, target).run(); }

}  // namespace convoy
