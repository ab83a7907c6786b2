// How a port's inputs and outputs have to lie, found from the source alone: a walk from each of them to the layers that
// know its axes. What the port declares is held to it, and it is fed and read by nothing else.
#pragma once
#include "graph/graph.h"
#include "prove/prove.h"

#include <string>
#include <vector>

namespace convoy {

// Per input and output of the source: axis i of the port is axis [i] of the source.
struct Orders {
  std::vector<Sizes> inputs, outputs;
};
Orders expected_orders(const Graph& source, const Convention& convention);

// Where the port is called by places and the source by keys, or one output lies in a tuple in one of them only, as far as the
// target knows dictionaries and tuples of one: one sentence. Empty: it is called as it has to be.
std::string compare_calls(const Graph& source, const Graph& target, const Convention& convention);

// Where the port has another number of inputs or outputs, other ones in their places, declares another order of axes, or
// goes by other keys than the source's dictionaries, or takes or gives whole numbers of another type: one sentence. Empty: it
// lies as it has to.
std::string compare_interface(const Graph& source, const Graph& target, const Orders& expected);

}  // namespace convoy
