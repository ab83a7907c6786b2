// The elements of a tensor in another order of its axes.
#pragma once
#include "base/bytes.h"

#include <span>

namespace convoy {

// Axis i of the result is axis axes[i] of `from`, whose `shape` counts elements of `width` (1, 2, 4 or 8) bytes. Axes
// are a permutation; `to` has room for as many bytes as `from` has, and does not overlap it.
void copy_permuted(Bytes from, std::span<const Size> shape, Size width, std::span<const Size> axes, std::byte* to);

}  // namespace convoy
