#include "run/plain/define.h"
#include "run/plain/windows.h"
#include "run/threads.h"

namespace convoy::plain {

namespace {

// Where every window of every tap lies; the sizes of space are those of the side that is not columns.
Result<Walk> walk_of(const std::vector<Window>& windows, const std::vector<Padding>& paddings, const Sizes& shape) {
  std::vector<AxisWalk> axes;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const Window& w = windows[i];
    const auto at = place(paddings[i], w, shape[i + 2]);
    if (!at) return fail(Fault::Internal, "windows are laid out where none fits");
    axes.push_back({shape[i + 2], at->out, w.kernel, w.stride, w.dilation, at->before});
  }
  return Walk(std::move(axes));
}

// Calls visit(cell, tap, window) for every cell that is read, window by window.
template <class F>
void for_each_read(const Walk& walk, const F& visit) {
  std::vector<Size> cells(static_cast<std::size_t>(walk.taps()));
  for (Size window = 0; window < walk.positions(); ++window) {
    walk.cells_of(window, cells.data());
    for (Size tap = 0; tap < walk.taps(); ++tap)
      if (const Size cell = cells[static_cast<std::size_t>(tap)]; cell >= 0) visit(cell, tap, window);
  }
}

}  // namespace

template <class T>
Status compute(const Unfold& op, const Call<T>& call) {
  const Sizes& in = call.in[0].shape;
  const auto walk = walk_of(op.windows, op.paddings, in);
  if (!walk) return std::unexpected(walk.error());
  const Size planes = in[0] * in[1], windows = walk->positions(), column = walk->taps() * windows;
  for_each_item(threads_for(call.threads, static_cast<double>(planes) * static_cast<double>(column)), planes,
                [&](Size plane) {
                  const T* x = call.data(0) + plane * walk->cells();
                  T* y = call.out[0].values.data() + plane * column;
                  for_each_read(*walk, [&](Size cell, Size tap, Size window) { y[tap * windows + window] = x[cell]; });
                });
  return {};
}

// Sums in float64: they are few, and no order of theirs matters then.
template <class T>
Status compute(const Fold& op, const Call<T>& call) {
  const Sizes& out = call.out[0].shape;
  const auto walk = walk_of(op.windows, op.paddings, out);
  if (!walk) return std::unexpected(walk.error());
  const Size planes = out[0] * out[1], windows = walk->positions(), column = walk->taps() * windows;
  for_each_item(threads_for(call.threads, static_cast<double>(planes) * static_cast<double>(column)), planes,
                [&](Size plane) {
                  const T* x = call.data(0) + plane * column;
                  std::vector<double> sums(static_cast<std::size_t>(walk->cells()), 0.0);
                  for_each_read(*walk, [&](Size cell, Size tap, Size window) {
                    sums[static_cast<std::size_t>(cell)] += static_cast<double>(x[tap * windows + window]);
                  });
                  T* y = call.out[0].values.data() + plane * walk->cells();
                  for (std::size_t i = 0; i < sums.size(); ++i) y[i] = static_cast<T>(sums[i]);
                });
  return {};
}

template struct Kernels<Unfold, Fold>;
template struct WholeKernels<Unfold>;

}  // namespace convoy::plain
