// What most passes share: they say the nodes of some operators in other words, one by one.
#pragma once
#include "graph/patch.h"

#include <utility>

namespace convoy {

// Calls `spell(id, op)` on each node whose operator is one of `Ops`, in the order of the graph, and hands on the `patch`
// that it fills. Fails as `spell` does.
template <class... Ops, class Spell>
Result<Patch> node_by_node(const Graph& graph, Patch& patch, Spell spell) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const NodeId id{static_cast<std::int32_t>(i)};
    Status done;
    const auto lower_as = [&](const auto* op) {
      if (op) done = spell(id, *op);
    };
    (lower_as(get_if<Ops>(&graph[id].op)), ...);
    if (!done) return pass(done);
  }
  return std::move(patch);
}

}  // namespace convoy
