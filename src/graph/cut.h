// A graph that ends at layers of its own.
#pragma once
#include "graph/graph.h"

namespace convoy {

// The graph up to these layers or modules, by the paths that tables show ("encoder.conv1"), or values, by their names: its
// outputs are what each gives, in this order. What no output needs goes; inputs stay. Fails (Usage): none has that name,
// or a module gives several values.
Result<Graph> cut_at(Graph graph, const std::vector<std::string>& names);

}  // namespace convoy
