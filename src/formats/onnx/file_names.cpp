#include "formats/onnx/file_names.h"

#include "base/fresh_names.h"

#include <algorithm>
#include <set>

namespace convoy::onnx {

void FileNames::of_blocks(const Graph& graph, const ModelNode& node, const std::string& layer, std::size_t first) {
  constexpr std::pair<std::string_view, std::size_t> words[] = {{"weight_ih", 1}, {"weight_hh", 2}, {"bias_ih", 3},
                                                                {"initial_h", 5}, {"initial_c", 6}, {"peepholes", 7}};
  const Attribute* direction = node.attribute("direction");
  const bool both = direction && direction->text == "bidirectional";
  for (std::size_t i = first; i < graph.values.size(); ++i)
    for (const auto& [word, input] : words) {
      if (input >= node.inputs.size()) break;
      const Value& value = graph.values[i];
      const std::string forward = layer + "/" + std::string(word), &weight = node.inputs[input];
      if (!value.constant || weight.empty()) continue;
      const ValueId v{static_cast<std::int32_t>(i)};
      if (value.name == forward) blocks_.emplace_back(v, both ? weight + "_forward" : weight);
      if (value.name == forward + "_reverse") blocks_.emplace_back(v, weight + "_reverse");
    }
}

void FileNames::keep_values(Graph& graph) const {
  std::map<ValueId, std::string> argument;
  std::set<std::string> taken;
  for (const auto& [value, name] : said_)  // bodies of several loops may call theirs alike
    if (!argument.contains(value) && taken.insert(name).second) argument.emplace(value, name);
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    Value& value = graph.values[i];
    const auto found = argument.find({static_cast<std::int32_t>(i)});
    if (!value.producer) taken.insert(value.name);
    if (found != argument.end() && value.producer) value.name = found->second;
  }
  FreshNames names(std::move(taken));
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    Value& value = graph.values[i];
    if (value.producer && !argument.contains({static_cast<std::int32_t>(i)}))
      value.name = names.take(value.name, "/", 1);
  }
  keep_blocks(graph);
}

void FileNames::keep_blocks(Graph& graph) const {
  if (blocks_.empty()) return;
  std::set<std::string> taken;
  const auto readers = readers_of(graph);
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    const ValueId v{static_cast<std::int32_t>(i)};
    const bool used = !readers[i].empty() || graph[v].producer || std::ranges::count(graph.outputs, v) > 0;
    if (used || std::ranges::count(graph.inputs, v) > 0) taken.insert(graph[v].name);
  }
  for (const auto& [value, name] : blocks_)
    if (taken.insert(name).second) graph[value].name = name;
}

void FileNames::keep_weights(Graph& graph) const {
  std::set<std::string> taken;
  for (const Value& value : graph.values) taken.insert(value.name);
  for (Value& value : graph.values) {
    if (!value.constant || value.constant->count() == 0) continue;
    const auto found = stored_.find(value.constant->bytes().data());
    if (found != stored_.end() && taken.insert(found->second).second) value.name = found->second;
  }
}

}  // namespace convoy::onnx
