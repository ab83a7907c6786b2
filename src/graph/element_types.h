// The types of real numbers that a graph computes in, and the same graph in another one.
#pragma once
#include "graph/graph.h"

namespace convoy {

// The element types of these values; float32 for one that refers to nothing.
std::vector<DType> types_of(const Graph& graph, const std::vector<ValueId>& values);

// Whether every real number that the graph computes is of this type.
bool computes_in(const Graph& graph, DType dtype);

// All real numbers, weights among them, become `to`, and casts between real numbers become casts to it. Whole numbers and
// truths stay. Fails: as the inference of types does.
Status change_reals(Graph& graph, DType to);

}  // namespace convoy
