// Operators that a framework without a word for them writes out, known again: normalisations as means, differences and
// roots; averages that do not count their padding as a quotient of two that do; functions with a bend; pads in front of a
// pool.
#pragma once
#include "passes/passes.h"

#include <optional>

namespace convoy::diagnose {

// x - mean over the root of the mean of its squares, an epsilon under the root: a layer norm over the same axes; without
// the difference a norm by the root of mean squares; with means of groups of channels a group norm. Scale and offset stay where they are.
Result<Patch> recognise_norms(const Graph& graph, const Target& target);
// Groups laid out as channels, normalised one by one and laid back: a group norm.
Result<Patch> recognise_group_norms(const Graph& graph, const Target& target);
// A product, and then a sum, with constants right behind a norm that has none: its scale and its offset.
Result<Patch> take_in_norm_scales(const Graph& graph, const Target& target);
Result<Patch> take_in_norm_offsets(const Graph& graph, const Target& target);
// A line cut off at 0 and 1, however it is written, as a hard sigmoid.
Result<Patch> recognise_hard_sigmoids(const Graph& graph, const Target& target);
// x itself beyond a number, and its softplus below: a softplus with a threshold.
Result<Patch> recognise_softplus(const Graph& graph, const Target& target);
// A function that bends at zero and leaves what is above as it is, however it is written, as a leaky ReLU.
Result<Patch> recognise_leaky_relus(const Graph& graph, const Target& target);
struct LeakyRelu {
  ValueId x;
  double slope = 0;
};
// What the node is, together with what stands in front of it. Nothing: no such function.
std::optional<LeakyRelu> leaky_relu_at(const Graph& graph, const Node& node);
// The same with a slope of their own for channels or numbers.
struct PReluWritten {
  ValueId x, slopes;
  Sizes shape;  // of the slopes
};
std::optional<PReluWritten> prelu_at(const Graph& graph, const Node& node);
// A maximum or a minimum with one number as a limit; both sides of one, and a limit behind a ReLU, as one function.
Result<Patch> recognise_limits(const Graph& graph, const Target& target);
struct Limit {
  ValueId x;
  Op op;
};
std::optional<Limit> limit_at(const Graph& graph, const Node& node);
// Channels put in the other order of blocks right in front of a depth to space, or behind a space to depth: its own order.
Result<Patch> recognise_depth_orders(const Graph& graph, const Target& target);
// An average with counted zeros divided by the same average of ones.
Result<Patch> recognise_averages(const Graph& graph, const Target& target);
// Minus infinity in front of a maximum, zeros in front of an average: the pool's own padding.
Result<Patch> take_in_pool_pads(const Graph& graph, const Target& target);

const Node* maker_of(const Graph& graph, ValueId v);  // none: nothing computes it

}  // namespace convoy::diagnose
