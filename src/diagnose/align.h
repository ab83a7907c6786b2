// Which values of two comparable graphs stand for each other: found by weights first, then by place.
#pragma once
#include "diagnose/family.h"
#include "diagnose/run_apart.h"
#include "graph/graph.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace convoy::diagnose {

enum class How : std::uint8_t {
  Input,    // the models' inputs, in order
  Output,   // their outputs, in order
  Weights,  // made by layers that hold the same numbers, in whatever order
  Scaled,   // the kernels agree up to a factor per output channel: a batch norm was folded into one of them
  Place     // the same kind of operator reads what stands for each other
};

// A value of each graph. `permutation` brings the axes of a's into the order of b's.
struct Match {
  ValueId a, b;
  How how = How::Place;
  Sizes permutation;
  NodeId node_a, node_b;  // the layers it was matched by; none for inputs and outputs
};

struct Alignment {
  std::vector<Match> matches;                  // in the order in which a computes them
  std::vector<std::string> only_a, only_b;     // layers with numbers of their own that nothing was found for
  int weighted_a = 0, weighted_b = 0;          // layers that hold numbers
  int by_weights = 0, by_place = 0;            // how those were matched
  std::vector<int> places_a, places_b;  // per value of each graph: which of the matches it belongs to, -1: none
  const Match* of_a(ValueId v) const;
  const Match* of_b(ValueId v) const;
  // Each of two of the matches gets the other's value of b.
  void exchange_partners(std::size_t first, std::size_t second);
};

// Aligns by structure alone where `by_numbers` is false: layers with numbers stand for each other only where their kernels
// have as many, and those whose surroundings are alike go first (kinds_a, kinds_b: one number per node, see kinds.h).
struct Guide {
  bool by_numbers = true;
  std::vector<std::uint64_t> kinds_a, kinds_b;
  std::vector<std::pair<NodeId, NodeId>> known;  // pairs that are settled
  RunApart
      apart;  // of several that may stand for each other, those go first that make the same numbers; empty: not known
};

Alignment align(const Graph& a, const Graph& b, const Guide& guide = {});
// The same where rows of a are columns of b.
Alignment turned(Alignment alignment, const Graph& a);

// The nearest values before `v` that are matched or that nothing makes, constants aside; in the order in which they are
// met first. `matched` holds one flag per value.
std::vector<ValueId> boundary_of(const Graph& graph, ValueId v, const std::vector<bool>& matched);
// The other way: the nodes that are reached from `from` through what is not matched, in the graph's order.
std::vector<NodeId> reached_from(const Graph& graph, const std::vector<std::vector<NodeId>>& readers,
                                 const std::vector<ValueId>& from, const std::vector<bool>& matched);

}  // namespace convoy::diagnose
