#include "prove/drawn_numbers.h"

#include <cmath>
#include <vector>

namespace convoy {

Tensor drawn_numbers(const Sizes& shape, std::mt19937_64& random) {
  std::vector<float> values(static_cast<std::size_t>(checked_count(shape).value_or(0)));
  for (float& value : values) {
    const std::uint64_t bits = random();
    const float size = std::exp2(drawn_share(bits) * 4.5F - 2.0F);
    value = (bits & 1) != 0 ? -size : size;
  }
  return Tensor::of(shape, std::move(values));
}

}  // namespace convoy
