// If whose condition the model computes: both branches stand in the graph, and the condition chooses between their results.
#pragma once
#include "formats/unknown_sizes.h"

#include <string>

namespace convoy {

// One result of it. `layer` names the nodes. `sizes`: which free sizes are equal.
// Fails: Unsupported, where the branches give unlike shapes or types, or the condition is not one truth or number.
Result<ValueId> chosen(Graph& graph, UnknownSizes& sizes, ValueId condition, ValueId if_true, ValueId if_false,
                       const std::string& layer);

// What a user is told of it.
std::string remark_of_both(const std::string& layer);

}  // namespace convoy
