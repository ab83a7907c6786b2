// conv1d to conv3d: a number, a tuple or a word of padding, and padding_mode, which pads first.
#include "formats/torch/functions/functions.h"

#include <algorithm>
#include <array>

namespace convoy::torch {
namespace {

Size space_of(std::string_view name) { return name[name.size() - 2] - '0'; }

struct Mode {
  std::string_view word;
  PadMode mode;
};
constexpr std::array modes{Mode{"zeros", PadMode::Constant}, Mode{"reflect", PadMode::Reflect},
                           Mode{"replicate", PadMode::Edge}, Mode{"circular", PadMode::Wrap}};

PadMode padding_mode(FunctionCall& call) {
  const std::string word = call.attrs.word("padding_mode", "zeros");
  const auto found = std::ranges::find(modes, word, &Mode::word);
  if (found != modes.end()) return found->mode;
  call.refuse(Fault::Format,
              "argument 'padding_mode' is '" + word + "', expected 'zeros', 'reflect', 'replicate' or 'circular'");
  return PadMode::Constant;
}

std::vector<Window> windows_of(FunctionCall& call, const Shape& kernel, std::size_t space) {
  const Sizes stride = call.attrs.sizes("stride", space, 1), dilation = call.attrs.sizes("dilation", space, 1);
  std::vector<Window> windows;
  for (std::size_t i = 0; i < space; ++i) {
    windows.push_back({kernel.size() == space + 2 ? *kernel[i + 2] : 1, stride[i], dilation[i]});
    if (!windows.back().sane())
      call.refuse(Fault::Format, "kernel " + std::to_string(windows[i].kernel) + ", stride " +
                                     std::to_string(stride[i]) + " and dilation " + std::to_string(dilation[i]) +
                                     " are no window");
  }
  return windows;
}

// A number, a tuple, 'valid', or 'same' where every stride is 1.
std::vector<Padding> paddings_of(FunctionCall& call, const std::vector<Window>& windows) {
  const Json* said = call.attrs.raw("padding");
  std::vector<Padding> paddings(windows.size());
  if (said && said->is_string()) {
    const std::string word = said->get<std::string>();
    if (word == "same") {
      if (std::ranges::any_of(windows, [](Window w) { return w.stride != 1; }))
        call.refuse(Fault::Unsupported, "padding 'same' needs stride 1 in PyTorch");
      std::ranges::fill(paddings, Padding{Spelling::SameUpper});
    } else if (word != "valid") {
      call.refuse(Fault::Format, "argument 'padding' is '" + word + "', expected 'same', 'valid' or numbers");
    }
    return paddings;
  }
  const Sizes numbers = call.attrs.sizes("padding", windows.size(), 0);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    if (numbers[i] < 0) call.refuse(Fault::Format, "argument 'padding' is " + std::to_string(numbers[i]));
    paddings[i] = {Spelling::Explicit, numbers[i], numbers[i]};
  }
  return paddings;
}

std::vector<ValueId> conv(FunctionCall& call) {
  const Size space = space_of(call.name);
  ValueId x = call.tensor("input");
  const ValueId weight = call.tensor("weight"), bias = call.optional("bias");
  const auto windows = windows_of(call, call.shape(weight), static_cast<std::size_t>(space));
  auto paddings = paddings_of(call, windows);
  const PadMode mode = padding_mode(call);
  const Size groups = call.attrs.integer("groups", 1);
  if (call.failed()) return {};
  if (mode != PadMode::Constant) {
    Pad front{Sizes(static_cast<std::size_t>(space) + 2, 0), Sizes(static_cast<std::size_t>(space) + 2, 0), mode, 0};
    for (std::size_t i = 0; i < windows.size(); ++i) {
      // 'same' has stride 1 here, so that its pads do not depend on the size.
      const auto at = pads_to_window(paddings[i], windows[i], windows[i].reach());
      if (!at) continue;
      front.before[i + 2] = at->before;
      front.after[i + 2] = at->after;
      paddings[i] = {Spelling::Valid};
    }
    x = call.add(front, {x});
  }
  return {call.add(Conv{{Order::ChannelsFirst, space}, KernelOrder::OutInSpace, windows, paddings, groups},
                   {x, weight, bias})};
}

constexpr std::string_view conv_parameters = "input weight bias stride padding dilation groups";
constexpr std::array rows{FunctionRow{"conv1d", conv_parameters, conv}, FunctionRow{"conv2d", conv_parameters, conv},
                          FunctionRow{"conv3d", conv_parameters, conv}};

}  // namespace

std::span<const FunctionRow> convolution_functions() { return rows; }

}  // namespace convoy::torch
