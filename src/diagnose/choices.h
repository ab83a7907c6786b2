// Where a piece takes, number by number, one of two values: by a maximum, a minimum, a choice. What each of them says shows
// only where it is taken and the other is another number.
#pragma once
#include "graph/graph.h"

#include <string>
#include <vector>

namespace convoy::diagnose {

struct Choice {
  ValueId condition, first, second;  // no condition: the larger is taken, or the smaller
  bool largest = true;
  std::string layer;
  bool first_taken = false, second_taken = false;
};
// Not of a limit, which is a number, nor of what is asked whether it is a number.
std::vector<Choice> choices_in(const Graph& piece);
// Notes which are taken of these values.
void note(Choice& choice, const std::vector<Tensor>& values);

}  // namespace convoy::diagnose
