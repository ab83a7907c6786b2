#include "graph/cut.h"

#include "base/nearest.h"
#include "graph/path.h"

#include <algorithm>
#include <set>

namespace convoy {
namespace {

bool is_within(std::string_view path, std::string_view name) {
  return path.starts_with(name) && (path.size() == name.size() || path[name.size()] == '.' || path[name.size()] == '/');
}

// What the nodes in a module make and something outside of it reads, or what is made last where nothing does.
std::vector<ValueId> given_by(const Graph& graph, const std::string& name) {
  std::set<NodeId> inside;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (is_within(path_of(graph.nodes[i]), name)) inside.insert(NodeId{static_cast<std::int32_t>(i)});
  const auto readers = readers_of(graph);
  std::vector<ValueId> given;
  for (const NodeId node : inside)
    for (const ValueId v : graph[node].outputs) {
      const auto& by = readers[v.slot()];
      if (std::ranges::find(graph.outputs, v) != graph.outputs.end() ||
          std::ranges::any_of(by, [&](NodeId reader) { return !inside.contains(reader); }))
        given.push_back(v);
    }
  if (given.empty() && !inside.empty() && !graph[*inside.rbegin()].outputs.empty())
    given.push_back(graph[*inside.rbegin()].outputs.front());
  return given;
}

Result<ValueId> value_named(const Graph& graph, const std::string& name) {
  const auto given = given_by(graph, name);
  if (given.size() == 1) return given.front();
  const auto value = std::ranges::find_if(graph.values, [&](const Value& v) { return v.name == name && !v.constant; });
  if (value != graph.values.end()) return ValueId{static_cast<std::int32_t>(value - graph.values.begin())};
  if (!given.empty()) {
    std::string names;
    for (const ValueId v : given) names += (names.empty() ? "" : ", ") + graph[v].name;
    return fail(Fault::Usage, "'" + name + "' gives " + std::to_string(given.size()) +
                                  " values to what is behind it; cut at one of them: " + names);
  }
  std::vector<std::string> known;
  for (const Node& node : graph.nodes) known.push_back(path_of(node));
  return fail(Fault::Usage, "the model has no layer '" + name + "' to cut at" +
                                did_you_mean(name, known, "convoy summary lists them"));
}

}  // namespace

Result<Graph> cut_at(Graph graph, const std::vector<std::string>& names) {
  if (names.empty()) return graph;
  std::vector<ValueId> outputs;
  for (const std::string& name : names) {
    const auto value = value_named(graph, name);
    if (!value) return std::unexpected(value.error());
    outputs.push_back(*value);
  }
  graph.outputs = std::move(outputs);
  graph.output_names = names;
  graph.outputs_by_name = false;
  graph.one_output_in_tuple = false;
  prune(graph);
  return graph;
}

}  // namespace convoy
