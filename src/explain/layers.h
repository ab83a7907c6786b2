// The layers with windows in a graph.
#pragma once
#include "explain/layer.h"
#include "graph/graph.h"

namespace convoy::explain {

struct Found {
  Layer layer;
  std::string name, kind;  // of the layer in its source
};

// In the order of the graph. A pad that the same layer puts in front of its windows belongs to them.
std::vector<Found> layers_of(const Graph& graph);
// In whose words the layers are: a source format begins with the name of its framework.
Framework framework_of(const Graph& graph);

}  // namespace convoy::explain
