#include "port/halves.h"

#include "base/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace convoy {

Result<std::string> round_weights_to_halves(Graph& graph) {
  constexpr double largest = 65504;
  double worst = 0;
  std::string where;
  Size rounded = 0, kept = 0;
  for (Value& value : graph.values) {
    if (!value.constant || !value.trainable || value.constant->dtype() != DType::F32) continue;
    if (auto held = budget::afford(value.constant->count() * 12, "weights in float16"); !held) return pass(held);
    const auto numbers = value.constant->floats();
    const auto size = [](float x) { return std::abs(static_cast<double>(x)); };
    const double most = numbers.empty() ? 0 : size(*std::ranges::max_element(numbers, {}, size));
    if (!(most <= largest)) {
      ++kept;
      continue;
    }
    Tensor halves = value.constant->converted(DType::F16).converted(DType::F32);
    const auto now = halves.floats();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const double share = std::abs(static_cast<double>(now[i]) - static_cast<double>(numbers[i])) / most;
      if (share > worst) worst = share, where = value.name;
    }
    value.constant = std::move(halves);
    ++rounded;
  }
  std::string text = fmt::format("{} weights are rounded to float16", rounded);
  if (worst > 0)
    text += fmt::format(", by {:.2g} of a tensor's largest number at most (in '{}'); the proof holds the rounded model",
                        worst, where);
  if (kept > 0) text += fmt::format("; {} hold numbers beyond float16's range and stay as they are", kept);
  return text;
}

}  // namespace convoy
