// Which operators may stand for each other without holding numbers, and how alike two of them are.
#pragma once
#include "graph/graph.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace convoy::diagnose {

// None: what only moves numbers belongs to the layer that reads it.
enum class Family : std::uint8_t {
  None,
  Convolution,
  Transposed,
  Product,
  Window,
  Norm,
  Function,
  Softmax,
  Resize,
  Concat,
  Sum,
  Factor,
  Recurrent,
  Shuffle,
  Table
};
Family family_of(const Op& op);

// What is known of a graph's nodes before any is matched.
class Likeness {
 public:
  Likeness(const Graph& a, const Graph& b);
  // Higher is more alike: the outputs that hang on them, what they are and hold, their shapes, their names.
  int of(NodeId a, NodeId b) const;
  // Whether some output hangs on both.
  bool shares_output(NodeId a, NodeId b) const;

 private:
  struct Known {
    std::vector<bool> reached;  // outputs
    std::string words, steps, shape, name,
        kernel;  // the operator; it and what leads to it; numbers of its result and weights
    std::optional<std::uint64_t> numbers;  // the weights themselves, where they are few
  };
  static std::vector<Known> known_of(const Graph& graph);
  std::vector<Known> a_, b_;
  std::vector<std::size_t> of_a_, of_b_;  // operators, as their place in the variant
};

}  // namespace convoy::diagnose
