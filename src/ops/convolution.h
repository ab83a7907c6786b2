// Windows that multiply and sum, and their transpose.
#pragma once
#include "ops/axes.h"
#include "ops/infer.h"
#include "ops/transposed_padding.h"

#include <string_view>
#include <tuple>
#include <vector>

namespace convoy {

// x, kernel, bias? -> y, all in the order of `axes` and `kernel_order`.
//   x [N, C, n...]   kernel [O, C/groups, k...]   bias [O]   ->   [N, O, out...]
// A depthwise convolution has kernel_order SpaceInMultiplier and groups = C; output channel c*M + m.
// One window and one padding per spatial axis; the window's kernel size is that of the kernel tensor.
// Fails: groups dividing neither C nor O; a kernel of another rank or size; no window fits.
struct Conv {
  static constexpr std::string_view name = "conv";
  static constexpr std::size_t least_inputs = 2, most_inputs = 3;
  static constexpr Traits traits{LayerKind::Convolution, AxisUse::Kept, Contents::Computed, Learnt::Weights,
                                 Indices::None};
  Axes axes;
  KernelOrder kernel_order = KernelOrder::OutInSpace;
  std::vector<Window> windows;
  std::vector<Padding> paddings;  // as the file says it
  Size groups = 1;
  template <class Visit>
  static void fields(Visit visit) {
    visit("axes", &Conv::axes);
    visit("kernel_order", &Conv::kernel_order);
    visit("windows", &Conv::windows);
    visit("paddings", &Conv::paddings);
    visit("groups", &Conv::groups);
  }
  friend bool operator==(const Conv&, const Conv&) = default;
};

// The scatter of x, then a window cut out of it.
//   x [N, I, n...]   kernel [I, O/groups, k...]   bias [O]   ->   [N, O, out...]
// Crops in cells, before then after, signed: a negative one extends, and the bias is added there too.
// Fails: a crop that leaves no cell; groups dividing neither I nor O.
// Source: PyTorch ConvUtils.h, TensorFlow conv_grad_shape_utils.cc.
struct ConvTranspose {
  static constexpr std::string_view name = "conv_transpose";
  static constexpr std::size_t least_inputs = 2, most_inputs = 3;
  static constexpr Traits traits{LayerKind::Transposed, AxisUse::Kept, Contents::Computed, Learnt::Weights,
                                 Indices::None};
  Axes axes;
  KernelOrder kernel_order = KernelOrder::InOutSpace;
  std::vector<Window> windows;
  std::vector<TransposedPadding> paddings;
  Size groups = 1;
  template <class Visit>
  static void fields(Visit visit) {
    visit("axes", &ConvTranspose::axes);
    visit("kernel_order", &ConvTranspose::kernel_order);
    visit("windows", &ConvTranspose::windows);
    visit("paddings", &ConvTranspose::paddings);
    visit("groups", &ConvTranspose::groups);
  }
  friend bool operator==(const ConvTranspose&, const ConvTranspose&) = default;
};

// Output channels of a kernel, and input channels it reads in one group.
Size output_channels(KernelOrder order, const Sizes& kernel, Size groups);
Size input_channels_per_group(KernelOrder order, const Sizes& kernel, Size groups);
// The permutation that brings a kernel of `from` into `to` (same family of orders; depthwise to OutInSpace also needs
// the reshape [C, M, k...] -> [C*M, 1, k...], which `reordered_kernel` does).
Result<Tensor> reordered_kernel(const Tensor& kernel, KernelOrder from, KernelOrder to);

using Convolution = std::tuple<Conv, ConvTranspose>;

}  // namespace convoy
