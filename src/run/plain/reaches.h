// Which cells the windows of a pool read along each axis.
#pragma once
#include "ops/pool_divisor.h"
#include "run/plain/kernels.h"

namespace convoy::plain {

// What one output cell of one axis reads: cells first, first + step, ..., and by how much an average divides.
struct Reach {
  Size first = 0, count = 0, step = 1, divisor = 1;
};
using AxisReach = std::vector<Reach>;

inline Result<AxisReach> reach_of(const Padding& padding, const Window& window, Size in, Counting counting) {
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

// Of all spatial axes.
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

// Cell i of `out` covers [floor(i*in/out), ceil((i+1)*in/out)).
inline std::vector<AxisReach> adaptive_reaches(const AdaptivePool& pool, const Sizes& in) {
  std::vector<AxisReach> all;
  for (std::size_t i = 0; i < pool.out.size(); ++i) {
    const Size size = in[static_cast<std::size_t>(pool.axes.spatial(static_cast<Size>(i)))], out = pool.out[i];
    AxisReach reach;
    for (Size q = 0; q < out; ++q) {
      const Size begin = q * size / out, end = ceil_div((q + 1) * size, out);
      reach.push_back({begin, end - begin, 1, end - begin});
    }
    all.push_back(std::move(reach));
  }
  return all;
}

// The second output of a maximum: see Positions.
template <class T>
void find_positions(const Axes& axes, Positions positions, const std::vector<AxisReach>& reaches, const Call<T>& call);

}  // namespace convoy::plain
