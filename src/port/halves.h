// Weights rounded to the numbers that float16 holds.
#pragma once
#include "graph/graph.h"

namespace convoy {

// Rounds what training learns; numbers beyond float16's range stay as they are, with all of their tensor. One sentence that
// says how far the rounding goes.
Result<std::string> round_weights_to_halves(Graph& graph);

}  // namespace convoy
