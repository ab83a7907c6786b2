#include "run/plain/define.h"
#include "run/threads.h"

#include <algorithm>

namespace convoy::plain {

namespace {

// One axis after the other: each output row is a weighted sum of input rows. Sums in float64 keep the order of the axes
// from mattering beyond the last rounding.
std::vector<double> resized(const std::vector<double>& x, const Around& a, const std::vector<Taps>& taps, int threads) {
  const auto out = static_cast<Size>(taps.size());
  std::vector<double> y(static_cast<std::size_t>(a.outer * out * a.inner), 0.0);
  const double work = 2.0 * static_cast<double>(y.size());
  for_each_item(threads_for(threads, work), a.outer * out, [&](Size item) {
    const Size o = item / out;
    const Taps& tap = taps[static_cast<std::size_t>(item % out)];
    double* to = y.data() + item * a.inner;
    for (std::size_t t = 0; t < tap.cells.size(); ++t) {
      const double* from = x.data() + (o * a.size + tap.cells[t]) * a.inner;
      const double weight = tap.weights[t];
      // A lone cell is copied as it is, so that an infinity stays one.
      if (tap.cells.size() == 1) std::copy_n(from, a.inner, to);
      else
        for (Size i = 0; i < a.inner; ++i) to[i] += weight * from[i];
    }
  });
  return y;
}

// Cells whose coordinate left the axis of a crop.
template <class T>
void fill_outside(const std::vector<Taps>& taps, const Around& a, double value, std::vector<T>& y) {
  for (Size o = 0; o < a.outer; ++o)
    for (Size q = 0; q < a.size; ++q)
      if (taps[static_cast<std::size_t>(q)].cells.empty())
        std::fill_n(y.data() + (o * a.size + q) * a.inner, a.inner, static_cast<T>(value));
}

}  // namespace

template <class T>
Status compute(const Resize& op, const Call<T>& call) {
  Sizes shape = call.in[0].shape;
  std::vector<double> values(call.in[0].values.begin(), call.in[0].values.end());
  std::vector<std::vector<Taps>> taps;
  for (std::size_t i = 0; i < op.axes.size(); ++i) {
    const Size axis = op.axes[i], out = call.out[0].shape[static_cast<std::size_t>(axis)];
    const Around a = around(shape, axis);
    taps.push_back(taps_of(op, i, a.size, out));
    values = resized(values, a, taps.back(), call.threads);
    shape[static_cast<std::size_t>(axis)] = out;
  }
  for (std::size_t i = 0; i < taps.size(); ++i)
    fill_outside(taps[i], around(shape, op.axes[i]), op.outside_value, values);
  std::ranges::transform(values, call.out[0].values.begin(), [](double v) { return static_cast<T>(v); });
  return {};
}

template struct Kernels<Resize>;

}  // namespace convoy::plain
