// Which layers of two models stand in the same surroundings, told by structure alone: a number per node that depends on
// the operator, on its kernel's sizes and on what lies before and behind it, as far as it matters.
#pragma once
#include "graph/graph.h"

#include <cstdint>
#include <vector>

namespace convoy::diagnose {

// Of two nodes of one graph with one number, no structure tells which is which: they may be exchanged. Two models that
// are built alike give alike numbers to the nodes that stand for each other, whatever their names and order.
// Source: colour refinement after Weisfeiler and Leman, with the inputs of concatenations told apart by their order.
std::vector<std::uint64_t> kinds_of(const Graph& comparable);

}  // namespace convoy::diagnose
