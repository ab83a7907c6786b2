#include "ops/padding.h"
#include "run/plain/define.h"
#include "run/plain/lines.h"

#include <algorithm>

namespace convoy::plain {

namespace {

Size modulo(Size t, Size n) { return t - floor_div(t, n) * n; }

// The cell that stands at place t of an axis that goes on by `mode` on both sides: -1 where a constant stands.
Size source_of(PadMode mode, Size t, Size n) {
  if (t >= 0 && t < n) return t;
  switch (mode) {
    case PadMode::Constant: return -1;
    case PadMode::Reflect:
      if (n == 1) return 0;
      t = modulo(t, 2 * (n - 1));
      return std::min(t, 2 * (n - 1) - t);
    case PadMode::Symmetric: t = modulo(t, 2 * n); return std::min(t, 2 * n - 1 - t);
    case PadMode::Edge: return t < 0 ? 0 : n - 1;
    case PadMode::Wrap: return modulo(t, n);
  }
  std::unreachable();
}

template <class T>
struct Padder {
  const std::vector<Sizes>& sources;  // per axis and output index
  Sizes x_strides, y_strides;
  const T* x = nullptr;
  T* y = nullptr;
  T value = 0;

  void fill(std::size_t axis, Size from, Size to, Polling& polling) const {
    const Sizes& cells = sources[axis];
    if (axis + 1 == sources.size() && polling.ends(static_cast<Size>(cells.size()))) return;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const Size next = from < 0 || cells[i] < 0 ? -1 : from + cells[i] * x_strides[axis];
      const Size at = to + static_cast<Size>(i) * y_strides[axis];
      if (axis + 1 < sources.size()) {
        fill(axis + 1, next, at, polling);
        if (polling.has_ended()) return;
      } else y[at] = next < 0 ? value : x[next];
    }
  }
};

template <class T>
Status pad_by(const Pad& pad, const Call<T>& call) {
  const Sizes &before = pad.before, &after = pad.after;
  const Sizes &in = call.in[0].shape, &out = call.out[0].shape;
  if (in.empty()) {
    call.out[0].values[0] = call.in[0].values[0];
    return {};
  }
  std::vector<Sizes> sources(in.size());
  for (std::size_t axis = 0; axis < in.size(); ++axis) {
    const bool first = pad.cutting == Cutting::First;
    const Size cut = first ? std::max<Size>(-before[axis], 0) : 0;
    const Size seen = first ? in[axis] - cut + std::min<Size>(after[axis], 0) : in[axis];
    for (Size i = 0; i < out[axis]; ++i) {
      const Size source = source_of(pad.mode, i - before[axis] - cut, seen);
      sources[axis].push_back(source < 0 ? -1 : cut + source);
    }
  }
  if (call.out[0].values.empty()) return {};
  Polling polling;
  Padder<T>{sources, strides_of(in), strides_of(out), call.data(0), call.out[0].values.data(), in_type<T>(pad.value)}
      .fill(0, 0, 0, polling);
  return {};
}

}  // namespace

template <class T>
Status compute(const Pad& op, const Call<T>& call) {
  return pad_by(op, call);
}

template <class T>
Status compute(const PadToWindow& op, const Call<T>& call) {
  Sizes before(call.in[0].shape.size(), 0), after = before;
  for (std::size_t i = 0; i < op.axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(op.axes[i]);
    const auto added = pads_to_window(op.paddings[i], op.windows[i], call.in[0].shape[axis]);
    if (!added) return fail(Fault::Internal, "a pad runs where no window fits");
    before[axis] = added->before;
    after[axis] = added->after;
  }
  return pad_by(Pad{before, after, PadMode::Constant, op.value}, call);
}

template struct Kernels<Pad, PadToWindow>;
template struct WholeKernels<Pad, PadToWindow>;

}  // namespace convoy::plain
