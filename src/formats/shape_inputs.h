// What a row can read in place of a shape that was computed from sizes not known beforehand.
#pragma once
#include "formats/numbers.h"

#include <limits>
#include <span>

namespace convoy {

// The value whose shape is meant, and the identities of its sizes.
struct Shaped {
  const Shape& shape;
  std::span<const SizeId> sizes;
};

// Nothing: the wanted shape does not follow from the value's.
// Reshape: 0 where a size is the one at the same place, -1 for one that is left.
std::optional<Tensor> reshape_target(const Numbers& wanted, const Shaped& data);
// Reshape where several sizes are free: so many axes on the left and on the right stay; `to` is 0 there, and -1 where a size
// is not known between them.
struct KeptAxes {
  Sizes to;
  Size left = 0, right = 0;
};
std::optional<KeptAxes> reshape_keeping(const Numbers& wanted, const Shaped& data);
// Resize: factors where sizes are multiples of the ones there are.
std::optional<Tensor> resize_factors(const Numbers& sizes, const Shaped& data);
// Resize: the sizes, `own_length` where one is the axis' own.
std::optional<Tensor> resize_sizes(const Numbers& sizes, const Shaped& data);
constexpr Size own_length = std::numeric_limits<Size>::min();

}  // namespace convoy
