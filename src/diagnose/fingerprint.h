// What a tensor of weights can be known by, however its axes were moved.
#pragma once
#include "graph/graph.h"
#include "ops/expect.h"

#include <cstdint>
#include <optional>

namespace convoy::diagnose {

// Whether its numbers can tell it from another: several of them, not whole ones.
inline bool holds_weights(const Tensor& tensor) { return is_floating(tensor.dtype()) && tensor.count() > 1; }
// The same for every order of the same numbers; as float32, so that a widened half is its half.
std::uint64_t fingerprint(const Tensor& tensor);
// Of everything that a node holds: layers without numbers, or with fewer than two, have none.
std::optional<std::uint64_t> fingerprint(const Graph& graph, const Node& node);
bool has_fingerprint(const Graph& graph, const Node& node);
// Of a convolution or a product; null: the node is none, or its kernel is computed.
const Tensor* kernel_of(const Graph& graph, const Node& node);

}  // namespace convoy::diagnose
