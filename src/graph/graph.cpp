#include "graph/graph.h"

#include "base/budget.h"
#include "graph/path.h"
#include "graph/size_condition.h"

#include <algorithm>
#include <set>
#include <unordered_set>
#include <utility>

namespace convoy {
namespace {

ValueId last_value(const Graph& g) { return {static_cast<std::int32_t>(g.values.size()) - 1}; }
NodeId node_at(std::size_t i) { return {static_cast<std::int32_t>(i)}; }

bool in_range(const Graph& g, ValueId v) { return v.index >= 0 && v.slot() < g.values.size(); }

// Whether the operator does without its second result from now on: the last cell of an LSTM, the places of maxima.
bool drop_second(Op& op) {
  if (auto* lstm = get_if<Lstm>(&op)) return std::exchange(lstm->returns_cell, false);
  if (auto* pool = get_if<MaxPool>(&op)) return std::exchange(pool->positions, Positions::None) != Positions::None;
  if (auto* pool = get_if<AdaptivePool>(&op)) return std::exchange(pool->positions, Positions::None) != Positions::None;
  return false;
}

std::vector<Input> inputs_of(const Graph& g, const std::vector<ValueId>& ids) {
  std::vector<Input> all;
  all.reserve(ids.size());
  for (const ValueId v : ids) {
    if (!v) {
      all.push_back({});
      continue;
    }
    const Value& value = g[v];
    all.push_back({&value.type, value.constant ? &*value.constant : nullptr});
  }
  return all;
}

// Every size below is a product of these: their count, in bytes and with room to spare, is a number.
Status expect_countable(const Shape& shape) {
  constexpr Size most = Size{1} << 56;
  Sizes known;
  for (const Dim size : shape)
    if (size.known()) known.push_back(*size);
  const auto count = checked_count(known);
  if (count && *count <= most && std::ranges::all_of(known, [](Size n) { return n <= most; })) return {};
  return fail(Fault::Limit, "gives " + text_of(shape) + ", which are more numbers than any machine counts");
}

Result<TensorTypes> infer_node(const Graph& g, const Op& op, const std::vector<ValueId>& ids) {
  constexpr Size most_axes = 64;  // as many as any framework takes
  constexpr double steps = 100, steps_per_input = 10;
  if (auto paid = budget::spend(steps + steps_per_input * static_cast<double>(ids.size()), "following shapes"); !paid)
    return pass(paid);
  const auto inputs = inputs_of(g, ids);
  auto types = infer(op, Inputs(inputs));
  if (!types) return types;
  for (const TensorType& type : *types) {
    if (type.rank() > most_axes)
      return fail(Fault::Limit, "makes a tensor of " + std::to_string(type.rank()) + " axes, the limit is 64");
    if (auto counted = expect_countable(type.shape); !counted) return pass(counted);
  }
  return types;
}

}  // namespace

Graph::Graph() = default;
Graph::Graph(const Graph& other) = default;
Graph::Graph(Graph&& other) noexcept = default;
Graph& Graph::operator=(const Graph& other) = default;
Graph& Graph::operator=(Graph&& other) noexcept = default;
Graph::~Graph() = default;

ValueId Graph::input(std::string value_name, TensorType type) {
  Value v;
  v.name = unique_name(value_name);
  v.type = std::move(type);
  values.push_back(std::move(v));
  inputs.push_back(last_value(*this));
  return inputs.back();
}

ValueId Graph::constant(std::string value_name, Tensor tensor, bool trainable) {
  Value v;
  v.name = unique_name(value_name);
  v.type = type_of(tensor);
  v.constant = std::move(tensor);
  v.trainable = trainable;
  values.push_back(std::move(v));
  return last_value(*this);
}

void Graph::see_names() const {
  if (named_ > values.size()) names_.clear(), named_ = 0;
  for (; named_ < values.size(); ++named_) names_.insert(values[named_].name);
}

std::string Graph::unique_name(const std::string& wanted) const {
  see_names();
  if (wanted.empty()) return unique_name("value");
  if (!names_.contains(wanted)) return wanted;
  const auto candidate = [&](Size i) { return wanted + "." + std::to_string(i); };
  // The first number that is free behind a taken one, by doubling and halving: thousands of nodes may want one name.
  Size taken = 0, free = 1;
  while (names_.contains(candidate(free))) taken = free, free *= 2;
  while (free - taken > 1) {
    const Size middle = taken + (free - taken) / 2;
    (names_.contains(candidate(middle)) ? taken : free) = middle;
  }
  return candidate(free);
}

void Graph::rename(ValueId value, const std::string& wanted) {
  std::string& its_name = (*this)[value].name;
  if (its_name == wanted) return;
  see_names();
  names_.erase(its_name);
  its_name = unique_name(wanted);
  names_.insert(its_name);
}

Result<std::vector<ValueId>> Graph::add(Op op, std::vector<ValueId> node_inputs, std::string layer, std::string kind,
                                        std::vector<Scope> scopes) {
  Node node{std::move(op), std::move(node_inputs), {}, std::move(layer), std::move(kind), std::move(scopes)};
  for (const ValueId v : node.inputs)
    if (v && !in_range(*this, v))
      return within(place_of(node),
                    Result<std::vector<ValueId>>(fail(Fault::Internal, "reads a value that is not in the graph")));
  auto types = infer_node(*this, node.op, node.inputs);
  if (!types) return within(place_of(node), Result<std::vector<ValueId>>(pass(types)));
  const NodeId id = node_at(nodes.size());
  for (auto& type : *types) {
    Value v;
    v.name = unique_name(node.layer);
    v.type = std::move(type);
    v.producer = id;
    values.push_back(std::move(v));
    node.outputs.push_back(last_value(*this));
  }
  auto outputs_made = node.outputs;
  nodes.push_back(std::move(node));
  return outputs_made;
}

std::vector<std::vector<NodeId>> readers_of(const Graph& graph) {
  std::vector<std::vector<NodeId>> readers(graph.values.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    for (const ValueId v : graph.nodes[i].inputs)
      if (v) {
        auto& list = readers[v.slot()];
        if (list.empty() || list.back() != node_at(i)) list.push_back(node_at(i));
      }
  return readers;
}

std::string place_of(const Node& node) {
  const auto kind = node.kind.empty() ? std::string(name_of(node.op)) : node.kind;
  return "layer '" + path_of(node) + "' (" + kind + ")";
}

Status infer_all(Graph& graph) {
  for (Node& node : graph.nodes) {
    auto types = infer_node(graph, node.op, node.inputs);
    if (!types) return within(place_of(node), Status(pass(types)));
    if (types->size() != node.outputs.size())
      return within(place_of(node), Status(fail(Fault::Internal, "makes " + std::to_string(types->size()) +
                                                                     " values, the graph holds " +
                                                                     std::to_string(node.outputs.size()))));
    for (std::size_t i = 0; i < types->size(); ++i) graph[node.outputs[i]].type = std::move((*types)[i]);
  }
  return {};
}

Result<Graph> with_input_shapes(const Graph& graph, const std::vector<Shape>& input_shapes) {
  Graph sized = graph;
  if (input_shapes.size() != sized.inputs.size())
    return fail(Fault::Usage, "got " + std::to_string(input_shapes.size()) + " input shapes, the model has " +
                                  std::to_string(sized.inputs.size()) + " inputs");
  if (auto met = expect_conditions(graph, input_shapes); !met) return pass(met);
  for (std::size_t i = 0; i < input_shapes.size(); ++i) sized[sized.inputs[i]].type.shape = input_shapes[i];
  if (auto done = infer_all(sized); !done) return pass(done);
  return sized;
}

namespace {

std::string id_text(const Graph& g, ValueId v) {
  return in_range(g, v) ? "'" + g[v].name + "'" : "number " + std::to_string(v.index);
}

Status check_values(const Graph& g) {
  std::unordered_set<std::string> names;
  for (const Value& v : g.values) {
    if (v.name.empty()) return fail(Fault::Internal, "a value has no name");
    if (!names.insert(v.name).second) return fail(Fault::Internal, "two values are named '" + v.name + "'");
    if (v.constant && v.producer) return fail(Fault::Internal, "constant '" + v.name + "' is also computed");
    TensorType held = v.type;
    if (v.quantization) held.dtype = v.quantization->dtype;
    if (v.constant && type_of(*v.constant) != held)
      return fail(Fault::Internal, "constant '" + v.name + "' is not what its type says");
  }
  return {};
}

Status check_order(const Graph& g) {
  std::vector<char> ready(g.values.size(), 0);
  for (std::size_t i = 0; i < g.values.size(); ++i) ready[i] = g.values[i].constant.has_value();
  for (const ValueId v : g.inputs) {
    if (!in_range(g, v) || g[v].producer || g[v].constant)
      return fail(Fault::Internal, "input " + id_text(g, v) + " is not a plain value");
    ready[v.slot()] = 1;
  }
  for (std::size_t i = 0; i < g.nodes.size(); ++i) {
    const Node& node = g.nodes[i];
    for (const ValueId v : node.inputs)
      if (v && (!in_range(g, v) || !ready[v.slot()]))
        return within(place_of(node), Status(fail(Fault::Internal, "reads " + id_text(g, v) + " before it is made")));
    for (const ValueId v : node.outputs) {
      if (!in_range(g, v) || ready[v.slot()] || g[v].producer != node_at(i))
        return within(place_of(node), Status(fail(Fault::Internal, "output " + id_text(g, v) + " is made elsewhere")));
      ready[v.slot()] = 1;
    }
  }
  if (g.outputs.empty()) return fail(Fault::Internal, "the graph has no output");
  if (g.output_names.size() != g.outputs.size())
    return fail(Fault::Internal, "outputs and their names differ in number");
  for (const ValueId v : g.outputs)
    if (!in_range(g, v) || !ready[v.slot()]) return fail(Fault::Internal, "output " + id_text(g, v) + " is never made");
  return {};
}

}  // namespace

Status check(const Graph& graph) {
  if (auto s = check_values(graph); !s) return s;
  if (auto s = check_order(graph); !s) return s;
  for (const Node& node : graph.nodes) {
    auto types = infer_node(graph, node.op, node.inputs);
    if (!types) return within(place_of(node), Status(pass(types)));
    if (types->size() != node.outputs.size())
      return within(place_of(node), Status(fail(Fault::Internal, "the number of outputs is wrong")));
    for (std::size_t i = 0; i < types->size(); ++i)
      if (graph[node.outputs[i]].type != (*types)[i])
        return within(place_of(node),
                      Status(fail(Fault::Internal, "the graph says " + text_of(graph[node.outputs[i]].type) +
                                                       ", the operator gives " + text_of((*types)[i]))));
  }
  return {};
}

void name_origins(Graph& graph) {
  for (Value& value : graph.values) value.origin = Origin{value.name, {}, {}};
}

void prune(Graph& graph) {
  std::vector<char> needed(graph.values.size(), 0);
  for (const ValueId v : graph.outputs) needed[v.slot()] = 1;
  for (const ValueId v : graph.inputs) needed[v.slot()] = 1;
  std::vector<char> kept(graph.nodes.size(), 0);
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    Node& node = graph.nodes[i];
    const auto is_needed = [&](ValueId v) { return needed[v.slot()] != 0; };
    kept[i] = std::ranges::any_of(node.outputs, is_needed);
    if (!kept[i]) continue;
    if (node.outputs.size() == 2 && !is_needed(node.outputs[1]) && drop_second(node.op)) node.outputs.pop_back();
    for (const ValueId v : node.inputs)
      if (v) needed[v.slot()] = 1;
    for (const ValueId v : node.outputs) needed[v.slot()] = 1;
  }

  std::vector<ValueId> now(graph.values.size());
  std::vector<Value> values;
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    if (!needed[i]) continue;
    now[i] = {static_cast<std::int32_t>(values.size())};
    values.push_back(std::move(graph.values[i]));
    values.back().producer = {};  // told again by the nodes that are kept
  }
  const auto renumber = [&](std::vector<ValueId>& ids) {
    for (ValueId& v : ids)
      if (v) v = now[v.slot()];
  };
  std::vector<Node> nodes;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!kept[i]) continue;
    Node node = std::move(graph.nodes[i]);
    renumber(node.inputs);
    renumber(node.outputs);
    for (const ValueId v : node.outputs) values[v.slot()].producer = node_at(nodes.size());
    nodes.push_back(std::move(node));
  }
  renumber(graph.inputs);
  renumber(graph.outputs);
  graph.values = std::move(values);
  graph.nodes = std::move(nodes);
  graph.names_.clear();
  graph.named_ = 0;
}

}  // namespace convoy
