// The elements of a tensor in another order of its axes.
#pragma once
#include "base/bytes.h"

#include <span>
#include <vector>

namespace convoy {

// What `of` holds at each of `axes`: the shape of a tensor whose axes are brought into that order.
template <class T>
std::vector<T> in_order(const std::vector<T>& of, std::span<const Size> axes) {
  std::vector<T> ordered;
  ordered.reserve(axes.size());
  for (const Size axis : axes) ordered.push_back(of[static_cast<std::size_t>(axis)]);
  return ordered;
}

// Axis i of the result is axis axes[i] of `from`, whose `shape` counts elements of `width` (1, 2, 4 or 8) bytes. Axes
// are a permutation; `to` has room for as many bytes as `from` has, and does not overlap it.
void copy_permuted(Bytes from, std::span<const Size> shape, Size width, std::span<const Size> axes, std::byte* to);

}  // namespace convoy
