// Kernels that are one up to a factor per output channel: a batch norm was folded into one of them. Their output channels may
// lie in another order too.
#pragma once
#include "graph/graph.h"

#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace convoy::diagnose {

// Layers of a and b whose kernels are one so, in the order in which a computes them. `open_a`, `open_b`: those that may be
// paired. A layer that several others may stand for is left out.
std::vector<std::pair<NodeId, NodeId>> scaled_pairs(const Graph& a, const Graph& b,
                                                    const std::function<bool(NodeId)>& open_a,
                                                    const std::function<bool(NodeId)>& open_b);

// Slice i of b along the axis is slice order[i] of a but for a factor of its own. Nothing: b has other slices, slices of too
// few numbers to tell, or a's in a's order.
std::optional<Sizes> scaled_order_between(const Tensor& a, const Tensor& b, std::size_t axis);

// The slices along `along`, each as sorted numbers that no factor per slice along `scaled` changes.
std::vector<std::vector<float>> unscaled_slices(const Tensor& tensor, std::size_t scaled, std::size_t along);
// Whether two such are one to within rounding.
bool are_near(const std::vector<float>& x, const std::vector<float>& y);

}  // namespace convoy::diagnose
