// The constructor of a layer with windows, from what its arguments are: what a module's writer writes and `convoy pad` prints.
#pragma once
#include "ops/padding.h"

#include <optional>
#include <string>
#include <vector>

namespace convoy::torch {

struct WindowNumbers {
  Sizes kernel, stride, padding, dilation;
};
WindowNumbers numbers_of(const std::vector<Window>& windows, const std::vector<Padding>& paddings = {});

struct WindowLayer {
  std::string kind;  // "Conv", "ConvTranspose", "MaxPool", "AvgPool", "LPPool"
  std::vector<std::string> in_front;  // of kernel_size: the channels of a convolution, the power of a pool
  WindowNumbers numbers;
  bool is_same = false;  // padding="same" in place of numbers
  Sizes output_padding{};
  std::string groups = "1", padding_mode = "zeros";
  bool biased = true, ceils = false, counts_padding = true;
  std::optional<Size> divisor{};

  bool pools() const { return kind.ends_with("Pool"); }
};

// Those not at their default, in PyTorch's order. `says_defaults`: stride and padding of a convolution in any case.
std::vector<std::string> arguments_of(const WindowLayer& layer, bool says_defaults = false);
std::string constructor_of(const WindowLayer& layer);  // "nn.Conv2d(3, 8, 3, padding=1)"

}  // namespace convoy::torch
