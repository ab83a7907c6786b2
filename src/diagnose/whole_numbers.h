// Whole numbers that a stretch makes of whole numbers alone: there is no rounding to allow for, unless it carries them in a
// type of real numbers, which holds 24 bits of them where it is float32.
#pragma once
#include "graph/graph.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace convoy::diagnose {

struct WholeNumbers {
  std::vector<ValueId> sources;  // the whole numbers that all else is made of
  bool may_be_large = false;  // nothing keeps a source small: it is no place in a row
  std::string carried_by;  // the layer that first holds some in a type of fewer bits than theirs; empty: none does
  std::string kind;
};

// How the piece makes its output; `is_whole_input`: by the input's place, whether whole numbers come in, whatever their type.
// Nothing: not as whole numbers.
std::optional<WholeNumbers> whole_numbers_of(const Graph& piece,
                                             const std::function<bool(std::size_t)>& is_whole_input);

}  // namespace convoy::diagnose
