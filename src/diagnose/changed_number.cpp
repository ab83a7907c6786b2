#include "diagnose/changed_number.h"

#include "diagnose/fingerprint.h"
#include "prove/bound.h"
#include "prove/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

namespace convoy::diagnose {

namespace {

// One number of a vector may be folded by itself; of a kernel only whole slices are.
bool is_kernel(const Value& value) {
  constexpr Size least = 16;
  return value.constant && holds_weights(*value.constant) && value.constant->count() >= least &&
         std::ranges::count_if(value.constant->shape(), [](Size size) { return size > 1; }) > 1;
}

// Finite ones; what is below the normal ones is 0, as some programs write it.
std::vector<float> numbers_of(const Value& value) {
  std::vector<float> numbers = value.constant->floats();
  for (float& x : numbers)
    if (!std::isnormal(x)) x = 0;
  return numbers;
}

std::vector<float> distinct(std::vector<float> numbers) {
  std::ranges::sort(numbers);
  const auto rest = std::ranges::unique(numbers);
  numbers.erase(rest.begin(), rest.end());
  return numbers;
}

std::vector<float> numbers_of_kernels(const Graph& graph) {
  std::vector<float> all;
  for (const Value& value : graph.values)
    if (is_kernel(value)) std::ranges::copy(numbers_of(value), std::back_inserter(all));
  return distinct(std::move(all));
}

struct LeftOver {
  const Value* value;
  Size index;
  float number;
};

// What others do not hold of a kernel that they hold nearly: fewer numbers than half of any slice of it.
void leave_over(const Value& value, const std::vector<float>& others, std::vector<LeftOver>& into) {
  constexpr std::size_t share = 8;
  const std::vector<float> numbers = numbers_of(value);
  std::vector<LeftOver> missing;
  std::vector<float> different;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (std::ranges::binary_search(others, numbers[i])) continue;
    missing.push_back({&value, static_cast<Size>(i), numbers[i]});
    different.push_back(numbers[i]);
  }
  const Size slice = value.constant->count() / std::ranges::max(value.constant->shape());
  const bool are_few =
      std::ssize(missing) * 2 < slice && distinct(std::move(different)).size() * share <= distinct(numbers).size();
  if (are_few) into.insert(into.end(), missing.begin(), missing.end());
}

std::vector<LeftOver> left_over(const Graph& graph, const std::vector<float>& others) {
  std::vector<LeftOver> all;
  for (const Value& value : graph.values)
    if (is_kernel(value)) leave_over(value, others, all);
  return all;
}

double scale_of(const Tensor& tensor) {
  double scale = 0;
  for (const float x : tensor.floats()) scale = std::max(scale, std::abs(static_cast<double>(x)));
  return scale;
}

}  // namespace

std::optional<ChangedNumber> changed_number(const Graph& a, const Graph& b) {
  constexpr double last_bits = 4 * unit_rounding;  // of the kernel's largest number: computed by two programs
  const auto of_a = left_over(a, numbers_of_kernels(b));
  const auto of_b = left_over(b, numbers_of_kernels(a));
  if (of_b.empty()) return std::nullopt;
  std::optional<ChangedNumber> found;
  for (const LeftOver& own : of_a) {
    const auto apart = [&](const LeftOver& other) {
      return std::abs(static_cast<double>(own.number) - static_cast<double>(other.number));
    };
    const LeftOver& nearest = *std::ranges::min_element(of_b, {}, apart);
    const double by = apart(nearest);
    if (by <= last_bits * scale_of(*own.value->constant)) continue;
    if (found && by <= std::abs(found->a - found->b)) continue;
    found = {own.value, own.number, nearest.number,
             fmt::format("'{}' {} is {:.9g} in a, and {:.9g} stands in b; b holds {} of its {} numbers",
                         own.value->name, place_in(own.value->constant->shape(), own.index), own.number, nearest.number,
                         own.value->constant->count() - std::ranges::count(of_a, own.value, &LeftOver::value),
                         own.value->constant->count())};
  }
  return found;
}

}  // namespace convoy::diagnose
