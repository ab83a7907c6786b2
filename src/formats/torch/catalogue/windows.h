// kernel_size, stride, padding, dilation and ceil_mode: read here, for whatever takes them, and written here.
#pragma once
#include "formats/function.h"
#include "formats/torch/call.h"
#include "formats/torch/catalogue/arguments.h"
#include "formats/torch/catalogue/window_layer.h"

#include <string>
#include <string_view>
#include <vector>

namespace convoy::torch {

// What an operator takes besides the kernel and the stride.
enum class StrideLeftOut : std::uint8_t { Kernel, One };
struct WindowRules {
  StrideLeftOut stride = StrideLeftOut::Kernel;
  bool pads = true, pads_by_word = false, pads_below_zero = false;
  bool dilates = false, ceils = false;
  ListOfOne lists = ListOfOne::ForAll;  // of the kernel and the padding
};

struct WindowArguments {
  Axes axes;
  std::vector<Window> windows;  // one per axis
  std::vector<Padding> paddings;
};
// Refuses what is no window, whatever the rules.
WindowArguments windows_around(FunctionCall& call, const Sizes& kernel, const WindowRules& rules);
// With the kernel in the argument kernel_size.
WindowArguments windows_of(FunctionCall& call, Size space, const WindowRules& rules);

// The spatial sizes of a weight [O, I, k...]; refuses another rank.
Sizes kernel_of(FunctionCall& call, ValueId weight, Size space);

// ---- for writers
// "stride=2", where any number is not what is meant without it.
void add_numbers(std::vector<std::string>& arguments, std::string_view name, const Sizes& numbers, Size otherwise,
                 bool always = false);
// Nothing: 1 to 3 axes behind the channels, as PyTorch has them.
Status expect_channels_first(const Call& c, const Axes& axes, const std::string& what);

}  // namespace convoy::torch
