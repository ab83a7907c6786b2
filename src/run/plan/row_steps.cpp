#include "run/plan/row_steps.h"

#include "run/threads.h"

#include <algorithm>

namespace convoy::plan {

void ResizeLines::prepare(const Places& places) {
  FromOne::prepare(places);
  for (std::size_t a = 0; a < space.size(); ++a) cells_ *= space[a], positions_ *= static_cast<Size>(taps[a].size());
  images_ = x_.pixels / cells_;
  starts_.push_back(0);
  for (const Taps& own : taps.back()) {
    for (std::size_t t = 0; t < own.cells.size(); ++t) {
      own_cells_.push_back(own.cells[t] * x_.step), mixed_cells_.push_back(own.cells[t] * x_.channels);
      weights_.push_back(static_cast<float>(own.weights[t]));
    }
    starts_.push_back(static_cast<Size>(weights_.size()));
  }
}

// The lines of input behind a line of outputs, with their weights.
std::vector<ResizeLines::Cell> ResizeLines::outer_cells(Size line) const {
  std::vector<Cell> cells{{}}, more;
  Size below = positions_ / static_cast<Size>(taps.back().size());
  for (std::size_t a = 0; a + 1 < space.size(); ++a) {
    below /= static_cast<Size>(taps[a].size());
    const Taps& own = taps[a][static_cast<std::size_t>(line / below)];
    line %= below;
    more.clear();
    for (const Cell& cell : cells)
      for (std::size_t t = 0; t < own.cells.size(); ++t)
        more.push_back({cell.cell * space[a] + own.cells[t], cell.weight * own.weights[t]});
    cells.swap(more);
  }
  return cells;
}

Status ResizeLines::run(Workspace& at) const {
  const float* const from = x_.in(at);
  float* const to = y_.out(at);
  const auto length = static_cast<Size>(taps.back().size()), lines = positions_ / length, channels = x_.channels;
  const int threads = threads_for(at.threads, 8 * static_cast<double>(images_ * positions_ * channels));
  for_each_item(threads, images_ * lines, [&](Size item) {
    thread_local std::vector<float> mixed, line_made;
    const Size image = item / lines;
    const float* const line = mixed_line(from + image * cells_ * x_.step, item % lines, mixed);
    if (is_turned) line_made.resize(static_cast<std::size_t>(length * channels));
    float* const made = is_turned ? line_made.data() : to + item * length * y_.step;
    fast::row_kernels().mix_line({.x = line,
                                  .starts = starts_.data(),
                                  .cells = (line == mixed.data() ? mixed_cells_ : own_cells_).data(),
                                  .weights = weights_.data(),
                                  .outputs = length,
                                  .channels = channels,
                                  .y_step = is_turned ? channels : y_.step,
                                  .y = made});
    if (is_turned)
      fast::kernels<float>().transpose(made, length, channels, channels,
                                       to + image * channels * positions_ + item % lines * length, positions_);
  });
  return {};
}

// The line of input that a line of outputs is made of: where it lies, or the weighted sum of some.
const float* ResizeLines::mixed_line(const float* image, Size line, std::vector<float>& mixed) const {
  const std::vector<Cell> outer = outer_cells(line);
  const Size length = space.back(), line_step = length * x_.step;
  if (outer.size() == 1) return image + outer[0].cell * line_step;
  mixed.resize(static_cast<std::size_t>(length * x_.channels));
  std::vector<const float*> rows;
  std::vector<float> weights;
  for (const Cell& cell : outer)
    rows.push_back(image + cell.cell * line_step), weights.push_back(static_cast<float>(cell.weight));
  const auto count = static_cast<Size>(rows.size());
  if (x_.is_dense()) {
    fast::row_kernels().mix(rows.data(), weights.data(), count, length * x_.channels, mixed.data());
    return mixed.data();
  }
  for (Size i = 0; i < length; ++i) {
    fast::row_kernels().mix(rows.data(), weights.data(), count, x_.channels, mixed.data() + i * x_.channels);
    for (const float*& row : rows) row += x_.step;
  }
  return mixed.data();
}

void PairProducts::prepare(const Places& places) {
  left_ = numbers_at(places, left.from), right_ = numbers_at(places, right.from), y_ = numbers_at(places, y);
  left_starts_ = matrix_starts(left, outer), right_starts_ = matrix_starts(right, outer);
}

Status PairProducts::run(Workspace& at) const {
  const Size rows = left.shape[left.shape.size() - 2], depth = left.shape.back(), columns = right.shape.back();
  const fast::ConvolutionShape shape{{}, rows, 1, depth, columns, rows == 1 ? depth : row_stride(left), y_.step};
  const auto product = [&](Size pair, int threads) {
    const auto own = static_cast<std::size_t>(pair);
    const fast::Convolution<float> packed(shape, right_.in(at) + right_starts_[own],
                                          {0, 0, row_stride(right), column_stride(right)}, nullptr,
                                          fast::kernels<float>());
    packed.run(left_.in(at) + left_starts_[own], y_.out(at) + pair * rows * y_.step, {}, threads);
  };
  const int threads = threads_for(at.threads, operations);
  const auto pairs = static_cast<Size>(left_starts_.size());
  if (pairs == 1) product(0, threads);
  else for_each_item(threads, pairs, [&](Size pair) { product(pair, 1); });
  return {};
}

Status NormRows::run(Workspace& at) const {
  constexpr Size part = 16;  // rows
  const int threads = threads_for(at.threads, 8 * static_cast<double>(x_.pixels * x_.channels));
  for_each_item(threads, (x_.pixels + part - 1) / part, [&](Size item) {
    for (Size row = item * part; row < std::min(x_.pixels, (item + 1) * part); ++row)
      fast::row_kernels().norm(x_.in(at) + row * x_.step, y_.out(at) + row * y_.step, x_.channels,
                               gamma.empty() ? nullptr : gamma.data(), beta.empty() ? nullptr : beta.data(), epsilon);
  });
  return {};
}

}  // namespace convoy::plan
