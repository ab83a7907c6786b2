// What a program asked of the sizes of its inputs while it was followed: where they are otherwise it goes another way, which
// the graph does not hold.
#pragma once
#include "graph/graph.h"

#include <vector>

namespace convoy {

// Fails (Usage) at the first of the graph's conditions that these shapes of its inputs do not meet. Nothing is asked where a
// size is free, an input is not there, or a condition is of another form than sizes, whole numbers, + - * // %, comparisons,
// and, or, not.
Status expect_conditions(const Graph& graph, const std::vector<Shape>& input_shapes);

}  // namespace convoy
