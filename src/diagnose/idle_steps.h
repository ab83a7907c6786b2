// Roundings to steps that leave every number as it is: of numbers that lie on these very steps.
#pragma once
#include "graph/graph.h"

namespace convoy::diagnose {

// Whether each number of the result is one of those that it reads.
bool hands_numbers_on(const Op& op);

// Leaves out those whose numbers come of a widening of the same steps and were moved or ranked on the way.
void drop_idle_steps(Graph& graph);

}  // namespace convoy::diagnose
