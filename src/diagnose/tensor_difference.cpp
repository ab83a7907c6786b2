#include "diagnose/tensor_difference.h"

#include "diagnose/fingerprint.h"
#include "prove/bound.h"
#include "prove/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

namespace convoy::diagnose {

namespace {

bool is_same_number(double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); }

template <class A, class B>
void count_differing(std::span<const A> a, std::span<const B> b, TensorDifference& found) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    found.scale = std::max(found.scale, std::abs(x));
    if (is_same_number(x, y)) continue;
    ++found.differing;
    const double apart = std::abs(x - y);
    const double by = std::isfinite(apart) ? apart : std::numeric_limits<double>::infinity();
    found.steps = std::max(found.steps, by / (unit_rounding * std::max(std::abs(x), std::abs(y))));
    if (found.at >= 0 && by <= found.largest) continue;
    found.at = static_cast<Size>(i), found.largest = by, found.a = x, found.b = y;
  }
}

// The indices along one axis at which something differs.
std::set<Size> differing_along(std::size_t axis, const std::vector<double>& a, const std::vector<double>& b,
                               const Sizes& shape) {
  Size inner = 1;
  for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
  std::set<Size> found;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!is_same_number(a[i], b[i])) found.insert(static_cast<Size>(i) / inner % shape[axis]);
  return found;
}

bool is_slice_exchanged(std::size_t axis, Size one, Size other, const std::vector<double>& a,
                        const std::vector<double>& b, const Sizes& shape) {
  Size inner = 1, outer = 1;
  for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
  for (std::size_t i = 0; i < axis; ++i) outer *= shape[i];
  for (Size o = 0; o < outer; ++o)
    for (Size k = 0; k < inner; ++k) {
      const auto x = static_cast<std::size_t>((o * shape[axis] + one) * inner + k);
      const auto y = static_cast<std::size_t>((o * shape[axis] + other) * inner + k);
      if (!is_same_number(a[x], b[y]) || !is_same_number(a[y], b[x])) return false;
    }
  return true;
}

std::string exchanged_text(const Tensor& a, const Tensor& b) {
  const auto x = a.doubles(), y = b.doubles();
  for (std::size_t axis = 0; axis < a.shape().size(); ++axis) {
    const auto at = differing_along(axis, x, y, a.shape());
    if (at.size() == 2 && is_slice_exchanged(axis, *at.begin(), *at.rbegin(), x, y, a.shape()))
      return fmt::format("; {} and {} along axis {} changed places", *at.begin(), *at.rbegin(), axis);
  }
  return "";
}

}  // namespace

bool TensorDifference::is_rounding() const {
  constexpr double most_steps = 8, most_steps_of_few = 64, last_bit = 2 * unit_rounding;
  constexpr Size share = 8;
  const bool are_many = steps <= most_steps && differing * share >= numbers;
  const bool are_sums = steps <= most_steps_of_few && largest <= last_bit * scale;
  return differing > 1 && (are_many || are_sums);
}

TensorDifference difference_of(const Tensor& a, const Tensor& b) {
  TensorDifference found;
  found.numbers = a.count();
  if (same_bytes(a, b)) {
    found.same_numbers = true;
    return found;
  }
  const bool is_plain = a.dtype() == DType::F32 && b.dtype() == DType::F32 && a.aligned() && b.aligned();
  if (is_plain) {
    count_differing(a.raw<float>(), b.raw<float>(), found);
  } else {
    const auto x = a.doubles(), y = b.doubles();
    count_differing(std::span<const double>(x), std::span<const double>(y), found);
  }
  found.same_numbers = found.differing == 0 || fingerprint(a) == fingerprint(b);
  return found;
}

std::string text_of(const TensorDifference& difference, const Tensor& a, const Tensor& b) {
  return fmt::format("{} is {:.9g} in a, {:.9g} in b; {} of {} numbers differ{}{}", place_in(a.shape(), difference.at),
                     difference.a, difference.b, difference.differing, difference.numbers,
                     difference.differing == 1 ? "s" : "", difference.same_numbers ? exchanged_text(a, b) : "");
}

}  // namespace convoy::diagnose
