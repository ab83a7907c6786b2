// Pads that follow the size, as SAME does: the comparable form has them as numbers, which hold at one size only.
#pragma once
#include "graph/graph.h"

#include <map>
#include <string>
#include <vector>

namespace convoy::diagnose {

// A layer's operator with the pads as numbers, and as its file says them.
struct Rule {
  Op numbers, said;
};
using Rules = std::multimap<std::string, Rule>;  // by the layer's name

// The operator with its pads as numbers, for an input of this shape; as it is along axes whose size is open.
Op with_numbers(Op op, const Shape& in);

// `said` holds the pads as the file says them, `numbered` the same network in the comparable form.
Rules rules_of(const Graph& said, const Graph& numbered);

// The piece with the pads as the file says them.
Graph with_rules(Graph piece, const Rules& rules);
// The piece with the pads that the file's rules give for these inputs. Fails: as the kernels do.
Result<Graph> renumbered(const Graph& piece, const Rules& rules, const std::vector<Tensor>& inputs, int threads);

}  // namespace convoy::diagnose
