// Which numbers of a each weight of b takes, once both are in one form and their layers are matched: kernels in the order
// of b's operator, with a batch norm folded in or an identity one beside them, biases where b has a place for them.
#pragma once
#include "diagnose/align.h"
#include "diagnose/numbering.h"

#include <map>
#include <optional>
#include <string>

namespace convoy::diagnose {

// Numbers for one weight of b: a's, and where in a's file each of them lies, as far as they were only moved.
struct CarriedNumbers {
  Tensor values;
  std::optional<Tensor> places;
  std::string how{};  // says what was computed
  NodeId node_a{}, node_b{};  // the layers that they lie in
};

struct Sides {
  const Graph& real;  // a
  const Graph& numbered;  // a with the numbers of places
  const Graph& b;  // b with the numbers of places
};

// By the constants of b's form. Fails (Proof): layers with weights that have no counterpart or hold weights of another
// shape, and a bias that b has no place for, with the names of both.
Result<std::map<ValueId, CarriedNumbers>> carried_numbers(const Sides& sides, const Alignment& alignment,
                                                          const Numbering& of_b);

// Where a kernel of a layer lies: a matrix may stand on either side of a product.
std::size_t kernel_slot(const Graph& graph, const Node& node);

// "'a', 'b' and 'c'".
std::string listed(const std::vector<std::string>& names);

}  // namespace convoy::diagnose
