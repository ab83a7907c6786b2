// Between which bounds a value of a model can lie at all.
#pragma once
#include "graph/graph.h"

#include <limits>
#include <vector>

namespace convoy::diagnose {

struct Bounds {
  double least = -std::numeric_limits<double>::infinity(), most = std::numeric_limits<double>::infinity();
  bool known = false;  // every number between them may stand there
  bool alone = false;  // not beside any numbers of what it is made of
};
// Per value: behind a ReLU nothing is negative, behind a sigmoid nothing above 1.
std::vector<Bounds> bounds_of(const Graph& graph);
// Per value: whether it is made of the inputs' numbers. What only their sizes tell holds no others than it does.
std::vector<bool> made_of_inputs(const Graph& graph);
// Of a constant's numbers; unbounded where it is large, for it is no limit then.
Bounds bounds_of_constant(const Tensor& tensor);

}  // namespace convoy::diagnose
