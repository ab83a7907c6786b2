// Which of Keras's layers a convolution is.
#pragma once
#include "ops/convolution.h"
#include "ops/vocabulary.h"

#include <algorithm>
#include <vector>

namespace convoy {

// TensorFlow's depthwise kernels for plain processors refuse unequal strides, unless dilation makes Keras subsample: such a layer
// is written with groups.
inline bool runs_depthwise(const std::vector<Window>& windows) {
  const bool equal = std::ranges::all_of(windows, [&](const Window& w) { return w.stride == windows[0].stride; });
  return equal || (any_above_one(windows, &Window::stride) && any_above_one(windows, &Window::dilation));
}

// One filter bank per input channel, of a layer over one or two axes.
inline bool has_depthwise_layer(const Conv& conv, const Shape& kernel) {
  if (conv.kernel_order == KernelOrder::SpaceInMultiplier) return true;
  if (conv.kernel_order != KernelOrder::OutInSpace || conv.groups < 2 || conv.axes.space > 2 || kernel[1] != Dim(1))
    return false;
  return runs_depthwise(conv.windows);
}

}  // namespace convoy
