#include "run/fast/winograd.h"

#include "run/threads.h"

#include <algorithm>
#include <array>
#include <span>

namespace convoy::fast {

namespace {

constexpr Size points = 6, side = 4, reach = 3;
constexpr Size cache_line = 16;  // numbers

// From one row of so many numbers to the next: rows whose distance puts all of them into one set of the cache would push each
// other out, as planes would, which therefore are a line further apart.
Size spread(Size numbers) { return numbers % (16 * cache_line) == 0 ? numbers + cache_line : numbers; }

constexpr double to_points[points][reach] = {{1, 0, 0},
                                             {1.0 / 3, 1.0 / 3, 1.0 / 3},
                                             {-1.0 / 3, 1.0 / 3, -1.0 / 3},
                                             {-16.0 / 15, -8.0 / 15, -4.0 / 15},
                                             {1.0 / 15, -2.0 / 15, 4.0 / 15},
                                             {0, 0, 1}};

// Cells that three taps of four outputs from q on, as far apart as the taps, read along one axis.
std::array<Size, points> cells_of(const plain::AxisWalk& walk, Size q, Size first_tap) {
  const Size apart = walk.dilation;
  std::array<Size, points> cells{};
  for (Size i = 0; i < points; ++i)
    cells[static_cast<std::size_t>(i)] =
        i < side ? walk.cell(q + i * apart, first_tap) : walk.cell(q + (side - 1) * apart, first_tap + i - side + 1);
  return cells;
}

constexpr Size least_of_line = 48, most_threes = 8, most_slices = 5;

Size threes_of(const plain::AxisWalk& walk) { return (walk.taps + reach - 1) / reach; }

// Blocks of four outputs that lie as far apart as the taps of the axis.
Size blocks_of(const plain::AxisWalk& walk) {
  const Size apart = walk.dilation, together = side * apart;
  return (walk.out + together - 1) / together * apart;
}

}  // namespace

// Where the outputs of a block are; those that are not there: null.
struct Winograd::Outputs {
  float* y[side * side];
  const float* residual[side * side];
};

bool Winograd::suits(const ConvolutionShape& shape) {
  const std::size_t axes = std::min<std::size_t>(shape.walks.size(), 2);
  // Fewer channels are multiplied sooner than they are brought to the points and back, the more so where less is saved.
  const Size least_channels = axes == 2 ? 16 : least_of_line;
  if (axes < 1 || shape.walks.size() > 3 || shape.groups != 1 || std::min(shape.inputs, shape.outputs) < least_channels)
    return false;
  double blocks = static_cast<double>(shape.batch), direct = blocks, planes = 1;
  if (shape.walks.size() == 3) {
    const plain::AxisWalk& slices = shape.walks[0];
    if (slices.transposed || slices.taps > most_slices) return false;
    blocks *= static_cast<double>(slices.out), direct = blocks;
  }
  for (const plain::AxisWalk& walk : std::span(shape.walks).last(axes)) {
    const Size threes = threes_of(walk);
    if (walk.taps < reach || walk.stride != 1 || walk.transposed || threes > (axes == 2 ? 1 : most_threes))
      return false;
    blocks *= static_cast<double>(blocks_of(walk));
    direct *= static_cast<double>(walk.taps * walk.out);
    planes *= static_cast<double>(points * threes);
  }
  constexpr double fewest = 12;  // fewer are computed sooner than the larger weights are read
  return blocks >= fewest && direct > 1.5 * planes * blocks;
}

Winograd::Winograd(ConvolutionShape shape, const float* kernel, KernelSteps steps, const float* bias)
    : shape_(std::move(shape)),
      axes_(std::min(static_cast<int>(shape_.walks.size()), 2)),
      planes_(axes_ == 2 ? points * points : points) {
  const Size lanes = kernels<float>().lanes, inputs = shape_.inputs, outputs = shape_.outputs;
  vectors_ = (outputs + lanes - 1) / lanes, width_ = vectors_ * lanes;
  for (const plain::AxisWalk& walk : std::span(shape_.walks).last(static_cast<std::size_t>(axes_)))
    blocks_.push_back(blocks_of(walk));
  if (shape_.walks.size() == 3) slices_ = shape_.walks[0];
  parts_ = threes_of(shape_.walks.back()) * slices_.taps, depth_ = parts_ * inputs;
  group_ = std::clamp<Size>((Size{1} << 17) / (planes_ * (depth_ + width_) / 2), 28, 112) / 14 * 14;
  bias_.assign(static_cast<std::size_t>(outputs), 0);
  if (bias) std::copy_n(bias, outputs, bias_.data());
  zeros_.assign(static_cast<std::size_t>(std::max(inputs, width_)), 0);
  constexpr Size longest = 256;
  for (Size first = 0; first < depth_; first += longest)
    pieces_.push_back({0, first, std::min(depth_, first + longest), first, first + longest < depth_});
  entered_step_ = spread(depth_), left_step_ = spread(width_);
  entered_plane_ = group_ * entered_step_ + cache_line, left_plane_ = group_ * left_step_ + cache_line;
  pack(kernel, steps);
}

void Winograd::pack(const float* kernel, KernelSteps steps) {
  const Size lanes = kernels<float>().lanes, inputs = shape_.inputs;
  weights_.assign(static_cast<std::size_t>(planes_ * depth_ * width_), 0);
  const Size lines = axes_ == 2 ? reach : 1, line_points = axes_ == 2 ? points : 1;
  const bool has_slices = shape_.walks.size() == 3;
  for (Size o = 0; o < shape_.outputs; ++o) {
    const Size panel = o / (2 * lanes), columns = std::min(2 * lanes, width_ - panel * 2 * lanes);
    for (Size c = 0; c < depth_; ++c) {
      // Slices hold nine taps each.
      const Size first = c / inputs * (has_slices ? reach * reach : reach);
      const Size taps = has_slices ? reach : std::min(reach, shape_.walks.back().taps - first);
      const float* own = kernel + first * steps.tap + c % inputs * steps.channel + o * steps.output;
      double half[points][reach] = {};
      for (Size u = 0; u < line_points; ++u)
        for (Size j = 0; j < taps; ++j)
          for (Size i = 0; i < lines; ++i)
            half[u][j] += (axes_ == 2 ? to_points[u][i] : 1) * static_cast<double>(own[(i * reach + j) * steps.tap]);
      float* to = weights_.data() + panel * 2 * lanes * depth_ + c * columns + o % (2 * lanes);
      for (Size u = 0; u < line_points; ++u)
        for (Size v = 0; v < points; ++v, to += depth_ * width_) {
          double sum = 0;
          for (Size j = 0; j < reach; ++j) sum += half[u][j] * to_points[v][j];
          *to = static_cast<float>(sum);
        }
    }
  }
}

Size Winograd::first_of(std::size_t axis, Size block) const {
  const plain::AxisWalk& walk = shape_.walks[shape_.walks.size() - blocks_.size() + axis];
  const Size apart = walk.dilation;
  return block / apart * side * apart + block % apart;
}

Winograd::Corner Winograd::corner_of(Size block) const {
  Corner corner;
  corner.column = first_of(blocks_.size() - 1, block % blocks_.back());
  block /= blocks_.back();
  corner.row = axes_ == 2 ? first_of(0, block % blocks_[0]) : 0;
  if (axes_ == 2) block /= blocks_[0];
  corner.slice = block % slices_.out, corner.image = block / slices_.out;
  return corner;
}

const plain::AxisWalk& Winograd::down() const {
  static const plain::AxisWalk none;
  return axes_ == 2 ? shape_.walks[shape_.walks.size() - 2] : none;
}

void Winograd::place_cells(const Corner& corner, Size part, const float* x, const float** at) const {
  const plain::AxisWalk& across = shape_.walks.back();
  const bool has_slices = shape_.walks.size() == 3;
  const auto columns = cells_of(across, corner.column, has_slices ? 0 : part * reach);
  std::array<Size, points> rows{};
  if (axes_ == 2) rows = cells_of(down(), corner.row, 0);
  const Size slice = has_slices ? slices_.cell(corner.slice, part) : 0;
  const Size first_line = (corner.image * slices_.in + std::max<Size>(slice, 0)) * down().in;
  for (std::size_t i = 0; i < (axes_ == 2 ? points : 1); ++i) {
    const float* const line = x + (first_line + std::max<Size>(rows[i], 0)) * across.in * shape_.x_step;
    for (std::size_t j = 0; j < points; ++j)
      at[i * points + j] =
          slice < 0 || rows[i] < 0 || columns[j] < 0 ? zeros_.data() : line + columns[j] * shape_.x_step;
  }
}

void Winograd::place_outputs(const Corner& corner, float* y, const Finish<float>& finish, Outputs& at) const {
  const plain::AxisWalk &across = shape_.walks.back(), &down = this->down();
  const Size apart = across.dilation, down_apart = down.dilation;
  const Size first_line = (corner.image * slices_.out + corner.slice) * down.out;
  for (Size i = 0; i < (axes_ == 2 ? side : 1); ++i)
    for (Size j = 0; j < side; ++j) {
      const Size line = corner.row + i * down_apart, to = corner.column + j * apart,
                 pixel = (first_line + line) * across.out + to;
      const bool is_there = line < down.out && to < across.out;
      at.y[i * side + j] = is_there ? y + pixel * shape_.y_step : nullptr;
      at.residual[i * side + j] =
          is_there && finish.residual ? finish.residual + pixel * finish.residual_step : nullptr;
    }
}

// The products of all planes.
void Winograd::multiply(Size count, const float* entered, float* left) const {
  const Size lanes = kernels<float>().lanes;
  const Size most = kernels<float>().tile_rows[1], parts = (count + most - 1) / most;
  const Size together = std::min(most, ((count + parts - 1) / parts + 1) / 2 * 2);
  const Range range{0, depth_};
  thread_local std::vector<const float*> rows;
  thread_local std::vector<float*> results;
  rows.resize(static_cast<std::size_t>(most)), results.resize(static_cast<std::size_t>(most));
  TileCall<float> call;
  call.ranges = &range, call.pieces = pieces_.data(), call.piece_count = static_cast<Size>(pieces_.size());
  call.row_step = most, call.rows = rows.data(), call.y = results.data(), call.bias = zeros_.data();
  for (Size e = 0; e < planes_; ++e, entered += entered_plane_, left += left_plane_)
    for (Size panel = 0; panel < vectors_; panel += 2) {
      const Size columns = std::min<Size>(2, vectors_ - panel) * lanes;
      call.weights = weights_.data() + e * depth_ * width_ + panel * lanes * depth_;
      call.offset = panel * lanes, call.columns = columns;
      for (Size t = 0; t < count; t += together) {
        const Size here = std::min(together, count - t);
        for (Size r = 0; r < most; ++r) {
          const Size at = t + std::min(r, here - 1);
          rows[static_cast<std::size_t>(r)] = entered + at * entered_step_;
          results[static_cast<std::size_t>(r)] = left + at * left_step_;
        }
        kernels<float>().tile(call, here, columns);
      }
    }
}

void Winograd::run_group(Size first, Size count, const float* x, float* y, const Finish<float>& finish) const {
  thread_local Aligned<float> entered, left;
  entered.resize(static_cast<std::size_t>(planes_ * entered_plane_));
  left.resize(static_cast<std::size_t>(planes_ * left_plane_));
  for (Size t = 0; t < count; ++t) {
    const Corner corner = corner_of(first + t);
    const float* cells[points * points];
    for (Size part = 0; part < parts_; ++part) {
      place_cells(corner, part, x, cells);
      winograd_kernels().enter(cells, axes_, shape_.inputs, entered.data() + t * entered_step_ + part * shape_.inputs,
                               entered_plane_);
    }
  }
  multiply(count, entered.data(), left.data());
  Outputs at;
  for (Size t = 0; t < count; ++t) {
    place_outputs(corner_of(first + t), y, finish, at);
    winograd_kernels().leave(left.data() + t * left_step_, axes_, left_plane_, shape_.outputs, bias_.data(), at.y,
                             finish.residual ? at.residual : nullptr, finish.is_held, finish.low, finish.high);
    if (finish.map.map == Map::None) continue;
    for (Size i = 0; i < (axes_ == 2 ? side * side : side); ++i)
      if (at.y[i]) row_kernels().map(finish.map, at.y[i], at.y[i], shape_.outputs);
  }
}

void Winograd::run(const float* x, float* y, const Finish<float>& finish, int threads) const {
  Size all = shape_.batch * slices_.out;
  for (const Size blocks : blocks_) all *= blocks;
  for_each_item(threads, (all + group_ - 1) / group_,
                [&](Size item) { run_group(item * group_, std::min(group_, all - item * group_), x, y, finish); });
}

}  // namespace convoy::fast
