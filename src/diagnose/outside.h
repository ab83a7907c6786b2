// How the inputs and outputs of two models are held against each other: told before anything is computed, from what each
// model's own layers say of their axes and from the sizes, by the rule that a port keeps to (passes/interface.h).
#pragma once
#include "passes/interface.h"

#include <string>
#include <vector>

namespace convoy::diagnose {

// Where the layers of one model name an axis of channels, those of the other none, and the sizes fit either way.
enum class Unsaid : std::uint8_t {
  Convention,  // models of frameworks with unlike conventions have channels where these have them
  AsItLies,  // the axes are the same
};

// An axis keeps its place, or channels that lie last in one model and first in the other take the one standard
// permutation of their rank. Nothing else is ever turned.
struct Outsides {
  Interface a, b;  // from the order of each file to that of the comparable form, in which both lie alike
  bool is_open = false;  // of some input or output it is unsaid which of both
  std::vector<std::string> said;  // of each that does not lie in b as it does in a: a sentence
};
Outsides outsides_of(const Graph& a, const Graph& b, Unsaid unsaid);
// Every axis where it is.
Sizes own_order(std::size_t rank);

}  // namespace convoy::diagnose
