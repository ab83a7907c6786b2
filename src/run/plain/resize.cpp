#include "run/plain/kernels.h"

#include <algorithm>

namespace convoy::plain {

namespace {

// One axis after the other: each output row is a weighted sum of input rows. Sums in float64 keep the order of the axes
// from mattering beyond the last rounding.
template <class T>
std::vector<double> resized(const std::vector<T>& x, const Around& a, const std::vector<Taps>& taps) {
  const auto out = static_cast<Size>(taps.size());
  std::vector<double> y(static_cast<std::size_t>(a.outer * out * a.inner), 0.0);
  for (Size o = 0; o < a.outer; ++o)
    for (Size q = 0; q < out; ++q) {
      const Taps& tap = taps[static_cast<std::size_t>(q)];
      double* to = y.data() + (o * out + q) * a.inner;
      for (std::size_t t = 0; t < tap.cells.size(); ++t) {
        const T* from = x.data() + (o * a.size + tap.cells[t]) * a.inner;
        const double weight = tap.weights[t];
        // A lone cell is copied as it is, so that an infinity stays one.
        if (tap.cells.size() == 1) std::copy_n(from, a.inner, to);
        else
          for (Size i = 0; i < a.inner; ++i) to[i] += weight * static_cast<double>(from[i]);
      }
    }
  return y;
}

}  // namespace

template <class T>
Status compute(const Resize& op, const Call<T>& call) {
  Sizes shape = call.in[0].shape;
  std::vector<double> values(call.in[0].values.begin(), call.in[0].values.end());
  for (Size i = 0; i < op.axes.space; ++i) {
    const Size axis = op.axes.spatial(i), out = call.out[0].shape[static_cast<std::size_t>(axis)];
    const double factor = op.factors.empty() ? 0 : op.factors[static_cast<std::size_t>(i)];
    const Around a = around(shape, axis);
    values = resized(values, a, taps_of(op, a.size, out, factor));
    shape[static_cast<std::size_t>(axis)] = out;
  }
  std::ranges::transform(values, call.out[0].values.begin(), [](double v) { return static_cast<T>(v); });
  return {};
}

template Status compute(const Resize&, const Call<float>&);
template Status compute(const Resize&, const Call<double>&);

}  // namespace convoy::plain
