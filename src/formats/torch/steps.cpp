#include "formats/torch/steps.h"

#include "formats/repeated_blocks.h"

#include <algorithm>
#include <map>
#include <utility>

namespace convoy::torch {
namespace {

// A scope that becomes a class, with all calls on the way to it.
struct Level {
  std::string path, name, calls;
  friend bool operator==(const Level&, const Level&) = default;
};

// A scope's name inside the one around it: PyTorch's modules are named by their whole path, "stages.0" in "stages".
std::string inner_name(const std::string& around, const std::string& name) {
  return name.starts_with(around + ".") ? name.substr(around.size() + 1) : name;
}
// A number alone is no name: "stages_0".
std::string spoken_name(const std::string& around, const std::string& inner) {
  const bool number = !inner.empty() && inner.find_first_not_of("0123456789") == std::string::npos;
  return number && !around.empty() ? around.substr(around.find_last_of("./") + 1) + "_" + inner : inner;
}

std::vector<Level> levels_of(const Node& node, const std::set<std::string>& flattened) {
  std::vector<Level> levels;
  std::string path, calls, around;
  for (const Scope& scope : node.scopes) {
    path += (path.empty() ? "" : "/") + scope.name;
    calls += "/" + std::to_string(scope.call);
    if (!flattened.contains(path)) levels.push_back({path, spoken_name(around, inner_name(around, scope.name)), calls});
    around = scope.name;
  }
  return levels;
}

// As a person writes them.
std::vector<Step> branch_by_branch(std::vector<Step> steps, const std::vector<ValueId>& outputs) {
  const auto numbers = [](const std::vector<ValueId>& values) {
    std::vector<int> made;
    for (const ValueId v : values) made.push_back(v.index);
    return made;
  };
  std::vector<python::ProgramPiece> pieces;
  for (const Step& step : steps) {
    python::ProgramPiece piece;
    piece.reads = numbers(step.inputs);
    piece.makes = numbers(step.outputs);
    pieces.push_back(std::move(piece));
  }
  std::vector<Step> ordered;
  for (const std::size_t i : python::branch_by_branch(pieces, numbers(outputs))) ordered.push_back(std::move(steps[i]));
  return ordered;
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
    step.inside = branch_by_branch(std::move(step.inside), step.outputs);
    return step;
  }

  const Graph& graph_;
  std::set<std::string>& flattened_;
  std::vector<std::vector<Level>> levels_;
  std::map<ValueId, std::size_t> last_reader_;
};

}  // namespace

std::vector<Step> steps_of(const Graph& graph, std::set<std::string>& flattened) {
  return branch_by_branch(Grouping(graph, flattened).steps(0, graph.nodes.size(), 0), graph.outputs);
}

std::string layer_of(const Node& node, const std::set<std::string>& flattened) {
  std::string path, prefix, around, layer = node.layer;
  for (const Scope& scope : node.scopes) {
    path += (path.empty() ? "" : "/") + scope.name;
    const std::string inner = inner_name(around, scope.name);
    // A reader may name layers by their whole path.
    if (layer.size() > inner.size() + 1 && (layer.starts_with(inner + "/") || layer.starts_with(inner + ".")))
      layer.erase(0, inner.size() + 1);
    prefix = flattened.contains(path) ? prefix + spoken_name(around, inner) + "_" : "";
    around = scope.name;
  }
  return prefix + (prefix.empty() ? spoken_name(around, layer) : layer);
}

}  // namespace convoy::torch
