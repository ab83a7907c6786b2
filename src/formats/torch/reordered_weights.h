// Constants that a reader made of a whole weight by putting it in another order: `x @ self.embed.weight.T`.
#pragma once
#include "graph/graph.h"

#include <cstdint>
#include <map>

namespace convoy::torch {

// By the index of each such constant, the weight that it holds all numbers of.
using Reordered = std::map<std::int32_t, ValueId>;

// Adds the constants from `first_value` on that hold all numbers of a weight among `given`; each is given with its weight.
void find_reordered(const Graph& graph, std::size_t first_value, const std::vector<std::pair<ValueId, ValueId>>& given,
                    Reordered& reordered);

// Each trains as its weight does: instead of it where no output depends on the weight itself, else together with it.
void train_reordered(Graph& graph, const Reordered& reordered);

}  // namespace convoy::torch
