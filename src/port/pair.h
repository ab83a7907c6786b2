// Two models that are to be held against each other: source leaves the shapes of its inputs to its caller, and the other model
// knows it.
#pragma once
#include "formats/format.h"
#include "graph/graph.h"

#include <filesystem>

namespace convoy {

// Reads `file`. Source that cannot be read with what is given takes the shapes of the inputs of `other` (by name, where there are several), as its own framework
// has the axes, or else, and where it turns its input into that order itself, as they stand there; `options` then says so.
// Fails: as load does, with what was given.
Result<Graph> load_beside(const Graph& other, const std::filesystem::path& file, LoadOptions& options);

// Both of them, whichever knows the shape. Fails: as load does, for a before b.
struct Pair {
  Graph a, b;
};
Result<Pair> load_pair(const std::filesystem::path& a, LoadOptions& options_a, const std::filesystem::path& b,
                       LoadOptions& options_b);

}  // namespace convoy
