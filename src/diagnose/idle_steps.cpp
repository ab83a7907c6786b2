#include "diagnose/idle_steps.h"

#include "graph/quantized_steps.h"
#include "ops/expect.h"

namespace convoy::diagnose {

namespace {

bool say_one_thing(const Graph& graph, const QuantizedStretch& x, const QuantizedStretch& y) {
  return x.held == y.held && !x.axis && !y.axis && x.zeros == y.zeros &&
         graph[x.scale].constant->doubles() == graph[y.scale].constant->doubles();
}

// Padding may put in what lies on no steps.
bool puts_in_nothing(const Op& op) { return hands_numbers_on(op) && !holds_alternative<Pad>(op); }

bool comes_of_steps(const Graph& graph, const QuantizedStretches& stretches, const QuantizedStretch& rounding) {
  constexpr int most_moves = 16;
  ValueId v = rounding.x;
  for (int i = 0; i < most_moves && v; ++i) {
    const NodeId maker = graph[v].producer;
    if (!maker) return false;
    if (const auto found = stretches.by_last.find(maker); found != stretches.by_last.end())
      return !found->second.rounds && say_one_thing(graph, found->second, rounding);
    const Node& node = graph[maker];
    if (node.inputs.size() != 1 || !puts_in_nothing(node.op)) return false;
    v = node.inputs[0];
  }
  return false;
}

}  // namespace

bool hands_numbers_on(const Op& op) {
  const auto* resize = get_if<Resize>(&op);
  if (resize) return resize->interpolation == Interpolation::Nearest && !resize->drops_outside;
  return traits_of(op).moves_numbers() || holds_alternative<MaxPool>(op);
}

void drop_idle_steps(Graph& graph) {
  const QuantizedStretches stretches = quantized_stretches(graph);
  for (const auto& [rounding, widening] : stepped_pairs(graph)) {
    if (!comes_of_steps(graph, stretches, rounding)) continue;
    Node& last = graph[widening.nodes.back()];
    last.op = Identity{};
    last.inputs = {rounding.x};
  }
  prune(graph);
}

}  // namespace convoy::diagnose
