// How the numbers of one tensor were brought into another, in the words of the one who would do it by hand.
#pragma once
#include "diagnose/numbering.h"

#include <string>
#include <vector>

namespace convoy::diagnose {

struct Moved {
  std::string source;  // the tensors that the numbers come from
  Sizes shape;         // of the first of them
  std::string how;     // "as it is", "permute(3, 2, 0, 1)", "reshape(5, 7, 3, 2), permute(3, 2, 0, 1)"
};

// `places`: per number of the new tensor, where it lay among `of`'s; negative: nowhere.
Moved moved_from(const Graph& graph, const Numbering& of, const std::vector<Size>& places, const Sizes& shape);

}  // namespace convoy::diagnose
