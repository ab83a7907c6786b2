// Single numbers that were changed in kernels of which the other model holds nearly everything to the last bit.
#pragma once
#include "graph/graph.h"

#include <optional>
#include <string>

namespace convoy::diagnose {

struct ChangedNumber {
  const Value* value;  // of a
  double a = 0, b = 0;
  std::string says;
};
// The largest change. For graphs that are written otherwise, so that no tensor has its partner: kernels may be split, joined and
// rearranged. What folding does to a kernel is no change: it goes through whole slices, and so do roundings of everything.
std::optional<ChangedNumber> changed_number(const Graph& a, const Graph& b);

}  // namespace convoy::diagnose
