// A model computed in another type of real numbers than its own, and what that changes.
#pragma once
#include "graph/graph.h"
#include "prove/prove.h"

#include <array>
#include <string>
#include <vector>

namespace convoy {

// The types that all real numbers of a model can be carried as.
inline constexpr std::array real_types{DType::F16, DType::BF16, DType::F32};

// All real numbers of the graph become `to`. One sentence on what that changes, and, where numbers move, one on how far the
// outputs do and one on the layers that lose most: both graphs are run on the same input, freely. Fails: as inference and runs do.
Result<std::vector<std::string>> carry_reals_as(Graph& graph, DType to, const ProofOptions& options);

// How far the outputs of `after`, the same graph with other numbers, are from those of `before`, and which layers lose most: nothing
// where neither is affordable. Values of both have the same places.
Result<std::vector<std::string>> losses_said(const Graph& before, const Graph& after, const ProofOptions& options);

// What one layer gives in both graphs.
struct GivenByBoth {
  std::string layer;
  Tensor before, after;
};
// The same of numbers that are there.
std::vector<std::string> losses_said(const std::vector<GivenByBoth>& outputs, const std::vector<GivenByBoth>& layers);

}  // namespace convoy
