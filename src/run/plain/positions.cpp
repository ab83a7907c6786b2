// Which cell holds a maximum, and numbers put back into the cells that they came from.
#include "ops/expect.h"
#include "run/plain/define.h"
#include "run/plain/reaches.h"
#include "run/threads.h"

#include <cmath>
#include <string>

namespace convoy::plain {

namespace {

// A tensor of space and channels, whichever way its axes lie.
struct Planes {
  Size batch = 1, channels = 1, cells = 1;
  Sizes space;
  bool channels_first = true;

  Planes(const Axes& axes, const Sizes& shape)
      : batch(shape[0]),
        channels(shape[static_cast<std::size_t>(axes.channel())]),
        channels_first(axes.order == Order::ChannelsFirst) {
    for (Size i = 0; i < axes.space; ++i) {
      space.push_back(shape[static_cast<std::size_t>(axes.spatial(i))]);
      cells *= space.back();
    }
  }
  // Where the number lies in memory.
  Size offset(Size n, Size c, Size cell) const {
    return channels_first ? (n * channels + c) * cells + cell : (n * cells + cell) * channels + c;
  }
  // The cell's number if the first axis runs fastest, and back.
  Size by_columns(Size cell) const {
    Size number = 0;
    for (std::size_t i = space.size(), step = static_cast<std::size_t>(cells); i-- > 0;) {
      step /= static_cast<std::size_t>(space[i]);
      number += cell % space[i] * static_cast<Size>(step);
      cell /= space[i];
    }
    return number;
  }
  Size by_rows(Size number) const {
    Size cell = 0, step = cells;
    for (const Size size : space) {
      step /= size;
      cell += number % size * step;
      number /= size;
    }
    return cell;
  }

  Size number(Positions positions, Size n, Size c, Size cell) const {
    switch (positions) {
      case Positions::None: return 0;
      case Positions::Plane: return cell;
      case Positions::Tensor: return (n * channels + c) * cells + cell;
      case Positions::TensorColumns: return (n * channels + c) * cells + by_columns(cell);
      case Positions::Example: return cell * channels + c;
      case Positions::ExampleInBatch: return (n * cells + cell) * channels + c;
    }
    std::unreachable();
  }
  // How many numbers there are.
  Size numbers(Positions positions) const {
    switch (positions) {
      case Positions::None: return 0;
      case Positions::Plane: return cells;
      case Positions::Example: return cells * channels;
      default: return batch * cells * channels;
    }
  }
  // Of a number found at example n and channel c: where in memory.
  Size offset_of(Positions positions, Size number, Size n, Size c) const {
    switch (positions) {
      case Positions::None: return 0;
      case Positions::Plane: return offset(n, c, number);
      case Positions::Example: return offset(n, number % channels, number / channels);
      case Positions::ExampleInBatch:
        return offset(number / (cells * channels), number % channels, number / channels % cells);
      case Positions::Tensor: return offset(number / cells / channels, number / cells % channels, number % cells);
      case Positions::TensorColumns:
        return offset(number / cells / channels, number / cells % channels, by_rows(number % cells));
    }
    std::unreachable();
  }
};

}  // namespace

template <class T>
void find_positions(const Axes& axes, Positions positions, const std::vector<AxisReach>& reaches, const Call<T>& call) {
  const Planes x(axes, call.in[0].shape), y(axes, call.out[1].shape);
  const double work = 4.0 * static_cast<double>(x.batch * x.channels) * static_cast<double>(y.cells);
  for_each_item(threads_for(call.threads, work), x.batch * x.channels, [&](Size item) {
    const Size n = item / x.channels, c = item % x.channels;
    std::vector<const Reach*> at(reaches.size());
    for (Size q = 0; q < y.cells; ++q) {
      bool reads = true;
      for (std::size_t a = reaches.size(), rest = static_cast<std::size_t>(q); a-- > 0;) {
        at[a] = &reaches[a][rest % reaches[a].size()];
        rest /= reaches[a].size();
        reads = reads && at[a]->count > 0;
      }
      Size best = -1;
      T most{};
      if (reads)
        visit_cells(at, x.space, 0, 0, [&](Size cell) {
          const T value = call.data(0)[x.offset(n, c, cell)];
          if (best < 0 || value > most || value != value) best = cell, most = value;
        });
      call.out[1].positions[static_cast<std::size_t>(y.offset(n, c, q))] =
          x.number(positions, n, c, std::max<Size>(best, 0));
    }
  });
}

template <class T>
Status compute(const MaxUnpool& op, const Call<T>& call) {
  const Planes x(op.axes, call.in[0].shape), y(op.axes, call.out[0].shape);
  const Tensor& stored = *call.in[1].stored;
  std::vector<std::int64_t> positions;
  if (is_floating(stored.dtype())) {
    for (const double value : stored.doubles())
      positions.push_back(std::abs(value) < 9e15 ? static_cast<std::int64_t>(value) : -1);
  } else {
    positions = stored.integers();
  }
  const Size most = y.numbers(op.positions);
  for (Size n = 0; n < x.batch; ++n)
    for (Size c = 0; c < x.channels; ++c)
      for (Size cell = 0; cell < x.cells; ++cell) {
        const Size from = x.offset(n, c, cell), number = positions[static_cast<std::size_t>(from)];
        if (number < 0 || number >= most)
          return fail(Fault::Unsupported, "position " + std::to_string(number) +
                                              " lies outside of the output, which has " + std::to_string(most) +
                                              " cells to count");
        call.out[0].values[static_cast<std::size_t>(y.offset_of(op.positions, number, n, c))] = call.data(0)[from];
      }
  return {};
}

template void find_positions(const Axes&, Positions, const std::vector<AxisReach>&, const Call<float>&);
template void find_positions(const Axes&, Positions, const std::vector<AxisReach>&, const Call<double>&);
template void find_positions(const Axes&, Positions, const std::vector<AxisReach>&, const Call<std::int64_t>&);
template struct Kernels<MaxUnpool>;
template struct WholeKernels<MaxUnpool>;

}  // namespace convoy::plain
