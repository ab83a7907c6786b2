#include "run/fast/winograd.h"

#include "run/threads.h"

#include <algorithm>
#include <array>

namespace convoy::fast {

namespace {

constexpr Size points = 6, side = 4, reach = 3;
constexpr double to_points[points][reach] = {{1, 0, 0},
                                             {1.0 / 3, 1.0 / 3, 1.0 / 3},
                                             {-1.0 / 3, 1.0 / 3, -1.0 / 3},
                                             {-16.0 / 15, -8.0 / 15, -4.0 / 15},
                                             {1.0 / 15, -2.0 / 15, 4.0 / 15},
                                             {0, 0, 1}};

// Cells that four outputs from q on read along one axis.
std::array<Size, points> cells_of(const plain::AxisWalk& walk, Size q) {
  std::array<Size, points> cells{};
  for (Size i = 0; i < points; ++i)
    cells[static_cast<std::size_t>(i)] = i < side ? walk.cell(q + i, 0) : walk.cell(q + side - 1, i - side + 1);
  return cells;
}

}  // namespace

bool Winograd::suits(const ConvolutionShape& shape) {
  if (shape.walks.size() != 2 || shape.groups != 1 || shape.inputs < 16 || shape.outputs < 16) return false;
  Size tiles = shape.batch;
  double direct = 9 * static_cast<double>(shape.batch);
  for (const plain::AxisWalk& walk : shape.walks) {
    if (walk.taps != reach || walk.stride != 1 || walk.dilation != 1 || walk.transposed) return false;
    tiles *= (walk.out + side - 1) / side;
    direct *= static_cast<double>(walk.out);
  }
  constexpr Size fewest = 48;  // fewer are computed sooner than the larger weights are read
  return tiles >= fewest && direct > 1.5 * points * points * static_cast<double>(tiles);
}

Winograd::Winograd(ConvolutionShape shape, const float* kernel, KernelSteps steps, const float* bias)
    : shape_(std::move(shape)) {
  const Size lanes = kernels<float>().lanes, inputs = shape_.inputs, outputs = shape_.outputs;
  vectors_ = (outputs + lanes - 1) / lanes, width_ = vectors_ * lanes;
  tiles_down_ = (shape_.walks[0].out + side - 1) / side, tiles_across_ = (shape_.walks[1].out + side - 1) / side;
  group_ = std::clamp<Size>((Size{1} << 18) / (points * points * (inputs + width_) / 2), 28, 112) / 14 * 14;
  bias_.assign(static_cast<std::size_t>(outputs), 0);
  if (bias) std::copy_n(bias, outputs, bias_.data());
  zeros_.assign(static_cast<std::size_t>(std::max(inputs, width_)), 0);
  constexpr Size longest = 256;
  for (Size first = 0; first < inputs; first += longest)
    pieces_.push_back({0, first, std::min(inputs, first + longest), first, first + longest < inputs});
  weights_.assign(static_cast<std::size_t>(points * points * inputs * width_), 0);
  for (Size o = 0; o < outputs; ++o) {
    const Size panel = o / (2 * lanes), columns = std::min(2 * lanes, width_ - panel * 2 * lanes);
    for (Size c = 0; c < inputs; ++c) {
      const float* own = kernel + c * steps.channel + o * steps.output;
      double half[points][reach] = {};
      for (Size u = 0; u < points; ++u)
        for (Size j = 0; j < reach; ++j)
          for (Size i = 0; i < reach; ++i)
            half[u][j] += to_points[u][i] * static_cast<double>(own[(i * reach + j) * steps.tap]);
      float* to = weights_.data() + panel * 2 * lanes * inputs + c * columns + o % (2 * lanes);
      for (Size u = 0; u < points; ++u)
        for (Size v = 0; v < points; ++v, to += inputs * width_) {
          double sum = 0;
          for (Size j = 0; j < reach; ++j) sum += half[u][j] * to_points[v][j];
          *to = static_cast<float>(sum);
        }
    }
  }
}

void Winograd::run_group(Size first, Size count, const float* x, float* y, const Finish<float>& finish) const {
  const Size inputs = shape_.inputs, lanes = kernels<float>().lanes;
  const plain::AxisWalk &down = shape_.walks[0], &across = shape_.walks[1];
  const Size entered_plane = group_ * inputs, left_plane = group_ * width_;
  thread_local std::vector<float> entered, left;
  entered.resize(static_cast<std::size_t>(points * points * entered_plane));
  left.resize(static_cast<std::size_t>(points * points * left_plane));
  const auto place_of = [&](Size tile) {
    const Size across_at = tile % tiles_across_ * side, rest = tile / tiles_across_;
    return std::array<Size, 3>{rest / tiles_down_, rest % tiles_down_ * side, across_at};
  };
  for (Size t = 0; t < count; ++t) {
    const auto [image, row, column] = place_of(first + t);
    const auto rows = cells_of(down, row), columns = cells_of(across, column);
    const float* cells[points * points];
    for (std::size_t i = 0; i < points; ++i)
      for (std::size_t j = 0; j < points; ++j)
        cells[i * points + j] = rows[i] < 0 || columns[j] < 0
                                    ? zeros_.data()
                                    : x + ((image * down.in + rows[i]) * across.in + columns[j]) * shape_.x_step;
    winograd_kernels().enter(cells, inputs, entered.data() + t * inputs, entered_plane);
  }
  const Size most = kernels<float>().tile_rows[1], parts = (count + most - 1) / most;
  const Size together = std::min(most, ((count + parts - 1) / parts + 1) / 2 * 2);
  const Range range{0, inputs};
  thread_local std::vector<const float*> rows;
  thread_local std::vector<float*> results;
  rows.resize(static_cast<std::size_t>(most)), results.resize(static_cast<std::size_t>(most));
  TileCall<float> call;
  call.ranges = &range, call.pieces = pieces_.data(), call.piece_count = static_cast<Size>(pieces_.size());
  call.row_step = most, call.rows = rows.data(), call.y = results.data(), call.bias = zeros_.data();
  for (Size e = 0; e < points * points; ++e)
    for (Size panel = 0; panel < vectors_; panel += 2) {
      const Size columns = std::min<Size>(2, vectors_ - panel) * lanes;
      call.weights = weights_.data() + e * inputs * width_ + panel * lanes * inputs;
      call.offset = panel * lanes, call.columns = columns;
      for (Size t = 0; t < count; t += together) {
        const Size here = std::min(together, count - t);
        for (Size r = 0; r < most; ++r) {
          const Size at = t + std::min(r, here - 1);
          rows[static_cast<std::size_t>(r)] = entered.data() + e * entered_plane + at * inputs;
          results[static_cast<std::size_t>(r)] = left.data() + e * left_plane + at * width_;
        }
        kernels<float>().tile(call, here, columns);
      }
    }
  for (Size t = 0; t < count; ++t) {
    const auto [image, row, column] = place_of(first + t);
    float* to[side * side] = {};
    const float* residual[side * side] = {};
    for (Size i = 0; i < side; ++i)
      for (Size j = 0; j < side; ++j) {
        if (row + i >= down.out || column + j >= across.out) continue;
        const Size pixel = (image * down.out + row + i) * across.out + column + j;
        to[i * side + j] = y + pixel * shape_.y_step;
        if (finish.residual) residual[i * side + j] = finish.residual + pixel * finish.residual_step;
      }
    winograd_kernels().leave(left.data() + t * width_, left_plane, shape_.outputs, bias_.data(), to,
                             finish.residual ? residual : nullptr, finish.is_held, finish.low, finish.high);
    if (finish.map.map != Map::None)
      for (float* pixel : to)
        if (pixel) row_kernels().map(finish.map, pixel, pixel, shape_.outputs);
  }
}

void Winograd::run(const float* x, float* y, const Finish<float>& finish, int threads) const {
  const Size tiles = shape_.batch * tiles_down_ * tiles_across_, groups = (tiles + group_ - 1) / group_;
  for_each_item(threads, groups,
                [&](Size item) { run_group(item * group_, std::min(group_, tiles - item * group_), x, y, finish); });
}

}  // namespace convoy::fast
