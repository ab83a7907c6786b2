// Windows laid out side by side as columns of numbers, and columns added back into space.
#pragma once
#include "ops/infer.h"
#include "ops/padding.h"

#include <string_view>
#include <tuple>
#include <vector>

namespace convoy {

// x [N, C, n...] -> [N, C * taps, windows]: row c * taps + tap, column = window, taps and windows in row-major order.
// Padding cells are zero. Fails: no window fits. Source: PyTorch im2col.h.
struct Unfold {
  static constexpr std::string_view name = "unfold";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits{LayerKind::Layout, AxisUse::Made, Contents::Filled, Learnt::Nothing, Indices::None};
  std::vector<Window> windows;  // one per spatial axis
  std::vector<Padding> paddings;
  template <class Visit>
  static void fields(Visit visit) {
    visit("windows", &Unfold::windows);
    visit("paddings", &Unfold::paddings);
  }
  friend bool operator==(const Unfold&, const Unfold&) = default;
};

// x [N, C * taps, windows] -> [N, C, out...]: every number is added to the cell from which Unfold of an input of the
// sizes `out` would have read it; what would have been padding is dropped. Fails: taps that do not divide the rows; a
// number of windows other than fits into `out`. Source: PyTorch im2col.h (col2im).
struct Fold {
  static constexpr std::string_view name = "fold";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits{LayerKind::Other, AxisUse::Made, Contents::Computed, Learnt::Nothing, Indices::None};
  std::vector<Window> windows;  // one per spatial axis
  std::vector<Padding> paddings;
  Sizes out;
  template <class Visit>
  static void fields(Visit visit) {
    visit("windows", &Fold::windows);
    visit("paddings", &Fold::paddings);
    visit("out", &Fold::out);
  }
  friend bool operator==(const Fold&, const Fold&) = default;
};

using Unfolding = std::tuple<Unfold, Fold>;

}  // namespace convoy
