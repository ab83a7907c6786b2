// `l(x) * sigmoid(l(x))` calls a layer twice where `y = l(x); y * sigmoid(y)` calls it once: both are one computation.
#pragma once
#include "graph/graph.h"

namespace convoy::diagnose {

// Merges the calls of layers with the same numbers on the same input, in both graphs, where one of them has more calls with
// these numbers than the other. Where both have as many they stay, each under its own name. Fails: as patches do.
Status merge_repeated_calls(Graph& a, Graph& b);

}  // namespace convoy::diagnose
