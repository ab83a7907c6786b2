// Steps that repeat themselves, as models inside the model: what no module of the source says.
#pragma once
#include "formats/torch/block.h"

#include <vector>

namespace convoy::torch {

// The steps with those that are alike in nested steps of their own, at every depth. `results` are read behind the last.
std::vector<Step> with_repeated_blocks(const Graph& graph, const std::set<std::string>& flattened,
                                       std::vector<Step> steps, const std::vector<ValueId>& results);

}  // namespace convoy::torch
