#include "diagnose/named_order.h"

#include <algorithm>
#include <string>
#include <vector>

namespace convoy::diagnose {

namespace {

// The places of `names` in which those of `wanted` stand; nothing where they are not the same names, each once.
std::optional<std::vector<std::size_t>> places_by_name(const std::vector<std::string>& wanted,
                                                       const std::vector<std::string>& names) {
  std::vector<std::size_t> places;
  if (wanted.size() != names.size()) return std::nullopt;
  for (const std::string& name : wanted) {
    const auto at = std::ranges::find(names, name);
    if (at == names.end() || std::ranges::count(names, name) != 1) return std::nullopt;
    places.push_back(static_cast<std::size_t>(at - names.begin()));
  }
  return places;
}

std::vector<std::string> input_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const ValueId v : graph.inputs) names.push_back(graph[v].name);
  return names;
}

// A signature of TensorFlow's names what it takes and gives, and orders it by that.
bool has_signature(const Graph& graph) {
  return graph.source_format.starts_with("TensorFlow") || graph.source_format.starts_with("TFLite");
}
bool takes_by_name(const Graph& graph) { return graph.inputs_by_name || has_signature(graph); }

}  // namespace

Graph in_order_of(const Graph& a, Graph b) {
  // Others number what they give where it lies, with the same names.
  if (a.outputs_by_name || b.outputs_by_name || (has_signature(a) && has_signature(b)))
    if (const auto places = places_by_name(a.output_names, b.output_names)) {
      const auto outputs = b.outputs;
      for (std::size_t i = 0; i < places->size(); ++i) b.outputs[i] = outputs[(*places)[i]];
      b.output_names = a.output_names;
    }
  if (takes_by_name(a) || takes_by_name(b))
    if (const auto places = places_by_name(input_names(a), input_names(b))) {
      const auto inputs = b.inputs;
      for (std::size_t i = 0; i < places->size(); ++i) b.inputs[i] = inputs[(*places)[i]];
    }
  return b;
}

std::optional<Graph> by_numbered_outputs(const Graph& graph) {
  if (!has_signature(graph)) return std::nullopt;
  std::vector<std::string> numbered;
  for (std::size_t i = 0; i < graph.output_names.size(); ++i) numbered.push_back("output_" + std::to_string(i));
  const auto places = places_by_name(numbered, graph.output_names);
  if (!places || std::ranges::is_sorted(*places)) return std::nullopt;
  Graph result = graph;
  for (std::size_t i = 0; i < places->size(); ++i) result.outputs[i] = graph.outputs[(*places)[i]];
  result.output_names = numbered;
  return result;
}

}  // namespace convoy::diagnose
