#include "diagnose/merge_calls.h"

#include "diagnose/fingerprint.h"
#include "diagnose/tensor_difference.h"
#include "graph/patch.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace convoy::diagnose {

namespace {

using Calls = std::map<std::uint64_t, std::vector<NodeId>>;  // by the numbers that they hold

Calls calls_in(const Graph& graph) {
  Calls calls;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (const auto print = fingerprint(graph, graph.nodes[i])) calls[*print].push_back({static_cast<std::int32_t>(i)});
  return calls;
}

Status merge(Graph& graph, const Calls& calls, const std::set<std::uint64_t>& uneven) {
  Patch patch(graph);
  std::map<ValueId, ValueId> now;
  const auto is_same = [&](ValueId x, ValueId y) {
    const auto of = [&](ValueId v) { return now.contains(v) ? now.at(v) : v; };
    if (of(x) == of(y)) return true;
    if (!x || !y || !graph[x].constant || !graph[y].constant) return false;
    const Tensor &p = *graph[x].constant, &q = *graph[y].constant;
    return p.dtype() == q.dtype() && p.shape() == q.shape() && difference_of(p, q).equal();
  };
  for (const std::uint64_t print : uneven) {
    std::vector<const Node*> kept;
    for (const NodeId n : calls.at(print)) {
      const Node& node = graph[n];
      const auto first = std::ranges::find_if(kept, [&](const Node* other) {
        return other->op == node.op && other->outputs.size() == node.outputs.size() &&
               std::ranges::equal(other->inputs, node.inputs, is_same);
      });
      if (first == kept.end()) {
        kept.push_back(&node);
        continue;
      }
      patch.remove(n);
      for (std::size_t o = 0; o < node.outputs.size(); ++o) {
        if (!node.outputs[o]) continue;
        now[node.outputs[o]] = (*first)->outputs[o];
        patch.replace(node.outputs[o], (*first)->outputs[o]);
      }
    }
  }
  return now.empty() ? Status() : apply(graph, std::move(patch));
}

}  // namespace

Status merge_repeated_calls(Graph& a, Graph& b) {
  const Calls of_a = calls_in(a), of_b = calls_in(b);
  std::set<std::uint64_t> uneven;
  for (const auto& [print, calls] : of_a) {
    const auto other = of_b.find(print);
    if (other == of_b.end() || other->second.size() == calls.size()) continue;
    uneven.insert(print);
  }
  if (auto done = merge(a, of_a, uneven); !done) return done;
  return merge(b, of_b, uneven);
}

}  // namespace convoy::diagnose
