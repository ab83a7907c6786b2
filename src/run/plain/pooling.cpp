#include "run/plain/define.h"
#include "run/plain/reaches.h"
#include "run/threads.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace convoy::plain {

namespace {

template <class T>
struct Maximum {
  using Sum = T;
  static T start() { return in_type<T>(-std::numeric_limits<double>::infinity()); }
  // A NaN is larger than everything, as PyTorch has it.
  static void add(T& sum, T x) {
    if (x > sum || x != x) sum = x;
  }
  static T close(T sum, double) { return sum; }
};

// No comparison holds for a NaN, which so is never the maximum.
template <class T>
struct MaximumOfNumbers {
  using Sum = T;
  static T start() { return in_type<T>(std::numeric_limits<float>::lowest()); }  // float64 stands for float32 here
  static void add(T& sum, T x) {
    if (x > sum) sum = x;
  }
  static T close(T sum, double) { return sum; }
};

// Sums of float32 numbers are kept in float64: they are few, and it costs nothing here.
template <class T>
struct Average {
  using Sum = double;
  static double start() { return 0; }
  static void add(double& sum, T x) { sum += static_cast<double>(x); }
  static T close(double sum, double divisor) { return divisor == 0 ? T{0} : static_cast<T>(sum / divisor); }
};

template <class T>
struct Norm {
  using Sum = double;
  double p;
  static double start() { return 0; }
  void add(double& sum, T x) const { sum += std::pow(std::abs(static_cast<double>(x)), p); }
  T close(double sum, double) const { return static_cast<T>(std::pow(sum, 1 / p)); }
};

template <class T>
struct SignedNorm {
  using Sum = double;
  double p, cells;
  static double start() { return 0; }
  void add(double& sum, T x) const { sum += std::pow(static_cast<double>(x), p); }
  T close(double sum, double divisor) const {
    return divisor == 0 ? T{0} : static_cast<T>(std::pow(sum / divisor * cells, 1 / p));
  }
};

template <class T, class Fold>
void pool(const Fold& fold, const Axes& axes, const std::vector<AxisReach>& reaches, std::optional<Size> divisor,
          const Call<T>& call) {
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
  using Sum = typename Fold::Sum;
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
      std::ranges::fill(sums, fold.start());
      const T* x = call.data(0) + n * channels * cells;
      visit_cells(at, in_space, 0, 0, [&](Size cell) {
        const T* from = x + cell * x_cell;
        for (Size c = 0; c < channels; ++c) fold.add(sums[static_cast<std::size_t>(c)], from[c * x_channel]);
      });
      T* y = call.out[0].values.data() + n * channels * positions + position * y_cell;
      for (Size c = 0; c < channels; ++c) y[c * y_channel] = fold.close(sums[static_cast<std::size_t>(c)], divides);
    }
  });
}

}  // namespace

template <class T>
Status compute(const MaxPool& op, const Call<T>& call) {
  const auto reaches = reaches_of(op.axes, op.windows, op.paddings, Counting::Inside, call);
  if (!reaches) return std::unexpected(reaches.error());
  if (call.rules.max_pools_pass_over_nan) pool<T, MaximumOfNumbers<T>>({}, op.axes, *reaches, std::nullopt, call);
  else pool<T, Maximum<T>>({}, op.axes, *reaches, std::nullopt, call);
  if (op.positions != Positions::None) find_positions(op.axes, op.positions, *reaches, call);
  return {};
}

template <class T>
Status compute(const AveragePool& op, const Call<T>& call) {
  const auto reaches =
      reaches_of(op.axes, op.windows, op.paddings, op.counts_padding ? Counting::WithPadding : Counting::Inside, call);
  if (!reaches) return std::unexpected(reaches.error());
  pool<T, Average<T>>({}, op.axes, *reaches, op.divisor, call);
  return {};
}

template <class T>
Status compute(const LpPool& op, const Call<T>& call) {
  const auto reaches = reaches_of(op.axes, op.windows, op.paddings, Counting::WithPadding, call);
  if (!reaches) return std::unexpected(reaches.error());
  double cells = 1;
  for (const Window& window : op.windows) cells *= static_cast<double>(window.kernel);
  if (op.rule == PowerRule::Norm) pool<T, Norm<T>>({op.p}, op.axes, *reaches, std::nullopt, call);
  else pool<T, SignedNorm<T>>({op.p, cells}, op.axes, *reaches, std::nullopt, call);
  return {};
}

template <class T>
Status compute(const AdaptivePool& op, const Call<T>& call) {
  const auto reaches = adaptive_reaches(op, call.in[0].shape);
  if (op.kind == Extreme::Average) pool<T, Average<T>>({}, op.axes, reaches, std::nullopt, call);
  else pool<T, Maximum<T>>({}, op.axes, reaches, std::nullopt, call);
  if (op.positions != Positions::None) find_positions(op.axes, op.positions, reaches, call);
  return {};
}

template struct Kernels<MaxPool, AveragePool, LpPool, AdaptivePool>;
template struct WholeKernels<MaxPool, AdaptivePool>;

}  // namespace convoy::plain
