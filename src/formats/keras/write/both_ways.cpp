#include "formats/keras/write/both_ways.h"

#include <algorithm>
#include <optional>

namespace convoy::keras::writing {
namespace {

// A cell as it would walk from the front.
struct RecurrentWalk {
  Op cell;
  bool backwards, returns_sequence;
};

std::optional<RecurrentWalk> walk_of(const Op& op) {
  std::optional<RecurrentWalk> walk;
  const auto take = [&](const auto* cell) {
    if (!cell) return;
    auto forward = *cell;
    forward.backwards = false;
    walk = RecurrentWalk{forward, cell->backwards, cell->returns_sequence};
  };
  take(get_if<Lstm>(&op));
  take(get_if<Gru>(&op));
  take(get_if<SimpleRnn>(&op));
  return walk;
}

class Finder {
 public:
  explicit Finder(const Graph& graph) : graph_(graph), readers_(readers_of(graph)) {
    pairs_.goes.resize(graph.nodes.size());
  }

  Pairs find() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) merge({static_cast<std::int32_t>(i)});
    return std::move(pairs_);
  }

 private:
  std::string mode_of(const Node& node) const {
    if (node.inputs.size() != 2 || !node.inputs[0] || !node.inputs[1]) return {};
    const TensorType& type = graph_[node.inputs[0]].type;
    if (type.shape != graph_[node.inputs[1]].type.shape) return {};
    if (const auto* concat = get_if<Concat>(&node.op)) return concat->axis == type.rank() - 1 ? "concat" : "";
    const auto* binary = get_if<Binary>(&node.op);
    if (!binary) return {};
    return binary->function == BinaryFunction::Add ? "sum" : binary->function == BinaryFunction::Multiply ? "mul" : "";
  }

  // What makes a value that is read once.
  NodeId only_for_one(ValueId v) const {
    const bool given = std::ranges::find(graph_.outputs, v) != graph_.outputs.end();
    return !given && readers_[v.slot()].size() == 1 ? graph_[v].producer : NodeId{};
  }

  bool are_alike(const Node& a, const Node& b) const {
    const auto input = [](const Node& node, std::size_t i) {
      return i < node.inputs.size() ? node.inputs[i] : ValueId{};
    };
    if (a.inputs[0] != b.inputs[0] || a.outputs.size() != 1 || b.outputs.size() != 1) return false;
    for (const std::size_t i : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{4}})
      if (static_cast<bool>(input(a, i)) != static_cast<bool>(input(b, i))) return false;
    return std::max(a.inputs.size(), b.inputs.size()) <= 5 ||
           std::ranges::none_of(
               std::vector{input(a, 5), input(b, 5), input(a, 6), input(b, 6), input(a, 7), input(b, 7)},
               [](ValueId v) { return static_cast<bool>(v); });
  }

  void merge(NodeId id) {
    const Node& node = graph_[id];
    const std::string mode = mode_of(node);
    if (mode.empty()) return;
    const NodeId forward = only_for_one(node.inputs[0]);
    NodeId backward = only_for_one(node.inputs[1]), turn;
    if (!forward || !backward) return;
    if (graph_[backward].op == Op(Slice{1, {}, {}, -1})) {
      turn = backward;
      backward = only_for_one(graph_[turn].inputs[0]);
      if (!backward) return;
    }
    const auto there = walk_of(graph_[forward].op), back = walk_of(graph_[backward].op);
    if (!there || !back || there->cell != back->cell || there->backwards || !back->backwards) return;
    if (static_cast<bool>(turn) != there->returns_sequence || !are_alike(graph_[forward], graph_[backward])) return;
    for (const NodeId gone : {forward, backward, turn})
      if (gone) pairs_.goes[gone.slot()] = 1;
    pairs_.merged.emplace(id, BothWays{forward, backward, mode});
  }

  const Graph& graph_;
  std::vector<std::vector<NodeId>> readers_;
  Pairs pairs_;
};

}  // namespace

Pairs both_ways(const Graph& graph) { return Finder(graph).find(); }

}  // namespace convoy::keras::writing
