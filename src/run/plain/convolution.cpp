#include "run/plain/define.h"
#include "run/plain/gemm.h"
#include "run/plain/windows.h"
#include "run/threads.h"

#include <algorithm>
#include <cmath>

namespace convoy::plain {

namespace {

// Any convolution, plain or transposed, as strides into its four tensors: output (n, o, position) sums over taps and
// channels of its group. All orders of axes and of kernels come down to this.
template <class T>
struct Problem {
  Walk walk;
  Size batch = 1, groups = 1, inputs = 1, outputs = 1;  // channels per group
  const T* x = nullptr;
  const T* kernel = nullptr;
  const T* bias = nullptr;
  T* y = nullptr;
  Size x_batch = 0, x_channel = 0, x_cell = 0;
  Size y_batch = 0, y_channel = 0, y_cell = 0;
  Size k_group = 0, k_tap = 0, k_channel = 0, k_output = 0;

  double operations() const {
    return 2.0 * static_cast<double>(batch) * static_cast<double>(walk.positions()) * static_cast<double>(walk.taps()) *
           static_cast<double>(groups * inputs) * static_cast<double>(outputs);
  }
};

template <class T>
void set_kernel_strides(Problem<T>& p, KernelOrder order) {
  const Size taps = p.walk.taps();
  switch (order) {
    case KernelOrder::OutInSpace:
      p.k_tap = 1, p.k_channel = taps, p.k_output = taps * p.inputs, p.k_group = p.outputs * p.k_output;
      return;
    case KernelOrder::SpaceInOut:
      p.k_output = 1, p.k_group = p.outputs, p.k_channel = p.outputs * p.groups, p.k_tap = p.inputs * p.k_channel;
      return;
    case KernelOrder::InOutSpace:
      p.k_tap = 1, p.k_output = taps, p.k_channel = taps * p.outputs, p.k_group = p.inputs * p.k_channel;
      return;
    case KernelOrder::SpaceOutIn:
      p.k_channel = 1, p.k_group = p.inputs, p.k_output = p.inputs * p.groups, p.k_tap = p.outputs * p.k_output;
      return;
    case KernelOrder::SpaceInMultiplier:
      p.k_output = 1, p.k_group = p.outputs, p.k_channel = 0, p.k_tap = p.outputs * p.groups;
      return;
  }
}

template <class T>
Problem<T> problem_of(const Axes& axes, KernelOrder order, Size groups, std::vector<AxisWalk> walks,
                      const Call<T>& call) {
  Problem<T> p{.walk = Walk(std::move(walks))};
  p.batch = call.in[0].shape[0];
  p.groups = groups;
  p.inputs = call.in[0].shape[static_cast<std::size_t>(axes.channel())] / groups;
  p.outputs = call.out[0].shape[static_cast<std::size_t>(axes.channel())] / groups;
  p.x = call.data(0), p.kernel = call.data(1), p.bias = call.optional(2), p.y = call.out[0].values.data();
  const Size x_channels = p.inputs * groups, y_channels = p.outputs * groups;
  p.x_batch = x_channels * p.walk.cells(), p.y_batch = y_channels * p.walk.positions();
  const bool first = axes.order == Order::ChannelsFirst;
  p.x_channel = first ? p.walk.cells() : 1, p.x_cell = first ? 1 : x_channels;
  p.y_channel = first ? p.walk.positions() : 1, p.y_cell = first ? 1 : y_channels;
  set_kernel_strides(p, order);
  return p;
}

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

template <class T>
Status compute(const Conv& op, const Call<T>& call) {
  std::vector<AxisWalk> walks;
  for (Size i = 0; i < op.axes.space; ++i) {
    const auto axis = static_cast<std::size_t>(op.axes.spatial(i));
    const Window& window = op.windows[static_cast<std::size_t>(i)];
    Padding padding = op.paddings[static_cast<std::size_t>(i)];
    padding.leftover = Leftover::Drop;
    const auto placed = place(padding, window, call.in[0].shape[axis]);
    if (!placed) return fail(Fault::Internal, "a convolution runs where no window fits");
    walks.push_back(
        {call.in[0].shape[axis], placed->out, window.kernel, window.stride, window.dilation, placed->before, false});
  }
  return solve(problem_of(op.axes, op.kernel_order, op.groups, std::move(walks), call), call.in[1].values,
               call.threads);
}

template <class T>
Status compute(const ConvTranspose& op, const Call<T>& call) {
  std::vector<AxisWalk> walks;
  for (Size i = 0; i < op.axes.space; ++i) {
    const auto axis = static_cast<std::size_t>(op.axes.spatial(i));
    const Window& window = op.windows[static_cast<std::size_t>(i)];
    const auto crop = place(op.paddings[static_cast<std::size_t>(i)], window, call.in[0].shape[axis]);
    if (!crop) return fail(Fault::Internal, "a transposed convolution runs where it leaves no cell");
    walks.push_back(
        {call.in[0].shape[axis], crop->out, window.kernel, window.stride, window.dilation, crop->before, true});
  }
  return solve(problem_of(op.axes, op.kernel_order, op.groups, std::move(walks), call), call.in[1].values,
               call.threads);
}

template struct Kernels<Conv, ConvTranspose>;

}  // namespace convoy::plain
