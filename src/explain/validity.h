// For which input sizes a way of saying a layer holds, in words.
#pragma once
#include "explain/layer.h"

#include <string>

namespace convoy::explain {

struct Validity {
  bool always = true;  // at every size
  bool never = false;  // at no size
  bool here = true;    // at the size asked about, or at some size where none is
  std::string words = "every size";
};

// Where each axis padded as `said` reads (and divides) like the layer does.
Validity validity(const Layer& layer, const std::vector<Padding>& said);

// The same for the remainders of one axis: "even sizes", "n mod 3 = 1".
std::string words_of(const Agreement& agreement);

}  // namespace convoy::explain
