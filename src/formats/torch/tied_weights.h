// Weights that the source has once and a written module names twice: one nn.Parameter under both names.
#pragma once
#include "formats/torch/torch.h"

namespace convoy::torch {

// What is said behind the modules of the outermost __init__, one text each: "self.head.weight = self.embed.weight".
std::vector<std::string> tying_statements(const Graph& graph, const std::vector<Parameter>& parameters);

}  // namespace convoy::torch
