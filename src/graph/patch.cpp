#include "graph/patch.h"

#include "base/budget.h"

#include <algorithm>
#include <queue>
#include <unordered_map>
#include <utility>

namespace convoy {

const TensorType& Patch::type(ValueId value) const {
  const auto old = graph_->values.size();
  const auto i = value.slot();
  if (const auto reshaped = inputs_.find(value); reshaped != inputs_.end()) return reshaped->second.first;
  return i < old ? (*graph_)[value].type : values_[i - old].type;
}

ValueId Patch::constant(std::string name, Tensor tensor, bool trainable, std::optional<Origin> origin) {
  Value v;
  v.name = std::move(name);
  v.type = type_of(tensor);
  v.constant = std::move(tensor);
  v.trainable = trainable;
  v.origin = std::move(origin);
  values_.push_back(std::move(v));
  return {next_value_++};
}

Result<std::vector<ValueId>> Patch::node(const Node& like, Op op, std::vector<ValueId> inputs, std::size_t outputs) {
  Node made{std::move(op), std::move(inputs), {}, like.layer, like.kind, like.scopes};
  const auto old = graph_->values.size();
  std::vector<Input> seen;
  for (const ValueId v : made.inputs) {
    if (!v) {
      seen.push_back({});
      continue;
    }
    const auto i = v.slot();
    const Value& value = i < old ? (*graph_)[v] : values_[i - old];
    seen.push_back({&type(v), value.constant ? &*value.constant : nullptr});
  }
  constexpr double steps_of_a_node = 2000;  // some passes make as many as a size in the file says
  if (auto paid = budget::spend(steps_of_a_node, "rewriting"); !paid)
    return within(place_of(made), Result<std::vector<ValueId>>(pass(paid)));
  auto types = infer(made.op, Inputs(seen));
  if (!types) return within(place_of(made), Result<std::vector<ValueId>>(pass(types)));
  if (types->size() != outputs)
    return within(place_of(made), Result<std::vector<ValueId>>(
                                      fail(Fault::Internal, "makes another number of values than the pass expects")));
  for (auto& made_type : *types) {
    Value v;
    v.name = like.layer + "/" + std::string(name_of(made.op));
    v.type = std::move(made_type);
    values_.push_back(std::move(v));
    made.outputs.push_back({next_value_++});
  }
  auto made_outputs = made.outputs;
  nodes_.push_back(std::move(made));
  return made_outputs;
}

Result<ValueId> Patch::one(const Node& like, Op op, std::vector<ValueId> inputs) {
  auto made = node(like, std::move(op), std::move(inputs));
  if (!made) return pass(made);
  return made->front();
}

Status Patch::become(NodeId node, Result<ValueId> now) {
  if (!now) return pass(now);
  remove(node);
  replace((*graph_)[node].outputs[0], *now);
  return {};
}

void Patch::replace(ValueId before, ValueId now, Sizes permutation) {
  replaced_[before] = {now, std::move(permutation)};
}

void Patch::reshape_input(ValueId input, Shape shape, Origin origin) {
  inputs_[input] = {TensorType{(*graph_)[input].type.dtype, std::move(shape)}, std::move(origin)};
}

bool Patch::empty() const {
  return nodes_.empty() && removed_.empty() && replaced_.empty() && inputs_.empty() && origins_.empty() &&
         values_.empty();
}

namespace {

// The nodes in an order of computation, keeping the order they have where it is already one.
Result<std::vector<Node>> sorted(const Graph& graph, std::vector<Node> nodes) {
  std::vector<std::int32_t> maker(graph.values.size(), -1);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (const ValueId v : nodes[i].outputs) maker[v.slot()] = static_cast<std::int32_t>(i);
  std::vector<int> waits(nodes.size(), 0);
  std::vector<std::vector<std::size_t>> wakes(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (const ValueId v : nodes[i].inputs) {
      if (!v || maker[v.slot()] < 0) continue;
      wakes[static_cast<std::size_t>(maker[v.slot()])].push_back(i);
      ++waits[i];
    }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (waits[i] == 0) ready.push(i);
  std::vector<Node> order;
  order.reserve(nodes.size());
  while (!ready.empty()) {
    const std::size_t i = ready.top();
    ready.pop();
    for (const std::size_t next : wakes[i])
      if (--waits[next] == 0) ready.push(next);
    order.push_back(std::move(nodes[i]));
  }
  if (order.size() != nodes.size()) return fail(Fault::Internal, "the patch leaves a cycle in the graph");
  return order;
}

// New nodes stand where the last value they read is made, so that the stable sort keeps neighbours together.
std::vector<Node> interleaved(std::vector<Node> old_nodes, std::vector<Node> new_nodes,
                              const std::vector<std::int32_t>& old_position, std::size_t values) {
  std::vector<std::int64_t> position(values, -1);
  for (std::size_t v = 0; v < old_position.size(); ++v) position[v] = old_position[v];
  std::vector<std::pair<std::int64_t, Node>> placed;
  std::int64_t at = 0;
  for (Node& n : old_nodes) {
    for (const ValueId v : n.outputs) position[v.slot()] = at;
    placed.emplace_back(at++, std::move(n));
  }
  for (Node& n : new_nodes) {
    std::int64_t last = -1;
    for (const ValueId v : n.inputs)
      if (v) last = std::max(last, position[v.slot()]);
    for (const ValueId v : n.outputs) position[v.slot()] = last;
    placed.emplace_back(last, std::move(n));
  }
  std::stable_sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Node> all;
  all.reserve(placed.size());
  for (auto& [unused, n] : placed) all.push_back(std::move(n));
  return all;
}

// Values that were there before come first, so they keep their names.
void make_names_unique(Graph& graph) {
  std::unordered_map<std::string, int> taken;
  for (Value& value : graph.values) {
    std::string& name = value.name;
    if (taken.emplace(name, 1).second) continue;
    const std::string base = name;
    for (int& k = taken[base];; ++k) {
      name = base + "." + std::to_string(k);
      if (taken.emplace(name, 1).second) break;
    }
  }
}

void name_producers(Graph& graph) {
  for (Value& v : graph.values) v.producer = {};
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    for (const ValueId v : graph.nodes[i].outputs) graph[v].producer = {static_cast<std::int32_t>(i)};
}

Origin moved(Origin origin, const Sizes& permutation) {
  if (permutation.empty()) return origin;
  origin.permutation = origin.permutation.empty() ? permutation : compose(origin.permutation, permutation);
  return origin;
}

}  // namespace

Status apply(Graph& graph, Patch patch) {
  const std::size_t old_values = graph.values.size();
  std::vector<std::int32_t> old_position(old_values, -1);
  std::vector<Node> old_nodes;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const ValueId v : graph.nodes[i].outputs) old_position[v.slot()] = static_cast<std::int32_t>(old_nodes.size());
    if (!patch.removed_.contains({static_cast<std::int32_t>(i)})) old_nodes.push_back(std::move(graph.nodes[i]));
  }
  for (auto& v : patch.values_) graph.values.push_back(std::move(v));

  std::vector<ValueId> last(graph.values.size());  // of those that were followed: a long chain is gone through once
  const auto follow = [&](ValueId v) {
    std::vector<ValueId> way;
    while (!last[v.slot()] && way.size() <= patch.replaced_.size()) {
      const auto it = patch.replaced_.find(v);
      if (it == patch.replaced_.end()) break;
      way.push_back(v);
      v = it->second.now;
    }
    if (const ValueId known = last[v.slot()]) v = known;
    for (const ValueId passed : way) last[passed.slot()] = v;
    return v;
  };
  for (Node& n : old_nodes)
    for (ValueId& v : n.inputs)
      if (v) v = follow(v);
  // A node of the patch reads what it was told to read, even a value replaced for everybody else (a pad in front of it,
  // say); only where that value's own node goes does it read what came instead.
  const auto goes = [&](ValueId v) { return v.slot() < old_values && patch.removed_.contains(graph[v].producer); };
  for (Node& n : patch.nodes_)
    for (ValueId& v : n.inputs)
      if (v && goes(v)) v = follow(v);
  for (ValueId& v : graph.outputs) v = follow(v);
  std::set<ValueId> named;  // where one value stands for several, it is called what the first of them was
  for (const auto& [before, to] : patch.replaced_) {
    const auto& origin = graph[before].origin;
    if (origin && !graph[to.now].origin) graph[to.now].origin = moved(*origin, to.permutation);
    graph[before].origin.reset();
    if (to.now.slot() >= old_values && named.insert(to.now).second) graph[to.now].name = graph[before].name;
  }
  for (auto& [v, origin] : patch.origins_) graph[v].origin = std::move(origin);
  if (!patch.inputs_.empty()) graph.conditions.clear();  // they name axes as they lay
  for (auto& [v, to] : patch.inputs_) {
    graph[v].type = std::move(to.first);
    graph[v].origin = std::move(to.second);
  }

  auto order =
      sorted(graph, interleaved(std::move(old_nodes), std::move(patch.nodes_), old_position, graph.values.size()));
  if (!order) return pass(order);
  graph.nodes = std::move(*order);
  name_producers(graph);
  prune(graph);
  make_names_unique(graph);
  if (auto inferred = infer_all(graph); !inferred) return inferred;
  return check(graph);
}

}  // namespace convoy
