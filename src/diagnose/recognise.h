// Operators that a framework without a word for them writes out, known again: normalisations as means, differences and
// roots; averages that do not count their padding as a quotient of two that do; pads in front of a pool.
#pragma once
#include "passes/passes.h"

namespace convoy::diagnose {

// x - mean over the root of the mean of its squares, an epsilon under the root: a layer norm over the same axes; without
// the difference a norm by the root of mean squares; with means of groups of channels a group norm. Scale and offset stay where they are.
Result<Patch> recognise_norms(const Graph& graph, const Target& target);
// An average with counted zeros divided by the same average of ones.
// A line cut off at 0 and 1, however it is written, as a hard sigmoid.
Result<Patch> recognise_hard_sigmoids(const Graph& graph, const Target& target);
Result<Patch> recognise_averages(const Graph& graph, const Target& target);
// Minus infinity in front of a maximum, zeros in front of an average: the pool's own padding.
Result<Patch> take_in_pool_pads(const Graph& graph, const Target& target);

}  // namespace convoy::diagnose
