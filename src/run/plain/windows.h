// Where windows go over all spatial axes at once: which cell of the input every tap of an output position reads.
#pragma once
#include "ops/padding.h"

#include <vector>

namespace convoy::plain {

// One spatial axis: a convolution's, or a transposed one's, whose tap reads the cell that was scattered there.
struct AxisWalk {
  Size in = 1, out = 1, taps = 1, stride = 1, dilation = 1, before = 0;
  bool transposed = false;

  // -1: outside.
  Size cell(Size q, Size j) const {
    const Window w{taps, stride, dilation};
    const Size at = transposed ? scattered_from(before, w, q, j) : convoy::cell({before, out, 0}, w, q, j);
    return at >= 0 && at < in ? at : -1;
  }
  // Outputs of one phase read the same taps away from the borders.
  Size phases() const { return transposed ? std::min(stride, out) : 1; }
  Size outputs_in(Size phase) const { return ceil_div(out - phase, phases()); }
};

class Walk {
 public:
  explicit Walk(std::vector<AxisWalk> axes) : axes_(std::move(axes)) {
    for (const AxisWalk& a : axes_) cells_ *= a.in, positions_ *= a.out, taps_ *= a.taps, phases_ *= a.phases();
  }
  const std::vector<AxisWalk>& axes() const { return axes_; }
  Size cells() const { return cells_; }
  Size positions() const { return positions_; }
  Size taps() const { return taps_; }
  Size phases() const { return phases_; }

  Size outputs_in(Size phase) const {
    Size count = 1;
    for (std::size_t a = axes_.size(); a-- > 0;) {
      count *= axes_[a].outputs_in(phase % axes_[a].phases());
      phase /= axes_[a].phases();
    }
    return count;
  }
  // The position, in row-major order of the output, of output `row` of a phase.
  Size position(Size phase, Size row) const {
    Size position = 0, step = 1;
    for (std::size_t a = axes_.size(); a-- > 0;) {
      const Size mine = phase % axes_[a].phases(), count = axes_[a].outputs_in(mine);
      position += (mine + row % count * axes_[a].phases()) * step;
      row /= count;
      phase /= axes_[a].phases();
      step *= axes_[a].out;
    }
    return position;
  }
  // The cell, in row-major order of the input, that each tap of a position reads; -1: outside.
  void cells_of(Size position, Size* cells) const {
    Size step = positions_, known = 1;
    cells[0] = 0;
    for (const AxisWalk& axis : axes_) {
      step /= axis.out;
      const Size q = position / step % axis.out;
      // Backwards, so that what is not yet spread is not yet overwritten.
      for (Size i = known; i-- > 0;) {
        const Size outer = cells[i];
        for (Size j = axis.taps; j-- > 0;) {
          const Size cell = outer < 0 ? -1 : axis.cell(q, j);
          cells[i * axis.taps + j] = cell < 0 ? -1 : outer * axis.in + cell;
        }
      }
      known *= axis.taps;
    }
  }

 private:
  std::vector<AxisWalk> axes_;
  Size cells_ = 1, positions_ = 1, taps_ = 1, phases_ = 1;
};

}  // namespace convoy::plain
