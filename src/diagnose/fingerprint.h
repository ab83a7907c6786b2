// What a tensor of weights can be known by, however its axes were moved.
#pragma once
#include "graph/graph.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace convoy::diagnose {

// The same for every order of the same numbers; as float32, so that a widened half is its half.
std::uint64_t fingerprint(const Tensor& tensor);
// Of everything that a node holds: layers without numbers, or with fewer than two, have none.
std::optional<std::uint64_t> fingerprint(const Graph& graph, const Node& node);

// A convolution's or product's kernel, per output channel its sorted magnitudes divided by the largest: unchanged where
// a batch norm is folded in. Empty: the node has no such kernel, or it is too large for its worth.
std::vector<std::vector<float>> scaled_channels(const Graph& graph, const Node& node);
// The largest difference of two such, channel by channel; infinite where their sizes are unlike.
double scaled_distance(const std::vector<std::vector<float>>& a, const std::vector<std::vector<float>>& b);

}  // namespace convoy::diagnose
