#include "ops/pool_divisor.h"
#include "run/plain/kernels.h"
#include "run/threads.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace convoy::plain {

namespace {

// What one output cell of one axis reads: cells first, first + step, ..., and by how much an average divides.
struct Reach {
  Size first = 0, count = 0, step = 1, divisor = 1;
};
using AxisReach = std::vector<Reach>;

Result<AxisReach> reach_of(const Padding& padding, const Window& window, Size in, Counting counting) {
  if (empties(padding, window, in)) return AxisReach{};
  const auto placed = place(padding, window, in);
  if (!placed) return fail(Fault::Internal, "a pool runs where no window fits");
  AxisReach all;
  for (Size q = 0; q < placed->out; ++q) {
    const TapRange taps = taps_inside(*placed, window, in, q);
    all.push_back(
        {cell(*placed, window, q, taps.first), taps.count, window.dilation, divisor(*placed, window, in, q, counting)});
  }
  return all;
}

// Calls visit(offset of the cell in row-major order) for every cell that a position reads.
template <class F>
void visit_cells(const std::vector<const Reach*>& at, const Sizes& in, std::size_t axis, Size offset, const F& visit) {
  const Reach& reach = *at[axis];
  for (Size i = 0; i < reach.count; ++i) {
    const Size cell = offset * in[axis] + reach.first + i * reach.step;
    if (axis + 1 == at.size()) visit(cell);
    else visit_cells(at, in, axis + 1, cell, visit);
  }
}

template <class T>
struct Maximum {
  static T start() { return -std::numeric_limits<T>::infinity(); }
  // A NaN is larger than everything, as PyTorch has it.
  static void add(T& sum, T x) {
    if (x > sum || std::isnan(x)) sum = x;
  }
  static T close(T sum, double) { return sum; }
};

// Sums of float32 numbers are kept in float64: they are few, and it costs nothing here.
template <class T>
struct Average {
  static double start() { return 0; }
  static void add(double& sum, T x) { sum += static_cast<double>(x); }
  static T close(double sum, double divisor) { return divisor == 0 ? T{0} : static_cast<T>(sum / divisor); }
};

template <class T, class Fold>
void pool(const Axes& axes, const std::vector<AxisReach>& reaches, std::optional<Size> divisor, const Call<T>& call) {
  const Sizes &in = call.in[0].shape, &out = call.out[0].shape;
  Sizes in_space;
  Size cells = 1, positions = 1;
  for (Size i = 0; i < axes.space; ++i) {
    const auto axis = static_cast<std::size_t>(axes.spatial(i));
    in_space.push_back(in[axis]);
    cells *= in[axis];
    positions *= out[axis];
  }
  const Size channels = in[static_cast<std::size_t>(axes.channel())], batch = in[0];
  const bool first = axes.order == Order::ChannelsFirst;
  const Size x_channel = first ? cells : 1, x_cell = first ? 1 : channels;
  const Size y_channel = first ? positions : 1, y_cell = first ? 1 : channels;
  constexpr Size block = 64;
  const Size blocks = (positions + block - 1) / block;
  using Sum = decltype(Fold::start());
  const int threads =
      threads_for(call.threads, 4.0 * static_cast<double>(batch * channels) * static_cast<double>(positions));
  for_each_item(threads, batch * blocks, [&](Size item) {
    const Size n = item / blocks, begin = item % blocks * block, end = std::min(positions, begin + block);
    std::vector<const Reach*> at(reaches.size());
    std::vector<Size> read;
    std::vector<Sum> sums(static_cast<std::size_t>(channels));
    for (Size position = begin; position < end; ++position) {
      double divides = 1;
      for (std::size_t a = reaches.size(), rest = static_cast<std::size_t>(position); a-- > 0;) {
        at[a] = &reaches[a][rest % reaches[a].size()];
        rest /= reaches[a].size();
        divides *= static_cast<double>(at[a]->divisor);
      }
      if (divisor) divides = static_cast<double>(*divisor);
      std::ranges::fill(sums, Fold::start());
      const T* x = call.data(0) + n * channels * cells;
      visit_cells(at, in_space, 0, 0, [&](Size cell) {
        const T* from = x + cell * x_cell;
        for (Size c = 0; c < channels; ++c) Fold::add(sums[static_cast<std::size_t>(c)], from[c * x_channel]);
      });
      T* y = call.out[0].values.data() + n * channels * positions + position * y_cell;
      for (Size c = 0; c < channels; ++c) y[c * y_channel] = Fold::close(sums[static_cast<std::size_t>(c)], divides);
    }
  });
}

template <class T>
Result<std::vector<AxisReach>> reaches_of(const Axes& axes, const std::vector<Window>& windows,
                                          const std::vector<Padding>& paddings, Counting counting,
                                          const Call<T>& call) {
  std::vector<AxisReach> all;
  for (Size i = 0; i < axes.space; ++i) {
    const auto at = static_cast<std::size_t>(i);
    auto reach =
        reach_of(paddings[at], windows[at], call.in[0].shape[static_cast<std::size_t>(axes.spatial(i))], counting);
    if (!reach) return pass(reach);
    all.push_back(*std::move(reach));
  }
  return all;
}

}  // namespace

template <class T>
Status compute(const MaxPool& op, const Call<T>& call) {
  const auto reaches = reaches_of(op.axes, op.windows, op.paddings, Counting::Inside, call);
  if (!reaches) return std::unexpected(reaches.error());
  pool<T, Maximum<T>>(op.axes, *reaches, std::nullopt, call);
  return {};
}

template <class T>
Status compute(const AveragePool& op, const Call<T>& call) {
  const auto reaches =
      reaches_of(op.axes, op.windows, op.paddings, op.counts_padding ? Counting::WithPadding : Counting::Inside, call);
  if (!reaches) return std::unexpected(reaches.error());
  pool<T, Average<T>>(op.axes, *reaches, op.divisor, call);
  return {};
}

template <class T>
Status compute(const AdaptivePool& op, const Call<T>& call) {
  std::vector<AxisReach> reaches;
  for (Size i = 0; i < op.axes.space; ++i) {
    const Size in = call.in[0].shape[static_cast<std::size_t>(op.axes.spatial(i))];
    const Size out = op.out[static_cast<std::size_t>(i)];
    AxisReach reach;
    for (Size q = 0; q < out; ++q) {
      const Size begin = q * in / out, end = ceil_div((q + 1) * in, out);
      reach.push_back({begin, end - begin, 1, end - begin});
    }
    reaches.push_back(std::move(reach));
  }
  if (op.kind == Extreme::Average) pool<T, Average<T>>(op.axes, reaches, std::nullopt, call);
  else pool<T, Maximum<T>>(op.axes, reaches, std::nullopt, call);
  return {};
}

template Status compute(const MaxPool&, const Call<float>&);
template Status compute(const MaxPool&, const Call<double>&);
template Status compute(const AveragePool&, const Call<float>&);
template Status compute(const AveragePool&, const Call<double>&);
template Status compute(const AdaptivePool&, const Call<float>&);
template Status compute(const AdaptivePool&, const Call<double>&);

}  // namespace convoy::plain
