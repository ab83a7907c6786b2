// PyTorch's functions with PyTorch's numbers: torch.nn.functional under its own names, defaults and refusals. Arrays are
// NCW, NCHW or NCDHW; kernels [out, in/groups, k...].
#pragma once
#include "convoy/arguments.h"

#include <string>
#include <variant>

namespace convoy::torch {

// Cells on each side of every axis, or the words "same" (stride 1 only; an odd cell goes to the end) and "valid".
using ConvPadding = std::variant<PerAxis, std::string>;

struct Conv {
  PerAxis stride = 1;
  ConvPadding padding = PerAxis(0);
  PerAxis dilation = 1;
  Size groups = 1;
  std::string padding_mode = "zeros";  // or "reflect", "replicate", "circular", as nn.Conv2d takes it
};

// input [N, C, n...], weight [O, C/groups, k...], bias [O] or none -> [N, O, out...] with
// out = floor((n + 2*padding - dilation*(k - 1) - 1) / stride) + 1 along each axis.
// Fails: what PyTorch refuses: 'same' with a stride, groups that do not divide the channels, a window larger than the
// padded input. Source: ATen/native/ConvUtils.h.
Result<Tensor> conv1d(const View& input, const View& weight, const View* bias = nullptr, const Conv& = {});
Result<Tensor> conv2d(const View& input, const View& weight, const View* bias = nullptr, const Conv& = {});
Result<Tensor> conv3d(const View& input, const View& weight, const View* bias = nullptr, const Conv& = {});

}  // namespace convoy::torch
