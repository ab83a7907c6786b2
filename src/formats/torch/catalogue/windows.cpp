// Source: ATen/native/Pool.h, ConvUtils.h, im2col_shape_check.h.
#include "formats/torch/catalogue/windows.h"

#include "ops/expect.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace convoy::torch {
namespace {

// 'valid', or 'same' where every stride is 1.
std::vector<Padding> padding_word(FunctionCall& call, const std::string& word, const std::vector<Window>& windows) {
  if (word != "same" && word != "valid")
    call.refuse(Fault::Format, "argument 'padding' is '" + word + "', expected 'same', 'valid' or numbers");
  else if (word == "same" && std::ranges::any_of(windows, [](Window w) { return w.stride != 1; }))
    call.refuse(Fault::Unsupported, "padding 'same' needs stride 1 in PyTorch");
  return std::vector<Padding>(windows.size(), {word == "same" ? Spelling::SameUpper : Spelling::Valid});
}

std::vector<Padding> paddings_of(FunctionCall& call, const std::vector<Window>& windows, const WindowRules& rules) {
  const Json* argument = call.attrs.raw("padding");
  if (rules.pads_by_word && argument && argument->is_string())
    return padding_word(call, argument->get<std::string>(), windows);
  const bool ceils = rules.ceils && call.attrs.truth("ceil_mode", false);
  const auto space = static_cast<Size>(windows.size());
  const Sizes numbers = rules.pads ? per_axis(call, "padding", space, 0, rules.lists) : Sizes(windows.size(), 0);
  if (!rules.pads_below_zero) expect_least(call, "padding", numbers, 0);
  std::vector<Padding> paddings;
  for (const Size n : numbers)
    paddings.push_back({Spelling::Explicit, n, n, ceils ? Leftover::CeilInside : Leftover::Drop});
  return paddings;
}

}  // namespace

WindowArguments windows_around(FunctionCall& call, const Sizes& kernel, const WindowRules& rules) {
  const auto space = static_cast<Size>(kernel.size());
  const bool from_kernel = rules.stride == StrideLeftOut::Kernel;
  const Json* argument = call.attrs.raw("stride");
  const bool left_out = !argument || (from_kernel && argument->is_array() && argument->empty());
  const Sizes stride = left_out ? (from_kernel ? kernel : Sizes(kernel.size(), 1)) : per_axis(call, "stride", space);
  const Sizes dilation = rules.dilates ? per_axis(call, "dilation", space, 1) : Sizes(kernel.size(), 1);
  WindowArguments all{{Order::ChannelsFirst, space}, {}, {}};
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    all.windows.push_back({kernel[i], stride[i], dilation[i]});
    if (!all.windows.back().sane())
      call.refuse(Fault::Format, "kernel " + std::to_string(kernel[i]) + ", stride " + std::to_string(stride[i]) +
                                     " and dilation " + std::to_string(dilation[i]) +
                                     " are no window: each is 1 or more");
  }
  all.paddings = paddings_of(call, all.windows, rules);
  return all;
}

WindowArguments windows_of(FunctionCall& call, Size space, const WindowRules& rules) {
  return windows_around(call, per_axis(call, "kernel_size", space, {}, rules.lists), rules);
}

Sizes kernel_of(FunctionCall& call, ValueId weight, Size space) {
  Sizes kernel;
  if (call.failed()) return Sizes(static_cast<std::size_t>(space), 1);
  const Shape& shape = call.shape(weight);
  if (call.rank(weight) != space + 2) {
    call.refuse(Fault::Format, "weight has shape " + text_of(shape) + ", expected rank " + std::to_string(space + 2));
    return Sizes(static_cast<std::size_t>(space), 1);
  }
  for (Size i = 2; i < space + 2; ++i) {
    if (!at(shape, i).known()) call.refuse(Fault::Unsupported, "weight has shape " + text_of(shape));
    kernel.push_back(*at(shape, i));
  }
  return kernel;
}

void add_numbers(std::vector<std::string>& arguments, std::string_view name, const Sizes& numbers, Size otherwise,
                 bool always) {
  if (always || std::ranges::any_of(numbers, [&](Size n) { return n != otherwise; }))
    arguments.push_back(fmt::format("{}={}", name, tuple_or_one(numbers)));
}

Status expect_channels_first(const Call& c, const Axes& axes, const std::string& what) {
  if (axes.order != Order::ChannelsFirst && axes.space > 0) return c.broken(what + " with channels last");
  if (axes.space < 1 || axes.space > 3) return c.refused(fmt::format("{} over {} axes", what, axes.space));
  return {};
}

}  // namespace convoy::torch
