#include "convoy/cancellation.h"
#include "run/plain/define.h"
#include "run/plain/lines.h"
#include "run/threads.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>

namespace convoy::plain {

namespace {

// Numbers that are written before they are read: clearing gigabytes of them takes as long as the rest, and no cancelling ends it.
class Doubles {
 public:
  explicit Doubles(Size count)
      : count_(static_cast<std::size_t>(count)),
        numbers_(std::make_unique_for_overwrite<double[]>(count_)) {}
  double* data() { return numbers_.get(); }
  const double* data() const { return numbers_.get(); }
  std::span<const double> all() const { return {numbers_.get(), count_}; }

 private:
  std::size_t count_;
  std::unique_ptr<double[]> numbers_;
};

// One axis after the other: each output row is a weighted sum of input rows. Sums in float64 keep the order of the axes
// from mattering beyond the last rounding.
Doubles resized(const Doubles& x, const Around& a, const std::vector<Taps>& taps, int threads) {
  const auto out = static_cast<Size>(taps.size());
  Doubles y(a.outer * out * a.inner);
  const double work = 2.0 * static_cast<double>(y.all().size());
  for_each_item(threads_for(threads, work), a.outer * out, [&](Size item) {
    const Size o = item / out;
    const Taps& tap = taps[static_cast<std::size_t>(item % out)];
    double* to = y.data() + item * a.inner;
    if (tap.cells.empty()) std::fill_n(to, a.inner, 0.0);
    for (std::size_t t = 0; t < tap.cells.size(); ++t) {
      const double* from = x.data() + (o * a.size + tap.cells[t]) * a.inner;
      const double weight = tap.weights[t];
      // A lone cell is copied as it is, so that an infinity stays one.
      if (tap.cells.size() == 1) std::copy_n(from, a.inner, to);
      else
        for (Size i = 0; i < a.inner; ++i) to[i] = (t == 0 ? 0.0 : to[i]) + weight * from[i];
    }
  });
  return y;
}

// Cells whose coordinate left the axis of a crop.
void fill_outside(const std::vector<Taps>& taps, const Around& a, double value, Doubles& y) {
  for (Size o = 0; o < a.outer; ++o)
    for (Size q = 0; q < a.size; ++q)
      if (taps[static_cast<std::size_t>(q)].cells.empty())
        std::fill_n(y.data() + (o * a.size + q) * a.inner, a.inner, value);
}

}  // namespace

template <class T>
Status compute(const Resize& op, const Call<T>& call) {
  Sizes block = call.in[0].shape;
  std::vector<std::vector<Taps>> taps;
  for (std::size_t i = 0; i < op.axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(op.axes[i]);
    taps.push_back(taps_of(op, i, block[axis], call.out[0].shape[axis]));
  }
  // What lies in front of the axes is done block by block, so that a batch of images takes no more room than one of them.
  const auto first = op.axes.empty() ? block.begin() : block.begin() + *std::ranges::min_element(op.axes);
  const Size blocks = std::accumulate(block.begin(), first, Size{1}, std::multiplies());
  std::fill(block.begin(), first, 1);
  const std::size_t taken = blocks == 0 ? 0 : call.in[0].values.size() / static_cast<std::size_t>(blocks),
                    given = blocks == 0 ? 0 : call.out[0].values.size() / static_cast<std::size_t>(blocks);
  const int threads = blocks > 1 ? 1 : call.threads;  // within a block
  const double work = 4.0 * static_cast<double>(call.out[0].values.size());
  for_each_item(threads_for(blocks > 1 ? call.threads : 1, work), blocks, [&](Size item) {
    Sizes shape = block;
    Doubles values(static_cast<Size>(taken));
    double* wide = values.data();
    for_each_part(call.in[0].values.subspan(static_cast<std::size_t>(item) * taken, taken),
                  [&](std::span<const T> part) { wide = std::ranges::copy(part, wide).out; });
    for (std::size_t i = 0; i < op.axes.size(); ++i) {
      values = resized(values, around(shape, op.axes[i]), taps[i], threads);
      shape[static_cast<std::size_t>(op.axes[i])] = static_cast<Size>(taps[i].size());
      if (Listening::is_cancelled()) return;
    }
    for (std::size_t i = 0; i < taps.size(); ++i)
      fill_outside(taps[i], around(shape, op.axes[i]), op.outside_value, values);
    T* y = call.out[0].values.data() + static_cast<std::size_t>(item) * given;
    for_each_part(values.all(), [&](std::span<const double> part) {
      y = std::ranges::transform(part, y, [](double v) { return static_cast<T>(v); }).out;
    });
  });
  return {};
}

template struct Kernels<Resize>;

}  // namespace convoy::plain
