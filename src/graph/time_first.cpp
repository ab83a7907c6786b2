#include "graph/time_first.h"

#include <algorithm>

namespace convoy {
namespace {

bool is_turn(const Node& node) {
  const auto* transpose = get_if<Transpose>(&node.op);
  return transpose && transpose->permutation == Sizes{1, 0, 2};
}

struct Walked {
  bool backwards, returns_sequence;
};
std::optional<Walked> walked(const Op& op) {
  if (const auto* cell = get_if<Lstm>(&op)) return Walked{cell->backwards, cell->returns_sequence};
  if (const auto* cell = get_if<Gru>(&op)) return Walked{cell->backwards, cell->returns_sequence};
  if (const auto* cell = get_if<SimpleRnn>(&op)) return Walked{cell->backwards, cell->returns_sequence};
  return std::nullopt;
}

class Finder {
 public:
  explicit Finder(const Graph& graph) : graph_(graph), readers_(readers_of(graph)), is_output_(graph.values.size()) {
    for (const ValueId v : graph.outputs) is_output_[v.slot()] = 1;
    found_.goes.resize(graph.nodes.size());
  }

  TimeFirst find() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      if (const auto cell = walked(graph_.nodes[i].op)) add({static_cast<std::int32_t>(i)}, *cell);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      found_.transposes += holds_alternative<Transpose>(graph_.nodes[i].op) && !found_.goes[i];
    return std::move(found_);
  }

 private:
  const std::vector<NodeId>& readers(ValueId v) const { return readers_[v.slot()]; }
  bool is_output(ValueId v) const { return is_output_[v.slot()] != 0; }
  // The only node that reads a value; nothing where there are others, or the graph gives it out.
  NodeId only_reader(ValueId v) const {
    return !is_output(v) && readers(v).size() == 1 ? readers(v).front() : NodeId{};
  }
  void go(NodeId node) { found_.goes[node.slot()] = 1; }

  void add(NodeId id, Walked walk) {
    const Node& node = graph_[id];
    TimeFirst::Cell cell;
    const ValueId x = node.inputs[0];
    if (const NodeId turn = graph_[x].producer; turn && is_turn(graph_[turn])) {
      cell.x = graph_[turn].inputs[0];
      const bool cells_alone =
          std::ranges::all_of(readers(x), [&](NodeId r) { return walked(graph_[r].op).has_value(); });
      if (cells_alone && !is_output(x)) go(turn);
    } else {
      ++found_.transposes;
    }
    cell.first_state = with_axis(node, 5);
    cell.first_cell = with_axis(node, 6);
    if (walk.returns_sequence &&
        !outputs(node.outputs[0], node.outputs.size() > 1 ? node.outputs[1] : ValueId{}, walk.backwards, cell)) {
      ++found_.transposes;
      const NodeId turn = walk.backwards ? only_reader(node.outputs[0]) : NodeId{};
      if (turn && graph_[turn].op == Op(Slice{1, {}, {}, -1})) {
        go(turn);
        cell.in_time = graph_[turn].outputs[0];
      }
    }
    found_.cells.emplace(id, cell);
  }

  // What a squeeze makes a first state of.
  ValueId with_axis(const Node& node, std::size_t input) {
    if (input >= node.inputs.size() || !node.inputs[input]) return {};
    const ValueId state = node.inputs[input];
    const NodeId squeeze = graph_[state].producer;
    if (!squeeze || graph_[squeeze].op != Op(Squeeze{{0}})) return {};
    if (only_reader(state)) go(squeeze);
    return graph_[squeeze].inputs[0];
  }

  // The transpose behind a value that nobody else reads, then what it gives.
  ValueId turned(ValueId v, std::vector<NodeId>& passed) const {
    const NodeId turn = only_reader(v);
    if (!turn || !is_turn(graph_[turn])) return {};
    passed.push_back(turn);
    return graph_[turn].outputs[0];
  }

  bool outputs(ValueId w, ValueId last_cell, bool backwards, TimeFirst::Cell& cell) {
    if (is_output(w) || readers(w).empty()) return false;
    const TimeFirst::Cell unmade = cell;
    std::vector<NodeId> passed;
    if (last_cell && (is_output(last_cell) || !readers(last_cell).empty())) {
      const NodeId apart = only_reader(last_cell);
      if (!apart || graph_[apart].op != Op(Unsqueeze{{0}})) return false;
      passed.push_back(apart);
      cell.last_cell = graph_[apart].outputs[0];
    }
    for (const NodeId reader : readers(w)) {
      const auto* slice = get_if<Slice>(&graph_[reader].op);
      if (slice && *slice == Slice{1, -1, {}, 1} && !cell.state) {
        passed.push_back(reader);
        cell.state = turned(graph_[reader].outputs[0], passed);
        if (!cell.state) return cell = unmade, false;
        continue;
      }
      ValueId in_time = w;
      NodeId next = reader;
      if (backwards) {
        if (!slice || *slice != Slice{1, {}, {}, -1}) return cell = unmade, false;
        passed.push_back(reader);
        in_time = graph_[reader].outputs[0];
        next = only_reader(in_time);
      }
      if (!next || !is_turn(graph_[next]) || cell.y) return cell = unmade, false;
      passed.push_back(next);
      const NodeId apart = only_reader(graph_[next].outputs[0]);
      const auto* unsqueeze = apart ? get_if<Unsqueeze>(&graph_[apart].op) : nullptr;
      if (!unsqueeze || unsqueeze->axes != Sizes{1}) return cell = unmade, false;
      passed.push_back(apart);
      cell.y = graph_[apart].outputs[0];
    }
    for (const NodeId node : passed) go(node);
    return cell.made = true;
  }

  const Graph& graph_;
  std::vector<std::vector<NodeId>> readers_;
  std::vector<char> is_output_;
  TimeFirst found_;
};

}  // namespace

TimeFirst time_first(const Graph& graph) { return Finder(graph).find(); }

}  // namespace convoy
