#include "diagnose/steps_of_weights.h"

#include <algorithm>
#include <cmath>

namespace convoy::diagnose {

namespace {

constexpr std::size_t most_steps_of_bits = 256;  // that 8 bits tell

// In order of size. Nothing: more than 8 bits can tell, which is seen long before all are read.
std::optional<std::vector<double>> few_distinct(std::span<const double> numbers) {
  std::vector<double> found;
  for (const double x : numbers) {
    const auto at = std::ranges::lower_bound(found, x);
    if (at != found.end() && *at == x) continue;
    if (found.size() == most_steps_of_bits) return std::nullopt;
    found.insert(at, x);
  }
  return found;
}

// Whether all numbers are whole ones times `step`, which is first made to fit the largest.
std::optional<double> fitted(const std::vector<double>& numbers, double largest, double step) {
  const double steps = std::round(largest / step);
  if (!(steps >= 1 && steps <= most_steps_of_bits)) return std::nullopt;
  const double fit = largest / steps;
  for (const double x : numbers)
    if (!(std::abs(x / fit - std::round(x / fit)) <= 1e-3)) return std::nullopt;
  return fit;
}

}  // namespace

std::optional<double> step_of(std::span<const double> all) {
  const auto distinct = few_distinct(all);
  if (!distinct || distinct->size() < 2) return std::nullopt;
  const std::vector<double>& numbers = *distinct;
  const double largest = std::max(std::abs(numbers.front()), std::abs(numbers.back()));
  double apart = INFINITY;
  for (std::size_t i = 1; i < numbers.size(); ++i)
    if (const double one = numbers[i] - numbers[i - 1]; one > 1e-5 * largest) apart = std::min(apart, one);
  for (int parts = 1; parts <= 128; ++parts)
    if (const auto fit = fitted(numbers, largest, apart / parts)) return fit;
  return std::nullopt;
}

std::vector<std::vector<double>> along(const Tensor& tensor, std::size_t axis) {
  const auto numbers = tensor.doubles();
  const auto count = static_cast<std::size_t>(tensor.shape()[axis]);
  std::size_t inner = 1;
  for (std::size_t i = axis + 1; i < tensor.shape().size(); ++i) inner *= static_cast<std::size_t>(tensor.shape()[i]);
  std::vector<std::vector<double>> parts(count);
  for (std::size_t i = 0; i < numbers.size(); ++i) parts[i / inner % count].push_back(numbers[i]);
  return parts;
}

std::optional<double> step_by_channel(const Tensor& tensor) {
  for (std::size_t axis = 0; axis < tensor.shape().size(); ++axis) {
    const auto parts = along(tensor, axis);
    if (parts.size() < 2 || parts.front().size() < 4) continue;
    double largest = 0;
    const bool all = std::ranges::all_of(parts, [&](const std::vector<double>& part) {
      const auto step = step_of(part);
      largest = std::max(largest, step.value_or(0));
      return step || std::ranges::all_of(part, [](double x) { return x == 0; });
    });
    if (all && largest > 0) return largest;
  }
  return std::nullopt;
}

std::optional<double> largest_step(const Tensor& weights) {
  const auto one = step_of(weights.doubles());
  return one ? one : step_by_channel(weights);
}

}  // namespace convoy::diagnose
