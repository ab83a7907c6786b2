// Cells added around a tensor, as an operator of its own.
#pragma once
#include "ops/infer.h"
#include "ops/padding.h"

#include <string_view>
#include <tuple>

namespace convoy {

enum class PadMode : std::uint8_t {
  Constant,
  Reflect,    // mirrored at the border cell, which is not repeated; needs pad < n unless `repeats`
  Symmetric,  // mirrored behind the border cell, which is repeated; needs pad <= n unless `repeats`
  Edge,       // the border cell repeated
  Wrap,       // from the other side; needs pad <= n unless `repeats`
};

// What a negative count cuts off.
enum class Cutting : std::uint8_t {
  First,  // cells of x, and the mode sees what is left: n is the length left (ONNX; PyTorch constant and circular)
  Last,   // cells of the result: the mode sees all of x (PyTorch reflect and replicate)
};

// x -> y. Cells per axis, before and after, for every axis of x. `repeats`: a mirror or a wrap goes on as often as it
// takes (ONNX wrap, NumPy); otherwise more than one round is refused. Fails: more is cut off than there is, or all of it
// unless the result `may_be_empty` (PyTorch and ONNX answer with nothing, Keras refuses).
struct Pad {
  static constexpr std::string_view name = "pad";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits{LayerKind::Layout, AxisUse::Kept, Contents::Filled, Learnt::Nothing, Indices::None};
  Sizes before, after;
  PadMode mode = PadMode::Constant;
  double value = 0;
  Cutting cutting = Cutting::First;
  bool repeats = false, may_be_empty = false;
  template <class Visit>
  static void fields(Visit visit) {
    visit("before", &Pad::before);
    visit("after", &Pad::after);
    visit("mode", &Pad::mode);
    visit("value", &Pad::value);
    visit("cutting", &Pad::cutting);
    visit("repeats", &Pad::repeats);
    visit("may_be_empty", &Pad::may_be_empty);
  }
  friend bool operator==(const Pad&, const Pad&) = default;
};

// x -> y. The zeros (or `value`) that `paddings` asks for, computed from the size when the model runs: what a
// convolution with SAME and a stride needs in front where the target knows only fixed pads and the size is free.
// y is as long as windows with these pads read, so the operator behind it uses Valid. One entry per spatial axis.
struct PadToWindow {
  static constexpr std::string_view name = "pad_to_window";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits{LayerKind::Layout, AxisUse::Kept, Contents::Filled, Learnt::Nothing, Indices::None};
  Sizes axes;
  std::vector<Window> windows;
  std::vector<Padding> paddings;
  double value = 0;
  template <class Visit>
  static void fields(Visit visit) {
    visit("axes", &PadToWindow::axes);
    visit("windows", &PadToWindow::windows);
    visit("paddings", &PadToWindow::paddings);
    visit("value", &PadToWindow::value);
  }
  friend bool operator==(const PadToWindow&, const PadToWindow&) = default;
};

using Padded = std::tuple<Pad, PadToWindow>;

}  // namespace convoy
