#include "ops/axes.h"

#include "base/permute.h"

namespace convoy {

Sizes to_channels_first(Size space) {
  Sizes permutation{0, space + 1};
  for (Size i = 0; i < space; ++i) permutation.push_back(i + 1);
  return permutation;
}

Sizes to_channels_last(Size space) {
  Sizes permutation{0};
  for (Size i = 0; i < space; ++i) permutation.push_back(i + 2);
  permutation.push_back(1);
  return permutation;
}

Sizes inverse(const Sizes& permutation) {
  Sizes undone(permutation.size());
  for (std::size_t i = 0; i < permutation.size(); ++i)
    undone[static_cast<std::size_t>(permutation[i])] = static_cast<Size>(i);
  return undone;
}

Sizes compose(const Sizes& first, const Sizes& second) { return in_order(first, second); }

bool is_identity(const Sizes& permutation) {
  for (std::size_t i = 0; i < permutation.size(); ++i)
    if (permutation[i] != static_cast<Size>(i)) return false;
  return true;
}

}  // namespace convoy
