#include "diagnose/error_map.h"

#include <algorithm>
#include <cmath>

namespace convoy::diagnose {

namespace {

constexpr Size most_cells_across = 48;

// 1 to 99 below the bound, 100 to 255 over eight powers of ten above it.
std::uint8_t level(double difference, double bound, double largest) {
  if (difference == 0) return 0;
  if (!std::isfinite(difference)) return 255;
  if (bound > 0) {
    const double share = difference / bound;
    if (share <= 1) return static_cast<std::uint8_t>(1 + std::lround(98 * share));
    return static_cast<std::uint8_t>(100 + std::lround(std::min(std::log10(share) / 8, 1.0) * 155));
  }
  // Where every bit must agree, by its share of the largest number.
  const double share = largest > 0 ? std::min(difference / largest, 1.0) : 1.0;
  return static_cast<std::uint8_t>(100 + std::lround(std::max(1 + std::log10(share) / 8, 0.0) * 155));
}

template <class Op>
std::vector<AxisOfWindows> windows_in(const Graph& form, const Node& node, const Op& op) {
  std::vector<AxisOfWindows> all;
  const auto in = sizes_of(form[node.inputs[0]].type.shape);
  if (!in) return all;
  const NodeId maker = form[node.inputs[0]].producer;
  const auto* pad = maker ? get_if<Pad>(&form[maker].op) : nullptr;
  for (std::size_t i = 0; i < op.windows.size() && i < op.paddings.size(); ++i) {
    const auto axis = static_cast<std::size_t>(op.axes.spatial(static_cast<Size>(i)));
    AxisOfWindows one{op.windows[i], (*in)[axis], {}, {}};
    const auto at = place(op.paddings[i], op.windows[i], one.in);
    if (!at) return {};
    if constexpr (std::is_same_v<Op, ConvTranspose>) {
      one.cut = *at;
    } else {
      one.placed = *at;
      // What a pad of its own puts in front is padding of these windows.
      if (pad && axis < pad->before.size() && pad->before[axis] >= 0 && pad->after[axis] >= 0) {
        one.in -= pad->before[axis] + pad->after[axis];
        one.placed->before += pad->before[axis];
        one.placed->after += pad->after[axis];
      }
    }
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace

ErrorMap error_map(const Rounded& got, const Tensor& wanted) {
  ErrorMap map;
  const Sizes& shape = got.value.shape();
  if (wanted.shape() != shape || shape.empty() || got.value.count() == 0) return map;
  const std::size_t rank = shape.size();
  map.of_channels = rank < 3;
  const std::size_t spatial = rank < 4 ? 1 : 2;  // of a volume the last two axes
  map.full_cols = shape[rank - 1];
  map.full_rows = spatial == 2 ? shape[rank - 2] : 1;
  map.rows = std::min(map.full_rows, most_cells_across);
  map.cols = std::min(map.full_cols, most_cells_across);
  map.cells.assign(static_cast<std::size_t>(map.rows * map.cols), 0);
  const auto x = got.value.doubles(), y = wanted.doubles();
  const auto error = got.error ? got.error->floats() : std::vector<float>();
  double largest = 0;
  for (const double v : y)
    if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool equal = x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]));
    if (equal) continue;
    const auto at = static_cast<Size>(i);
    const Size col = at % map.full_cols * map.cols / map.full_cols;
    const Size row = at / map.full_cols % map.full_rows * map.rows / map.full_rows;
    auto& cell = map.cells[static_cast<std::size_t>(row * map.cols + col)];
    cell = std::max(cell, level(std::abs(x[i] - y[i]), error.empty() ? 0.0 : static_cast<double>(error[i]), largest));
  }
  return map;
}

std::vector<AxisOfWindows> windows_of(const Graph& form, const std::string& layer) {
  for (const Node& node : form.nodes) {
    if (node.layer != layer || node.inputs.empty()) continue;
    auto found = node.op.visit([&]<class O>(const O& op) {
      if constexpr (requires {
                      op.axes.spatial(0);
                      op.windows;
                      op.paddings;
                    })
        return windows_in(form, node, op);
      else return std::vector<AxisOfWindows>{};
    });
    if (!found.empty()) return found;
  }
  return {};
}

}  // namespace convoy::diagnose
