// Rounding that a stretch magnifies: a recurrent state that grows, a difference of nearly equal numbers. The bounds (bound.h)
// are written beforehand and cannot tell how far it comes; the source itself can, evaluated in float32.
#pragma once
#include "prove/reference.h"

#include <optional>
#include <vector>

namespace convoy {

// A value of the target that float32 brought further from the source than its bound allows.
struct BeyondBound {
  const Graph& source;
  const Graph& target;
  const std::vector<ValueId>& counterparts;
  ValueId value;
  const Tensor& error;  // the bound
  double limit, largest;
};

// How far the source's own stretch is off in float32, where that explains the difference: the source's float32 is at least a
// sixteenth as far from its float64 as the target's is, and the target in float64 is within the bound, from the same numbers.
// A port that computes something else differs in float64 too; one that computes the same less well is further off than its
// source. Nothing: not explained so.
Result<std::optional<double>> magnified_rounding(const BeyondBound& at, Reference::Roles roles,
                                                 const std::vector<Tensor>& inputs, const ProofOptions& options,
                                                 Budget& budget);

}  // namespace convoy
