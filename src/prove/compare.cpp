#include "prove/compare.h"

#include "ops/expect.h"
#include "run/held.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace convoy {

namespace {

bool is_permutation(const Sizes& axes, std::size_t rank) {
  if (axes.size() != rank) return false;
  std::vector<bool> seen(rank, false);
  for (const Size axis : axes) {
    if (axis < 0 || axis >= static_cast<Size>(rank) || seen[static_cast<std::size_t>(axis)]) return false;
    seen[static_cast<std::size_t>(axis)] = true;
  }
  return true;
}

// -1 replaced by what the count leaves. Nothing: the sizes do not make up the count.
std::optional<Sizes> resolved(Sizes split, Size count) {
  Size known = 1;
  Size* open = nullptr;
  for (Size& n : split) {
    if (n == -1 && !open) {
      open = &n;
      continue;
    }
    const auto product = n < 0 ? std::nullopt : checked_multiply(known, n);
    if (!product) return std::nullopt;
    known = *product;
  }
  if (open) {
    if (known == 0 || count % known != 0) return std::nullopt;
    *open = count / known;
    known = count;
  }
  if (known != count) return std::nullopt;
  return split;
}

std::string listed(const Sizes& sizes) {
  std::string text;
  for (const Size n : sizes) text += (text.empty() ? "" : ", ") + std::to_string(n);
  return "[" + text + "]";
}

}  // namespace

Result<Tensor> carried(const Tensor& source, const Origin& origin, const Sizes& shape) {
  Tensor tensor = source;
  if (!origin.split.empty()) {
    auto split = resolved(origin.split, tensor.count());
    if (!split) return fail(Fault::Proof, listed(source.shape()) + " cannot be split into " + listed(origin.split));
    tensor = tensor.reshaped(*std::move(split));
  }
  if (!origin.permutation.empty()) {
    if (!is_permutation(origin.permutation, tensor.shape().size())) {
      return fail(Fault::Proof, listed(origin.permutation) + " does not permute the axes of " + listed(tensor.shape()));
    }
    tensor = tensor.permuted(origin.permutation);
  }
  if (checked_count(shape) != tensor.count()) {
    return fail(Fault::Proof, "the source has the shape " + listed(tensor.shape()) + ", the target " + listed(shape));
  }
  return tensor.reshaped(shape);
}

Tensor rounded(const Tensor& tensor, DType dtype) {
  const Tensor held = rounded_to_half(tensor, dtype);
  return held.dtype() == DType::F64 ? held.converted(DType::F32) : held;
}

namespace {

// How far apart two numbers are; infinite where one of them is no number and the other is not the same.
double distance(double got, double wanted) {
  const double apart = std::abs(got - wanted);
  if (std::isfinite(apart)) return apart;
  const bool alike = (std::isnan(got) && std::isnan(wanted)) || got == wanted;
  return alike ? 0 : std::numeric_limits<double>::infinity();
}

// The float32 nearest to a number, also beyond the range: those become infinite.
double once_rounded(double wanted) { return static_cast<double>(static_cast<float>(wanted)); }

template <class Bound, class Wanted>
double referred_to(Wanted wanted) {
  return Bound::exact ? once_rounded(static_cast<double>(wanted)) : static_cast<double>(wanted);
}

// Float32 holds no number this large, as far as the bound tells: infinity is what becomes of it.
template <class Got>
bool overflows(Got got, double wanted, double allowed) {
  if (!std::is_same_v<Got, float> || !std::isinf(got) || std::signbit(got) != std::signbit(wanted)) return false;
  return std::abs(wanted) + allowed >= static_cast<double>(std::numeric_limits<float>::max());
}

constexpr std::size_t at_once = 64;

// Whether none of so many numbers is further off than the worst before, counted in what is allowed and in size: most are not,
// and vectors tell it.
template <class Got, class Wanted, class Bound>
bool all_nearer(const Got* got, const Wanted* wanted, const Bound& bound, std::size_t first, double ratio,
                double largest) {
  std::uint64_t further = 0;
  for (std::size_t i = 0; i < at_once; ++i) {
    const double apart = std::abs(static_cast<double>(got[first + i]) - referred_to<Bound>(wanted[first + i]));
    // What is no number is not less than anything.
    further |= (apart <= ratio * bound.at(first + i)) & (apart <= largest) ? 0U : 1U;
  }
  return further == 0;
}

template <class Got, class Wanted, class Bound>
Difference compare_all(std::span<const Got> got, std::span<const Wanted> wanted, const Bound& bound, double limit) {
  Difference worst;
  const auto compare_one = [&](std::size_t i) {
    const double apart = distance(static_cast<double>(got[i]), referred_to<Bound>(wanted[i]));
    if (apart <= 0) return;
    const double allowed = bound.at(i);
    if (overflows(got[i], static_cast<double>(wanted[i]), allowed)) return;
    worst.largest = std::max(worst.largest, apart);
    if (std::isinf(allowed)) return;  // a pole lies within the rounding of what was read: any number may follow
    const double r = allowed > 0 ? limit * (apart / allowed) : std::numeric_limits<double>::infinity();
    if (r <= worst.r) return;
    worst.r = r;
    worst.index = static_cast<Size>(i);
  };
  std::size_t i = 0;
  for (; i + at_once <= got.size(); i += at_once) {
    // A little less, for the product there and the quotient here are rounded.
    const double ratio = limit > 0 ? worst.r / limit * (1 - 0x1p-40) : 0;
    if (all_nearer(got.data(), wanted.data(), bound, i, ratio, worst.largest)) continue;
    for (std::size_t j = 0; j < at_once; ++j) compare_one(i + j);
  }
  for (; i < got.size(); ++i) compare_one(i);
  worst.same = !(worst.r > limit);
  return worst;
}

// A bound too small for a normal float32 is no bound: runtimes may flush such numbers to zero.
struct ByElement {
  static constexpr bool exact = false;
  const float* error;
  double at(std::size_t i) const { return static_cast<double>(error[i]) + 1e-37; }
};
struct Exactly {
  static constexpr bool exact = true;
  static double at(std::size_t) { return 0; }
};
struct ExactlyWide {  // both of float64
  static constexpr bool exact = false;
  static double at(std::size_t) { return 0; }
};

// To the last digit, which no float type holds of them all.
Difference compare_whole(const std::vector<std::int64_t>& got, const std::vector<std::int64_t>& wanted) {
  Difference worst;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i] == wanted[i]) continue;
    const double apart = std::max(1.0, std::abs(static_cast<double>(got[i]) - static_cast<double>(wanted[i])));
    worst.largest = std::max(worst.largest, apart);
    if (std::isinf(worst.r)) continue;
    worst.r = std::numeric_limits<double>::infinity();
    worst.index = static_cast<Size>(i);
  }
  worst.same = !(worst.r > 0);
  return worst;
}

}  // namespace

Difference compare(const Tensor& got, const Tensor& wanted, const std::optional<Tensor>& error, double limit) {
  if (got.dtype() == DType::F32 && wanted.dtype() == DType::F64) {
    if (error) return compare_all(got.raw<float>(), wanted.raw<double>(), ByElement{error->raw<float>().data()}, limit);
    return compare_all(got.raw<float>(), wanted.raw<double>(), Exactly{}, 0);
  }
  if (!error && (got.identity() == wanted.identity() || same_bytes(got, wanted))) return {};
  if (!error && !is_floating(got.dtype()) && !is_floating(wanted.dtype()))
    return compare_whole(got.integers(), wanted.integers());
  const auto a = got.doubles(), b = wanted.doubles();
  const std::span<const double> left(a), right(b);
  if (error) return compare_all(left, right, ByElement{error->raw<float>().data()}, limit);
  if (got.dtype() == DType::F64) return compare_all(left, right, ExactlyWide{}, 0);
  return compare_all(left, right, Exactly{}, 0);
}

std::string place_in(const Sizes& shape, Size index) {
  Sizes at(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    at[axis] = shape[axis] > 0 ? index % shape[axis] : 0;
    index = shape[axis] > 0 ? index / shape[axis] : 0;
  }
  return listed(at);
}

}  // namespace convoy
