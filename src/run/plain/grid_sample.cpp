// Images read at places that the model computes. One place reads a few cells along each axis; the cells of all axes
// together are their products.
#include "run/plain/define.h"
#include "run/threads.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace convoy::plain {

namespace {

// From -1 ... 1 to cells.
template <class T>
T cell_of(const GridSample& op, T g, Size n) {
  const auto size = static_cast<T>(n);
  return op.align_corners ? (g + 1) / 2 * (size - 1) : ((g + 1) * size - 1) / 2;
}

// Mirrored about the centres of the border cells, or about their outer edges, as often as it takes.
template <class T>
T mirrored(T at, Size n, bool about_centres) {
  const T low = about_centres ? T{0} : T(-0.5), span = static_cast<T>(about_centres ? n - 1 : n);
  if (span <= 0) return 0;
  const T off = std::abs(at - low), rest = std::fmod(off, span);
  const bool there = std::fmod(std::floor(off / span), T{2}) == 0;
  return (there ? rest : span - rest) + low;
}

// A coordinate brought into the image as the border says. What is no number lies outside.
template <class T>
T within_border(const GridSample& op, T at, Size n) {
  constexpr T far = 1e9;
  if (at != at) at = -1;
  at = std::clamp(at, -far, far);
  if (op.border == PadMode::Reflect) at = mirrored(at, n, op.align_corners);
  if (op.border != PadMode::Constant) at = std::clamp(at, T{0}, static_cast<T>(n - 1));
  return at;
}

// Up to four cells of one axis and what each weighs; a cell outside of the image is -1.
template <class T>
struct AxisTaps {
  std::array<Size, 4> cells{};
  std::array<T, 4> weights{};
  std::size_t count = 0;

  void add(Size cell, T weight, Size n) {
    cells[count] = cell >= 0 && cell < n ? cell : -1;
    weights[count++] = weight;
  }
};

// Keys' kernel with a = -0.75 at the four cells around a place `off` behind the second of them.
template <class T>
std::array<T, 4> keys_weights(T off) {
  constexpr T a = -0.75;
  const auto near = [](T d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  const auto far = [](T d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {far(off + 1), near(off), near(1 - off), far(2 - off)};
}

template <class T>
AxisTaps<T> axis_taps(const GridSample& op, T g, Size n) {
  AxisTaps<T> taps;
  const T at = cell_of(op, g, n);
  if (op.interpolation == Interpolation::Cubic) {
    // Each cell is brought inside by itself, the place is not.
    constexpr T far = 1e9;
    const T clipped = at != at ? T{-1} : std::clamp(at, -far, far), first = std::floor(clipped);
    const auto weights = keys_weights(clipped - first);
    for (int k = 0; k < 4; ++k) {
      const T cell = within_border(op, first + static_cast<T>(k - 1), n);
      taps.add(static_cast<Size>(std::floor(cell)), weights[static_cast<std::size_t>(k)], n);
    }
    return taps;
  }
  const T inside = within_border(op, at, n);
  if (op.interpolation == Interpolation::Nearest) {
    taps.add(static_cast<Size>(std::nearbyint(inside)), T{1}, n);
    return taps;
  }
  const T first = std::floor(inside), off = inside - first;
  taps.add(static_cast<Size>(first), 1 - off, n);
  taps.add(static_cast<Size>(first) + 1, off, n);
  return taps;
}

// The cells of all axes together, as offsets into one channel.
template <class T>
void spread(const std::vector<AxisTaps<T>>& axes, const Sizes& sizes, std::vector<std::pair<Size, T>>& cells) {
  cells.assign(1, {0, T{1}});
  std::vector<std::pair<Size, T>> finer;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    finer.clear();
    for (const auto& [offset, weight] : cells)
      for (std::size_t k = 0; k < axes[i].count; ++k)
        if (axes[i].cells[k] >= 0 && axes[i].weights[k] != 0)
          finer.emplace_back(offset * sizes[i] + axes[i].cells[k], weight * axes[i].weights[k]);
    std::swap(cells, finer);
  }
}

}  // namespace

template <class T>
Status compute(const GridSample& op, const Call<T>& call) {
  const Sizes &x = call.in[0].shape, &grid = call.in[1].shape, space(x.begin() + 2, x.end());
  const auto axes = static_cast<Size>(space.size());
  Size places = 1, image = 1;
  for (std::size_t i = 1; i + 1 < grid.size(); ++i) places *= grid[i];
  for (const Size n : space) image *= n;
  const double work = static_cast<double>(call.out[0].values.size()) * 8;
  for_each_item(threads_for(call.threads, work), grid[0], [&](Size n) {
    std::vector<AxisTaps<T>> taps(space.size());
    std::vector<std::pair<Size, T>> cells;
    for (Size p = 0; p < places; ++p) {
      const T* at = call.data(1) + (n * places + p) * axes;
      for (Size i = 0; i < axes; ++i)
        taps[static_cast<std::size_t>(i)] = axis_taps(op, at[axes - 1 - i], space[static_cast<std::size_t>(i)]);
      spread(taps, space, cells);
      for (Size c = 0; c < x[1]; ++c) {
        const T* from = call.data(0) + (n * x[1] + c) * image;
        double sum = 0;
        for (const auto& [offset, weight] : cells)
          sum += static_cast<double>(weight) * static_cast<double>(from[offset]);
        call.out[0].values[static_cast<std::size_t>((n * x[1] + c) * places + p)] = static_cast<T>(sum);
      }
    }
  });
  return {};
}

template struct Kernels<GridSample>;

}  // namespace convoy::plain
