// How many operators round one behind the other: numbers that are moved, compared, limited or cast are not rounded on the way.
#pragma once
#include "graph/graph.h"

namespace convoy {

// 0 or 1.
int rounding_steps_of(const Op& op);
// The most on any way through the graph.
int rounding_depth(const Graph& graph);

}  // namespace convoy
