#include "run/plain/convolution.h"

#include "run/plain/define.h"
#include "run/plain/gemm.h"
#include "run/threads.h"

#include <algorithm>
#include <cmath>

namespace convoy::plain {

namespace {

// A part of the output positions, all of one phase.
struct Rows {
  Size phase = 0, first = 0, count = 0;
};

std::vector<Rows> blocks_of(const Walk& walk) {
  // Fewer rows where there are very many taps, so that their table stays small.
  const Size most = std::clamp((Size{1} << 20) / walk.taps() / tile_rows * tile_rows, tile_rows, block_rows);
  std::vector<Rows> all;
  for (Size phase = 0; phase < walk.phases(); ++phase)
    for (Size first = 0, count = walk.outputs_in(phase); first < count; first += most)
      all.push_back({phase, first, std::min(most, count - first)});
  return all;
}

// The place of every row of a block, and the offsets of what its taps read.
template <class T>
void gather(const Problem<T>& p, Rows rows, Size x_start, std::vector<Size>& positions, std::vector<Size>& offsets) {
  const Size taps = p.walk.taps();
  positions.resize(static_cast<std::size_t>(rows.count));
  offsets.resize(static_cast<std::size_t>(rows.count * taps));
  for (Size r = 0; r < rows.count; ++r) {
    const Size position = p.walk.position(rows.phase, rows.first + r);
    positions[static_cast<std::size_t>(r)] = position;
    Size* cells = offsets.data() + r * taps;
    p.walk.cells_of(position, cells);
    for (Size t = 0; t < taps; ++t)
      if (cells[t] >= 0) cells[t] = x_start + cells[t] * p.x_cell;
  }
}

// c [rows, width] of one group, to its places in y. The inner loop runs along what is contiguous in y.
template <class T>
void scatter(const Problem<T>& p, Size n, Size first_output, Size outputs, const std::vector<Size>& positions,
             const T* c, Size width) {
  T* y = p.y + n * p.y_batch + first_output * p.y_channel;
  const T* bias = p.bias ? p.bias + first_output : nullptr;
  const auto rows = static_cast<Size>(positions.size());
  if (p.y_channel == 1) {
    for (Size r = 0; r < rows; ++r) {
      T* to = y + positions[static_cast<std::size_t>(r)] * p.y_cell;
      for (Size o = 0; o < outputs; ++o) to[o] = c[r * width + o] + (bias ? bias[o] : T{0});
    }
    return;
  }
  for (Size o = 0; o < outputs; ++o) {
    T* to = y + o * p.y_channel;
    const T add = bias ? bias[o] : T{0};
    for (Size r = 0; r < rows; ++r) to[positions[static_cast<std::size_t>(r)] * p.y_cell] = c[r * width + o] + add;
  }
}

template <class T>
void by_products(const Problem<T>& p, int threads) {
  const std::vector<Rows> blocks = blocks_of(p.walk);
  const auto block_count = static_cast<Size>(blocks.size());
  for (Size g = 0; g < p.groups; ++g) {
    const PackedRight<T> right(p.kernel + g * p.k_group, p.walk.taps(), p.inputs, p.outputs, p.k_tap, p.k_channel,
                               p.k_output);
    const Size column_blocks = (right.panels() + block_panels - 1) / block_panels;
    for_each_item(threads, p.batch * block_count * column_blocks, [&](Size item) {
      const Size first_panel = item % column_blocks * block_panels;
      const Rows rows = blocks[static_cast<std::size_t>(item / column_blocks % block_count)];
      const Size n = item / column_blocks / block_count;
      thread_local std::vector<Size> positions, offsets;
      thread_local std::vector<T> c;
      gather(p, rows, n * p.x_batch + g * p.inputs * p.x_channel, positions, offsets);
      const Size panels = std::min(block_panels, right.panels() - first_panel), width = panels * tile_columns<T>;
      c.resize(static_cast<std::size_t>(block_rows * block_panels * tile_columns<T>));
      multiply_block<T>({p.x, offsets, rows.count, p.walk.taps(), p.inputs, p.x_channel}, right, first_panel, panels,
                        c.data());
      const Size first = first_panel * tile_columns<T>;
      scatter(p, n, g * p.outputs + first, std::min(width, p.outputs - first), positions, c.data(), width);
    });
  }
}

// [rows, columns] -> [columns, rows], in squares that stay in the cache.
template <class T>
void transpose(const T* from, Size rows, Size columns, T* to) {
  constexpr Size side = 32;
  for (Size r0 = 0; r0 < rows; r0 += side)
    for (Size c0 = 0; c0 < columns; c0 += side)
      for (Size r = r0; r < std::min(rows, r0 + side); ++r)
        for (Size c = c0; c < std::min(columns, c0 + side); ++c) to[c * rows + r] = from[r * columns + c];
}

// One input channel per group: every output is a few products, taken along the channels.
template <class T>
void depthwise(Problem<T> p, int threads) {
  const Size channels = p.groups, all = p.groups * p.outputs, taps = p.walk.taps();
  std::vector<T> kernel(static_cast<std::size_t>(taps * all));
  for (Size t = 0; t < taps; ++t)
    for (Size o = 0; o < all; ++o)
      kernel[static_cast<std::size_t>(t * all + o)] =
          p.kernel[t * p.k_tap + o / p.outputs * p.k_group + o % p.outputs * p.k_output];
  std::vector<T> turned;
  if (p.x_channel != 1) {
    turned.resize(static_cast<std::size_t>(p.batch * p.x_batch));
    for_each_item(threads, p.batch, [&](Size n) {
      transpose(p.x + n * p.x_batch, channels, p.walk.cells(), turned.data() + n * p.x_batch);
    });
    p.x = turned.data(), p.x_channel = 1, p.x_cell = channels;
  }
  const std::vector<Rows> blocks = blocks_of(p.walk);
  const auto block_count = static_cast<Size>(blocks.size());
  for_each_item(threads, p.batch * block_count, [&](Size item) {
    const Rows rows = blocks[static_cast<std::size_t>(item % block_count)];
    const Size n = item / block_count;
    thread_local std::vector<Size> positions, offsets;
    thread_local std::vector<T> c;
    gather(p, rows, n * p.x_batch, positions, offsets);
    c.assign(static_cast<std::size_t>(rows.count * all), T{0});
    for (Size r = 0; r < rows.count; ++r) {
      T* __restrict sum = c.data() + r * all;
      for (Size t = 0; t < taps; ++t) {
        const Size offset = offsets[static_cast<std::size_t>(r * taps + t)];
        if (offset < 0) continue;
        const T* __restrict x = p.x + offset;
        const T* __restrict w = kernel.data() + t * all;
        if (p.outputs == 1) {
          for (Size o = 0; o < all; ++o) sum[o] += x[o] * w[o];
        } else {
          for (Size i = 0, o = 0; i < channels; ++i)
            for (Size m = 0; m < p.outputs; ++m, ++o) sum[o] += x[i] * w[o];
        }
      }
    }
    scatter(p, n, 0, all, positions, c.data(), all);
  });
}

// The definition itself. Cells outside the input are skipped, which a product with zero is not where the kernel holds an
// infinity or a NaN.
template <class T>
void by_definition(const Problem<T>& p, int threads) {
  const Size taps = p.walk.taps();
  for_each_item(threads, p.batch * p.walk.positions(), [&](Size item) {
    const Size n = item / p.walk.positions(), position = item % p.walk.positions();
    thread_local std::vector<Size> cells;
    cells.resize(static_cast<std::size_t>(taps));
    p.walk.cells_of(position, cells.data());
    for (Size g = 0; g < p.groups; ++g)
      for (Size o = 0; o < p.outputs; ++o) {
        T sum = 0;
        for (Size t = 0; t < taps; ++t) {
          const Size cell = cells[static_cast<std::size_t>(t)];
          if (cell < 0) continue;
          const T* x = p.x + n * p.x_batch + g * p.inputs * p.x_channel + cell * p.x_cell;
          const T* w = p.kernel + g * p.k_group + t * p.k_tap + o * p.k_output;
          for (Size c = 0; c < p.inputs; ++c) sum += x[c * p.x_channel] * w[c * p.k_channel];
        }
        const Size channel = g * p.outputs + o;
        p.y[n * p.y_batch + channel * p.y_channel + position * p.y_cell] = sum + (p.bias ? p.bias[channel] : T{0});
      }
  });
}

template <class T>
Status solve(const Problem<T>& p, std::span<const T> kernel, int wanted_threads) {
  const int threads = threads_for(wanted_threads, p.operations());
  const bool finite = std::ranges::all_of(kernel, [](T w) { return std::isfinite(w); });
  if (!finite) {
    by_definition(p, threads);
  } else if (p.inputs == 1 && p.groups > 1 && p.outputs < 8) {
    depthwise(p, threads);
  } else {
    by_products(p, threads);
  }
  return {};
}

}  // namespace

Result<std::vector<AxisWalk>> walks_of(const Conv& op, const Sizes& x) {
  std::vector<AxisWalk> walks;
  for (Size i = 0; i < op.axes.space; ++i) {
    const Size in = x[static_cast<std::size_t>(op.axes.spatial(i))];
    const Window& window = op.windows[static_cast<std::size_t>(i)];
    Padding padding = op.paddings[static_cast<std::size_t>(i)];
    padding.leftover = Leftover::Drop;
    const auto placed = place(padding, window, in);
    if (!placed) return fail(Fault::Internal, "a convolution runs where no window fits");
    walks.push_back({in, placed->out, window.kernel, window.stride, window.dilation, placed->before, false});
  }
  return walks;
}

Result<std::vector<AxisWalk>> walks_of(const ConvTranspose& op, const Sizes& x) {
  std::vector<AxisWalk> walks;
  for (Size i = 0; i < op.axes.space; ++i) {
    const Size in = x[static_cast<std::size_t>(op.axes.spatial(i))];
    const Window& window = op.windows[static_cast<std::size_t>(i)];
    const auto crop = place(op.paddings[static_cast<std::size_t>(i)], window, in);
    if (!crop) return fail(Fault::Internal, "a transposed convolution runs where it leaves no cell");
    walks.push_back({in, crop->out, window.kernel, window.stride, window.dilation, crop->before, true});
  }
  return walks;
}

template <class T>
Status compute(const Conv& op, const Call<T>& call) {
  const auto problem = problem_of(op, call);
  if (!problem) return std::unexpected(problem.error());
  return solve(*problem, call.in[1].values, call.threads);
}

template <class T>
Status compute(const ConvTranspose& op, const Call<T>& call) {
  const auto problem = problem_of(op, call);
  if (!problem) return std::unexpected(problem.error());
  return solve(*problem, call.in[1].values, call.threads);
}

template struct Kernels<Conv, ConvTranspose>;

}  // namespace convoy::plain
