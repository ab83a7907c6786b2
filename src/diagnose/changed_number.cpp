#include "diagnose/changed_number.h"

#include "diagnose/fingerprint.h"
#include "prove/bound.h"
#include "prove/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
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

// A kernel lacks so few numbers of another's that it may be the same one: fewer than half of any slice of it.
bool are_few(Size missing, const Value& value) {
  return missing * 2 < value.constant->count() / std::ranges::max(value.constant->shape());
}

// Which numbers may be among some, by a bit of each: what has none is not among them. Sorting millions of numbers takes far
// longer, and is only worth it where nearly all of them are found.
class Marks {
 public:
  explicit Marks(const Graph& graph) {
    std::size_t numbers = 0;
    for (const Value& value : graph.values)
      if (is_kernel(value)) numbers += static_cast<std::size_t>(value.constant->count());
    bits_.resize(std::bit_ceil(16 * numbers + 1));
    for (const Value& value : graph.values)
      if (is_kernel(value))
        for (const float x : numbers_of(value)) bits_[place_of(x)] = true;
  }
  bool may_hold_most_of(const Value& value) const {
    Size missing = 0;
    for (const float x : numbers_of(value))
      if (!bits_[place_of(x)] && !are_few(++missing, value)) return false;
    return true;
  }

 private:
  std::size_t place_of(float x) const {
    const std::uint64_t mixed = (std::bit_cast<std::uint32_t>(x) + std::uint64_t{1}) * 0x9E3779B97F4A7C15;
    return (mixed >> 24) & (bits_.size() - 1);
  }
  std::vector<bool> bits_;
};

// What others do not hold of a kernel that they hold nearly.
void leave_over(const Value& value, const std::vector<float>& others, std::vector<LeftOver>& into) {
  constexpr std::size_t share = 8;
  const std::vector<float> numbers = numbers_of(value);
  std::vector<LeftOver> missing;
  std::vector<float> different;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (std::ranges::binary_search(others, numbers[i])) continue;
    missing.push_back({&value, static_cast<Size>(i), numbers[i]});
    different.push_back(numbers[i]);
    if (!are_few(std::ssize(missing), value)) return;
  }
  if (distinct(std::move(different)).size() * share <= distinct(numbers).size())
    into.insert(into.end(), missing.begin(), missing.end());
}

std::vector<LeftOver> left_over(const Graph& graph, const Graph& other) {
  const Marks marks(other);
  std::vector<const Value*> open;
  for (const Value& value : graph.values)
    if (is_kernel(value) && marks.may_hold_most_of(value)) open.push_back(&value);
  std::vector<LeftOver> all;
  if (open.empty()) return all;
  const auto others = numbers_of_kernels(other);
  for (const Value* value : open) leave_over(*value, others, all);
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
  const auto of_a = left_over(a, b);
  if (of_a.empty()) return std::nullopt;
  const auto of_b = left_over(b, a);
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
