#include "run/plain/define.h"
#include "run/plain/folds.h"
#include "run/plain/lines.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <type_traits>

namespace convoy::plain {

namespace {

// Fractions are folded in double; whole numbers wrap around.
template <class T>
using Folded = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;

double sum_of(double a, double b) { return a + b; }
double product_of(double a, double b) { return a * b; }
std::int64_t sum_of(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t product_of(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

template <class T>
Folded<T> folded_with(Reduction reduction, const T* x, std::span<const Size> places, Folded<T> folded) {
  for (const Size place : places) {
    const auto value = static_cast<Folded<T>>(x[place]);
    switch (reduction) {
      case Reduction::Mean:
      case Reduction::Sum: folded = sum_of(folded, value); break;
      case Reduction::Maximum:
        if (value > folded || value != value) folded = value;
        break;
      case Reduction::Minimum:
        if (value < folded || value != value) folded = value;
        break;
      case Reduction::Product: folded = product_of(folded, value); break;
    }
  }
  return folded;
}

}  // namespace

template <class T>
Status compute(const Reduce& op, const Call<T>& call) {
  const Groups groups(call.in[0].shape, op.axes);
  const std::span<const Size> all = groups.places();
  groups.for_each([&](Size start, std::size_t g) {
    const T* x = call.data(0) + start;
    Folded<T> folded = op.reduction == Reduction::Product ? 1 : 0;
    if (op.reduction == Reduction::Maximum || op.reduction == Reduction::Minimum)
      folded = static_cast<Folded<T>>(x[all[0]]);
    for_each_part(all, [&](std::span<const Size> places) { folded = folded_with(op.reduction, x, places, folded); });
    if (op.reduction == Reduction::Mean) folded /= static_cast<Folded<T>>(all.size());
    call.out[0].values[g] = static_cast<T>(folded);
  });
  return {};
}

namespace {

// Whether a comes before b when the most extreme number is wanted: a NaN is more extreme than any number.
template <class T>
bool comes_before(T a, T b, bool largest) {
  if (a != a) return b == b;
  return largest ? a > b : a < b;
}

}  // namespace

// The place of the extreme in a row, `step` apart, where no comparison holds for a NaN.
template <class T>
Size search(const T* x, Size size, Size step, const ArgExtreme& op, NanInSearch nan) {
  constexpr auto most = static_cast<T>(std::is_integral_v<T> ? 0 : std::numeric_limits<float>::max());
  const bool from_first = nan == NanInSearch::StaysInFront || std::is_integral_v<T>;
  T extreme = from_first ? x[0] : op.largest ? -most : most;
  Size best = 0;
  for (Size k = from_first ? 1 : 0; k < size; ++k) {
    const T here = x[k * step];
    const bool equals = op.last && here == extreme;
    if (!equals && !(op.largest ? here > extreme : here < extreme)) continue;
    best = k;
    extreme = here;
  }
  return best;
}

template <class T>
Status compute(const ArgExtreme& op, const Call<T>& call) {
  const Around a = around(call.in[0].shape, op.axis);
  for_each_line(a, [&](Size o, Size i) {
    const T* x = call.data(0) + o * a.size * a.inner + i;
    Size& place = call.out[0].positions[static_cast<std::size_t>(o * a.inner + i)];
    if (call.rules.nan_in_search != NanInSearch::IsExtreme) {
      place = search(x, a.size, a.inner, op, call.rules.nan_in_search);
      return;
    }
    Size best = 0;
    for (Size k = 1; k < a.size; ++k) {
      const T here = x[k * a.inner], there = x[best * a.inner];
      const bool replaces = op.last ? !comes_before(there, here, op.largest) : comes_before(here, there, op.largest);
      if (replaces) best = k;
    }
    place = best;
  });
  return {};
}

namespace {

// In order, a NaN is above every number.
template <class T>
bool sorts_before(T a, T b, bool largest) {
  if (a != a || b != b) return largest ? a != a && b == b : a == a && b != b;
  return largest ? a > b : a < b;
}

}  // namespace

namespace {

// The caller has cancelled: out of the middle of a sort, since one line may be all that there is.
struct Ended {};

}  // namespace

template <class T>
Status compute(const TopK& op, const Call<T>& call) try {
  const Around a = around(call.in[0].shape, op.axis);
  Sizes order(static_cast<std::size_t>(a.size));
  Polling polling;
  for_each_line(a, [&](Size o, Size i) {
    const T* x = call.data(0) + o * a.size * a.inner + i;
    std::iota(order.begin(), order.end(), Size{0});
    std::ranges::partial_sort(order, order.begin() + op.count, [&](Size p, Size q) {
      if (polling.ends(1)) throw Ended{};
      const T left = x[p * a.inner], right = x[q * a.inner];
      if (sorts_before(left, right, op.largest)) return true;
      return !sorts_before(right, left, op.largest) && p < q;
    });
    for (Size k = 0; k < op.count; ++k) {
      const auto to = static_cast<std::size_t>((o * op.count + k) * a.inner + i);
      call.out[0].values[to] = x[order[static_cast<std::size_t>(k)] * a.inner];
      call.out[1].positions[to] = order[static_cast<std::size_t>(k)];
    }
  });
  return {};
} catch (const Ended&) { return {}; }

template <class T>
Status compute(const Accumulate& op, const Call<T>& call) {
  const Around a = around(call.in[0].shape, op.axis);
  const bool sum = op.reduction == Reduction::Sum, backwards = op.backwards, exclusive = op.exclusive;
  const T* x = call.data(0);
  T* y = call.out[0].values.data();
  for_each_line(a, [=](Size o, Size i) {
    Folded<T> running = sum ? 0 : 1;
    for (Size step = 0; step < a.size; ++step) {
      const Size k = backwards ? a.size - 1 - step : step;
      const Size at = (o * a.size + k) * a.inner + i;
      const auto value = static_cast<Folded<T>>(x[at]);
      const Folded<T> next = sum ? sum_of(running, value) : product_of(running, value);
      y[at] = static_cast<T>(exclusive ? running : next);
      running = next;
    }
  });
  return {};
}

template struct Kernels<Reduce, ArgExtreme, TopK, Accumulate>;
template struct WholeKernels<Reduce, ArgExtreme, TopK, Accumulate>;

}  // namespace convoy::plain
