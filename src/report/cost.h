// What a layer costs for one example: multiply-adds and the memory of what it gives.
#pragma once
#include "graph/graph.h"

#include <optional>

namespace convoy {

// Products that are added up in convolutions, linear layers, matrix products and recurrent layers; a bias, an activation,
// a norm or a pool has none. A free batch counts as 1. Nothing: a size that the count depends on is free.
std::optional<Size> multiply_adds(const Graph& graph, const Node& node);
// Bytes of all that the node gives; a free batch counts as 1. Nothing: another size is free.
std::optional<Size> bytes_given(const Graph& graph, const Node& node);

struct Cost {
  std::optional<Size> multiply_adds, activations, most_at_once;  // nothing: a size is free
  Size parameters = 0;  // bytes
};
// Of the whole: `activations` is what all layers give together, as training keeps it; `most_at_once` what a run needs when
// it lets go of each value behind its last reader, without the parameters.
Cost cost_of(const Graph& graph);

}  // namespace convoy
