// Pairs of recurrent cells over one sequence, one from each end, whose results are merged: what a Bidirectional layer says.
#pragma once
#include "graph/graph.h"

#include <map>
#include <string>
#include <vector>

namespace convoy::keras::writing {

struct BothWays {
  NodeId forward, backward;
  std::string merge;  // "concat", "sum", "mul"
};

struct Pairs {
  std::map<NodeId, BothWays> merged;  // by the node that merges them
  std::vector<char> goes;  // by node: between a sequence and what merges its cells
};

// Cells that are alike but for their ends and their weights, begin with zeros, and are read by nothing else.
Pairs both_ways(const Graph& graph);

}  // namespace convoy::keras::writing
