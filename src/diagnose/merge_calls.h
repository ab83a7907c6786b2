// `l(x) * sigmoid(l(x))` calls a layer twice where `y = l(x); y * sigmoid(y)` calls it once: both are one computation.
#pragma once
#include "graph/graph.h"

namespace convoy::diagnose {

// Merges the calls of layers with the same numbers on the same input, in both graphs, where one of them has more calls with
// these numbers than the other. Where both have as many they stay, each under its own name. Steps that hold
// no numbers are merged where both have as many that are repeated. Fails: as patches do.
Status merge_repeated_calls(Graph& a, Graph& b);

// Merges every step, calls of layers as well, with the first that reads the same; whether there were any. Fails: as patches do.
Result<bool> merge_repeats(Graph& graph);

}  // namespace convoy::diagnose
