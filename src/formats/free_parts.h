// What is counted, cut off, padded and repeated by numbers that a model computes of its free sizes.
#pragma once
#include "formats/counted_cells.h"
#include "ops/pad.h"

#include <string>
#include <vector>

namespace convoy {

// The graph that a file is read into, and the name of the layer whose nodes are added.
struct FreeReading {
  Graph& graph;
  UnknownSizes& sizes;
  std::string layer;
};

// start, start + step, ... below (above) `limit`, of `dtype`. Fails: a step that is computed; fractions that sums would round.
Result<ValueId> counted_range(const FreeReading& in, const Number& start, const Number& limit, const Number& step,
                              DType dtype);

// From `start` to `stop` as ONNX and NumPy count them: from the end where they are below 0. Nothing of a number: the axis' own end.
struct FreePart {
  Size axis = 0;
  std::optional<Number> start, stop;
  Size step = 1;
};
// Fails: a number that counts from the end at some sizes and not at others; a step below 1 to or from a computed place.
Result<ValueId> free_part(const FreeReading& in, ValueId x, const FreePart& part);

// Cells before and behind one axis. Negative ones are cut off; where the mode is not constant they are refused.
Result<ValueId> padded_by(const FreeReading& in, ValueId x, Size axis, const Number& before, const Number& after,
                          PadMode mode, double value);

// The whole of x so many times along the axis.
Result<ValueId> repeated_by(const FreeReading& in, ValueId x, Size axis, const Number& times);

// The `count` largest (smallest) numbers along the axis and their places, as TopK gives them. Fails: a count without a bound.
Result<std::vector<ValueId>> largest_of(const FreeReading& in, ValueId x, Size axis, const Number& count, bool largest);

// The number that -1 stands for in a new shape for `data`, put in its place where it follows.
Numbers with_rest(const Graph& graph, UnknownSizes& sizes, Numbers wanted, const Shaped& data);

}  // namespace convoy
