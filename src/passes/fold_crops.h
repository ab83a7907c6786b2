// Takes zeros and cuts behind a transposed convolution into its own crops.
#pragma once
#include "passes/rewrites.h"

namespace convoy {

// A pad of zeros is an extension where nothing was cut off on its side and no bias would stand in its cells; a slice in
// steps of one along an axis of space is a crop.
Result<Patch> fold_crops(const Graph& graph, const Target& target);

}  // namespace convoy
