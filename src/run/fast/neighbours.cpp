#include "run/fast/neighbours.h"

#include "ops/joined_window.h"

#include <algorithm>
#include <utility>

namespace convoy::fast {

namespace {

// So many outputs side by side as one.
Neighbours joined(const ConvolutionShape& shape, Size together) {
  const plain::AxisWalk& walk = shape.walks.back();
  JoinedWindow all = joined_window({walk.taps, walk.stride, walk.dilation}, walk.before, walk.transposed, together);
  Neighbours made{.shape = shape, .taps = std::move(all.own)};
  const Size rows = ceil_div(walk.out, together);
  made.shape.walks.back() = {walk.in, rows, all.taps, all.stride, 1, all.before};
  made.shape.outputs = together * shape.outputs, made.shape.together = together, made.shape.line = walk.out;
  return made;
}

// A row of one vector waits for what it reads: it takes more than half the time of one of two.
double cost_of(Size columns, Size lanes) { return columns <= lanes ? 1.3 : 2; }

}  // namespace

std::optional<Neighbours> neighbours_of(const ConvolutionShape& shape, Size lanes) {
  const plain::AxisWalk& walk = shape.walks.back();
  const bool fits = shape.groups == 1 && shape.together == 1 && shape.outputs <= lanes && lanes > 1 &&
                    shape.y_step == shape.outputs && shape.x_step == shape.inputs && walk.dilation == 1;
  if (!fits) return std::nullopt;
  constexpr double gain = 1.1, most_weights = 1 << 20;
  const Size own_taps = taps_of_each({walk.taps, walk.stride, walk.dilation}, walk.transposed);
  double best = static_cast<double>(own_taps) * cost_of(shape.outputs, lanes) / gain;
  std::optional<Neighbours> chosen;
  for (Size together = 2; together * shape.outputs <= 2 * lanes && together <= walk.out; ++together) {
    if (walk.transposed && together % walk.stride != 0) continue;
    Neighbours made = joined(shape, together);
    const plain::AxisWalk& window = made.shape.walks.back();
    double weights = static_cast<double>(shape.inputs * made.shape.outputs);
    for (const plain::AxisWalk& axis : made.shape.walks) weights *= static_cast<double>(axis.taps);
    if (weights > most_weights) break;
    const double cost = static_cast<double>(window.taps) * cost_of(made.shape.outputs, lanes) *
                        static_cast<double>(window.out) / static_cast<double>(walk.out);
    if (cost < best) best = cost, chosen = std::move(made);
  }
  return chosen;
}

}  // namespace convoy::fast
