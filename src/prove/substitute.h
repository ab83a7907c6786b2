// Small whole numbers in place of a model's weights, the same ones in both graphs; and how large the numbers may be that
// the layers are fed, so that float32 rounds nothing.
#pragma once
#include "graph/graph.h"
#include "prove/whole.h"

#include <cstdint>
#include <vector>

namespace convoy {

// The two graphs with other weights: kernels of -3 ... 3 without zero, biases up to 1000, variances 1, 4 and 16, scales of
// a power of two. Where both graphs normalise with the same epsilon it becomes 0 in both, and a slope that both share
// becomes 2, a negative one -1: numbers that were compared as numbers, and that whole numbers cannot carry. Weights that a pass computed stay
// as they are, and so do those of the source that it may have computed them from.
struct WholeModels {
  Graph source, target;
};
WholeModels with_whole_numbers(const Graph& source, const Graph& target, std::uint64_t seed);

// Multiples of `multiple`, up to `most` of it.
struct WholeRange {
  Size most = 1, multiple = 1;
};
// Per value of the source. Both graphs sized.
std::vector<WholeRange> whole_ranges(const Graph& source, const Graph& target);

// Numbers of both signs and of every magnitude within the range, none of them 0: a border of zeros would look like padding.
Tensor whole_numbers(const Sizes& shape, WholeRange range, std::uint64_t seed);

}  // namespace convoy
