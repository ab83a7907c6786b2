// In which order of axes a layer reads the features of a flattened input: two models may flatten one value with its channels
// first and last.
#pragma once
#include "graph/graph.h"

#include <optional>

namespace convoy::diagnose {

struct FlattenedInput {
  Sizes shape;  // of what is flattened
  Sizes order;  // its axis i is axis order[i] of the layer before it that has an order of its own
};

// Of a layer of a comparable graph. Nothing: its input is not flattened, or nothing before it says which axis is which.
std::optional<FlattenedInput> flattened_input(const Graph& graph, const Node& layer);
// axis[i] of a's value before it was flattened is axis i of b's.
std::optional<Sizes> order_between(const FlattenedInput& a, const FlattenedInput& b);

}  // namespace convoy::diagnose
