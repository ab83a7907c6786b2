#include "formats/torch/steps.h"

#include <algorithm>
#include <map>
#include <span>

namespace convoy::torch {
namespace {

// A scope that becomes a class, with all calls on the way to it.
struct Level {
  std::string path, name, calls;
  friend bool operator==(const Level&, const Level&) = default;
};

std::vector<Level> levels_of(const Node& node, const std::set<std::string>& flattened) {
  std::vector<Level> levels;
  std::string path, calls;
  for (const Scope& scope : node.scopes) {
    path += (path.empty() ? "" : "/") + scope.name;
    calls += "/" + std::to_string(scope.call);
    if (!flattened.contains(path)) levels.push_back({path, scope.name, calls});
  }
  return levels;
}

class Grouping {
 public:
  Grouping(const Graph& graph, std::set<std::string>& flattened) : graph_(graph), flattened_(flattened) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      levels_.push_back(levels_of(graph.nodes[i], flattened));
      for (const ValueId v : graph.nodes[i].inputs)
        if (v) last_reader_[v] = i;
    }
    for (const ValueId v : graph.outputs) last_reader_[v] = graph.nodes.size();
  }

  std::vector<Step> steps(std::size_t first, std::size_t last, std::size_t depth) {
    std::vector<Step> steps;
    std::set<std::string> seen;
    for (std::size_t i = first; i < last;) {
      if (levels_[i].size() <= depth) {
        steps.push_back(single(i++));
        continue;
      }
      const Level& level = levels_[i][depth];
      std::size_t end = i;
      while (end < last && levels_[end].size() > depth && levels_[end][depth] == level) ++end;
      if (!seen.insert(level.path + level.calls).second) flattened_.insert(level.path);
      steps.push_back(nested(level, i, end, depth));
      i = end;
    }
    return steps;
  }

 private:
  Step single(std::size_t i) const {
    Step step;
    step.node = NodeId{static_cast<std::int32_t>(i)};
    for (const ValueId v : graph_.nodes[i].inputs)
      if (v && !graph_[v].constant) step.inputs.push_back(v);
    step.outputs = graph_.nodes[i].outputs;
    return step;
  }

  Step nested(const Level& level, std::size_t first, std::size_t last, std::size_t depth) {
    Step step{.node = {},
              .path = level.path,
              .name = level.name,
              .inside = steps(first, last, depth + 1),
              .inputs = {},
              .outputs = {}};
    std::set<ValueId> made, asked;
    for (std::size_t i = first; i < last; ++i) {
      for (const ValueId v : graph_.nodes[i].inputs)
        if (v && !graph_[v].constant && !made.contains(v) && asked.insert(v).second) step.inputs.push_back(v);
      for (const ValueId v : graph_.nodes[i].outputs) {
        made.insert(v);
        const auto reader = last_reader_.find(v);
        if (reader != last_reader_.end() && reader->second >= last) step.outputs.push_back(v);
      }
    }
    return step;
  }

  const Graph& graph_;
  std::set<std::string>& flattened_;
  std::vector<std::vector<Level>> levels_;
  std::map<ValueId, std::size_t> last_reader_;
};

}  // namespace

std::vector<Step> steps_of(const Graph& graph, std::set<std::string>& flattened) {
  return Grouping(graph, flattened).steps(0, graph.nodes.size(), 0);
}

std::string layer_of(const Node& node, const std::set<std::string>& flattened) {
  std::string path, prefix, layer = node.layer;
  for (const Scope& scope : node.scopes) {
    path += (path.empty() ? "" : "/") + scope.name;
    // A reader may name layers by their whole path.
    if (layer.size() > scope.name.size() + 1 && layer.starts_with(scope.name + "/"))
      layer.erase(0, scope.name.size() + 1);
    prefix = flattened.contains(path) ? prefix + scope.name + "_" : "";
  }
  return prefix + layer;
}

}  // namespace convoy::torch
