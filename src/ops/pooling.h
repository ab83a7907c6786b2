// Windows that reduce: maximum, average and norm over space, and the way back from a maximum.
#pragma once
#include "ops/axes.h"
#include "ops/infer.h"
#include "ops/padding.h"

#include <string_view>
#include <tuple>
#include <vector>

namespace convoy {

// How the cell that holds a maximum is told. The number does not depend on the order in which the axes lie.
// n... are the sizes of x along its spatial axes, in order.
enum class Positions : std::uint8_t {
  None,            // not at all: there is no second output
  Plane,           // row-major in [n...]: within its own example and channel (PyTorch)
  Tensor,          // row-major in [N, C, n...] (ONNX, storage_order 0)
  TensorColumns,  // as Tensor, but column-major within [n...]: the first spatial axis runs fastest (storage_order 1)
  Example,  // row-major in [n..., C] (TensorFlow max_pool_with_argmax)
  ExampleInBatch,  // row-major in [N, n..., C] (the same with include_batch_in_index)
};

// x -> y, and with `positions` a second output int64 shaped like y: which cell of x each number of y is. Padding is worth
// minus infinity, never zero. Of equal cells the first in row-major order counts; a NaN beats every number, the last NaN
// those before it. The position of a window that reads no cell of x is not meant for use.
// Source: PyTorch MaxPoolKernel.cpp; semantics of ONNX MaxPool and TensorFlow max_pool_with_argmax.
struct MaxPool {
  static constexpr std::string_view name = "max_pool";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits{LayerKind::Pooling, AxisUse::Kept, Contents::Computed, Learnt::Nothing,
                                 Indices::SecondOutput};
  Axes axes;
  std::vector<Window> windows;
  std::vector<Padding> paddings;
  Positions positions = Positions::None;
  template <class Visit>
  static void fields(Visit visit) {
    visit("axes", &MaxPool::axes);
    visit("windows", &MaxPool::windows);
    visit("paddings", &MaxPool::paddings);
    visit("positions", &MaxPool::positions);
  }
  friend bool operator==(const MaxPool&, const MaxPool&) = default;
};

// x -> y. The divisor per axis, for a window that starts at a: min(a+k, n+after) - a where padding counts
// (the overhang of a ceil window never counts), min(a+k, n) - max(a, 0) where it does not; `divisor` overrides. With
// dilation the taps that lie in the same spans are counted.
struct AveragePool {
  static constexpr std::string_view name = "average_pool";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits{LayerKind::Pooling, AxisUse::Kept, Contents::Computed, Learnt::Nothing, Indices::None};
  Axes axes;
  std::vector<Window> windows;
  std::vector<Padding> paddings;
  bool counts_padding = false;
  std::optional<Size> divisor{};
  template <class Visit>
  static void fields(Visit visit) {
    visit("axes", &AveragePool::axes);
    visit("windows", &AveragePool::windows);
    visit("paddings", &AveragePool::paddings);
    visit("counts_padding", &AveragePool::counts_padding);
    visit("divisor", &AveragePool::divisor);
  }
  friend bool operator==(const AveragePool&, const AveragePool&) = default;
};

enum class PowerRule : std::uint8_t {
  Norm,  // (sum |x|^p)^(1/p), padding is worth zero (ONNX)
  Signed,  // r(k * average(x^p))^(1/p), r(a) = sign(a) |a|: an odd p keeps signs, so that a negative sum gives NaN, and
  // a ceil window that hangs over is scaled up to a whole one; k: cells of the window (PyTorch F.lp_pool)
};

// x -> y, windows brought to their Lp norm by one of two rules. p is not 0.
// Source: ONNX LpPool; PyTorch torch/nn/functional.py lp_pool1d to lp_pool3d.
struct LpPool {
  static constexpr std::string_view name = "lp_pool";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits{LayerKind::Pooling, AxisUse::Kept, Contents::Computed, Learnt::Nothing, Indices::None};
  Axes axes;
  std::vector<Window> windows;
  std::vector<Padding> paddings;
  double p = 2;
  PowerRule rule = PowerRule::Norm;
  template <class Visit>
  static void fields(Visit visit) {
    visit("axes", &LpPool::axes);
    visit("windows", &LpPool::windows);
    visit("paddings", &LpPool::paddings);
    visit("p", &LpPool::p);
    visit("rule", &LpPool::rule);
  }
  friend bool operator==(const LpPool&, const LpPool&) = default;
};

enum class Extreme : std::uint8_t { Average, Maximum };

// x -> y with `out` cells per spatial axis; cell i covers [floor(i*n/out), ceil((i+1)*n/out)).
// `positions` (Maximum only): a second output, as of MaxPool. Source: PyTorch AdaptivePooling.h.
struct AdaptivePool {
  static constexpr std::string_view name = "adaptive_pool";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits{LayerKind::Pooling, AxisUse::Kept, Contents::Computed, Learnt::Nothing,
                                 Indices::SecondOutput};
  Axes axes;
  Extreme kind = Extreme::Average;
  Sizes out;
  Positions positions = Positions::None;
  template <class Visit>
  static void fields(Visit visit) {
    visit("axes", &AdaptivePool::axes);
    visit("kind", &AdaptivePool::kind);
    visit("out", &AdaptivePool::out);
    visit("positions", &AdaptivePool::positions);
  }
  friend bool operator==(const AdaptivePool&, const AdaptivePool&) = default;
};

// x, positions (whole numbers shaped like x) -> y with `out` cells per spatial axis: every number of x in the cell that
// its position tells, counted in y's own sizes; zero elsewhere. Where two meet, the later one in row-major order stays.
// Fails when it runs: a position outside y. Source: PyTorch MaxUnpool.cpp, ONNX MaxUnpool.
struct MaxUnpool {
  static constexpr std::string_view name = "max_unpool";
  static constexpr std::size_t least_inputs = 2, most_inputs = 2;
  static constexpr Traits traits{LayerKind::Other, AxisUse::Kept, Contents::Computed, Learnt::Nothing,
                                 Indices::SecondInput};
  Axes axes;
  Sizes out;
  Positions positions = Positions::Plane;
  template <class Visit>
  static void fields(Visit visit) {
    visit("axes", &MaxUnpool::axes);
    visit("out", &MaxUnpool::out);
    visit("positions", &MaxUnpool::positions);
  }
  friend bool operator==(const MaxUnpool&, const MaxUnpool&) = default;
};

using Pooling = std::tuple<MaxPool, AveragePool, LpPool, AdaptivePool, MaxUnpool>;

}  // namespace convoy
