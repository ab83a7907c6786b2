#include "run/plan/row_steps.h"

#include "base/permute.h"
#include "run/threads.h"

#include <algorithm>
#include <cstring>
#include <span>

namespace convoy::plan {

void ResizeLines::prepare(const Places& places) {
  FromOne::prepare(places);
  for (std::size_t a = 0; a < space.size(); ++a) cells_ *= space[a], positions_ *= static_cast<Size>(taps[a].size());
  images_ = x_.pixels / cells_;
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
  const auto length = static_cast<Size>(taps.back().size()), lines = positions_ / length;
  const int threads = threads_for(at.threads, 8 * static_cast<double>(images_ * positions_ * y_.channels));
  for_each_item(threads, images_ * lines, [&](Size item) {
    thread_local std::vector<float> mixed;
    const float* const line = mixed_line(from + item / lines * cells_ * x_.step, item % lines, mixed);
    const Size step = line == mixed.data() ? x_.channels : x_.step;
    for (Size i = 0; i < length; ++i) {
      const Taps& own = taps.back()[static_cast<std::size_t>(i)];
      const float* rows[most_taps];
      float weights[most_taps];
      for (std::size_t t = 0; t < own.cells.size(); ++t)
        rows[t] = line + own.cells[t] * step, weights[t] = static_cast<float>(own.weights[t]);
      fast::row_kernels().mix(rows, weights, static_cast<Size>(own.cells.size()), y_.channels,
                              to + (item * length + i) * y_.step);
    }
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

Status PairProducts::run(Workspace& at) const {
  const float *const from_a = a_.in(at), *const from_b = b_.in(at);
  float* const to = y_.out(at);
  const auto product = [&](Size pair, int threads) {
    const fast::Convolution<float> packed({{}, rows, 1, depth, columns, depth, y_.step},
                                          from_b + (is_one_b ? 0 : pair * depth * columns), {0, 0, columns, 1}, nullptr,
                                          fast::kernels<float>());
    packed.run(from_a + (is_one_a ? 0 : pair * rows * depth), to + pair * rows * y_.step, {}, threads);
  };
  const int threads = threads_for(at.threads, operations);
  if (pairs == 1) product(0, threads);
  else for_each_item(threads, pairs, [&](Size pair) { product(pair, 1); });
  return {};
}

Status PermuteAxes::run(Workspace& at) const {
  const auto count = static_cast<std::size_t>(x_.pixels * x_.channels);
  copy_permuted(std::as_bytes(std::span(x_.in(at), count)), shape, sizeof(float), axes,
                reinterpret_cast<std::byte*>(y_.out(at)));
  return {};
}

Status CutRows::run(Workspace& at) const {
  const float* const from = x_.in(at) + first;
  float* const to = y_.out(at);
  const Size rows = x_.pixels * x_.channels / row;
  for (Size r = 0; r < rows; ++r)
    std::memcpy(to + r * length, from + r * row, static_cast<std::size_t>(length) * sizeof(float));
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
