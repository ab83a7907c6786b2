// The stretches of two graphs between values that both carry: the smallest parts that can be compared by themselves.
#pragma once
#include "graph/graph.h"
#include "prove/meeting.h"

#include <set>
#include <vector>

namespace convoy {

// What a value is computed from, back to values that end the walk or that nothing makes.
struct Reach {
  std::vector<NodeId> nodes;  // in order
  std::set<ValueId> boundary, constants;
};
Reach reach_back(const Graph& graph, ValueId v, const std::vector<bool>& ends);

// One value that both graphs carry, with all that lies between it and the nearest such values before it.
struct Stretch {
  ValueId of_source, of_target;
  Reach source, target;
  std::vector<ValueId> unlike;  // of the source: what only one of the two is computed from
  bool alike() const { return unlike.empty(); }
};
// In the order of the target's nodes.
std::vector<Stretch> stretches_of(const Graph& source, const Graph& target, const std::vector<ValueId>& counterparts);

// The stretch as a graph of its own: the boundary becomes its inputs, `v` its output. Names and origins stay.
Graph cut_out(const Graph& graph, const Reach& reach, ValueId v);

// What the sizes of an input mean to the nodes of a stretch. From `settled` on everything repeats with the period, where
// `repeats`: windows and blocks are laid out alike, and what lies at the borders stands free of what lies at the other end.
struct Spread {
  Size period = 1, settled = 1;
  bool repeats = true;
};
Spread spread_of(const Graph& graph);

}  // namespace convoy
