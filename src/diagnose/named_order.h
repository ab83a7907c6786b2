// Which input and output of two models stand for each other where names say it, and not their order.
#pragma once
#include "graph/graph.h"

#include <optional>

namespace convoy::diagnose {

// What a model takes or gives in a dictionary or by a signature goes by its name, in whatever order, where the other has the same
// names: b in a's order.
Graph in_order_of(const Graph& a, Graph b);

// The order that a signature's own names give its outputs (`output_1` is the second), where the file has another one: converters
// list them as they come. Nothing: they have no such names, or stand so.
std::optional<Graph> by_numbered_outputs(const Graph& graph);

}  // namespace convoy::diagnose
