#include "formats/torch/reordered_weights.h"

#include <set>

namespace convoy::torch {

void find_reordered(const Graph& graph, std::size_t first_value, const std::vector<std::pair<ValueId, ValueId>>& given,
                    Reordered& reordered) {
  for (std::size_t i = first_value; i < graph.values.size() && !given.empty(); ++i) {
    const auto& numbers = graph.values[i].constant;
    if (!numbers || graph.values[i].producer || numbers->rank() == 0) continue;
    for (const auto& [from, weight] : given)
      if (graph[from].constant && graph[from].constant->count() == numbers->count() &&
          graph[from].constant->dtype() == numbers->dtype())
        reordered.emplace(static_cast<std::int32_t>(i), weight);
  }
}

void train_reordered(Graph& graph, const Reordered& reordered) {
  std::set<ValueId> live;
  std::vector<ValueId> open = graph.outputs;
  while (!open.empty()) {
    const ValueId value = open.back();
    open.pop_back();
    if (!value || !live.insert(value).second) continue;
    if (const NodeId producer = graph[value].producer)
      open.insert(open.end(), graph[producer].inputs.begin(), graph[producer].inputs.end());
  }
  std::map<ValueId, ValueId> first;  // of each weight what trains first: itself, or what stands instead of it
  for (const auto& [index, weight] : reordered) {
    const ValueId made{index};
    if (!live.contains(made)) continue;
    graph[made].trainable = graph[weight].trainable;
    const ValueId one = first.emplace(weight, live.contains(weight) ? weight : made).first->second;
    if (one != made) graph.tied.emplace(graph[made].name, graph[one].name);
  }
}

}  // namespace convoy::torch
