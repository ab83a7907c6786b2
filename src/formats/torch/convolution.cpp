// nn.Conv1d to nn.Conv3d and their transposes, with the arguments a person would write: only those not at their default.
#include "formats/torch/families.h"

#include <fmt/format.h>
#include <algorithm>

namespace convoy::torch {
namespace {

// The arguments all windows share, in the order of PyTorch's signature up to dilation.
void say(std::vector<std::string>& arguments, std::string_view name, const Sizes& values, Size usual,
         bool always = false) {
  if (always || std::ranges::any_of(values, [&](Size v) { return v != usual; }))
    arguments.push_back(fmt::format("{}={}", name, tuple_or_one(values)));
}

struct Lists {
  Sizes kernel, stride, dilation;
};
Lists lists_of(const std::vector<Window>& windows) {
  Lists lists;
  for (const Window& w : windows) {
    lists.kernel.push_back(w.kernel);
    lists.stride.push_back(w.stride);
    lists.dilation.push_back(w.dilation);
  }
  return lists;
}

Status check_layout(const Call& c, const Axes& axes, const char* what) {
  if (axes.order != Order::ChannelsFirst && axes.space > 0) return c.broken(std::string(what) + " with channels last");
  if (axes.space < 1 || axes.space > 3) return c.refused(fmt::format("{} over {} axes", what, axes.space));
  const Shape& kernel = c.fact(1).shape;
  if (!kernel[0].known() || !kernel[1].known()) return c.refused(std::string(what) + " whose channels are free");
  return {};
}

// A kernel or a bias that the model computes: the function takes what no module holds. The first three arguments are those
// of a module alone.
Status finish_function(Call& c, const std::string& kind, Size space, const std::vector<std::string>& arguments) {
  const auto operand = [&](const char* word, std::size_t i) {
    return c.constant(i) ? c.tensor(c.state(word, i)) : c.name(i);
  };
  std::vector<std::string> said{c.name(0), operand("weight", 1)};
  if (c.has(2)) said.push_back(operand("bias", 2));
  for (std::size_t i = 3; i < arguments.size(); ++i)
    if (arguments[i] != "bias=False") said.push_back(arguments[i]);
  const std::string function = kind == "Conv" ? "conv" : "conv_transpose";
  c.result({fmt::format("F.{}{}d({})", function, space, joined(said)), Binds::Atom, 1, false, {}});
  return {};
}

Status finish(Call& c, const std::string& kind, Size space, std::vector<std::string> arguments) {
  if (!c.constant(1) || (c.has(2) && !c.constant(2))) return finish_function(c, kind, space, arguments);
  std::vector<State> states{c.state("weight", 1)};
  if (c.has(2)) states.push_back(c.state("bias", 2));
  if (c.constant(1)->dtype() != DType::F32) arguments.push_back("dtype=" + dtype(c.constant(1)->dtype()));
  const std::string self = c.module(fmt::format("nn.{}{}d({})", kind, space, joined(arguments)), std::move(states));
  c.result_of_module(self, c.begin(0));
  return {};
}

Status write_conv(const Conv& conv, Call& c) {
  if (auto ok = check_layout(c, conv.axes, "a convolution"); !ok) return ok;
  if (conv.kernel_order != KernelOrder::OutInSpace) return c.broken("a kernel in another framework's order");
  const Shape& kernel = c.fact(1).shape;
  const auto [kernels, strides, dilations] = lists_of(conv.windows);
  std::vector<std::string> arguments{std::to_string(*kernel[1] * conv.groups), std::to_string(*kernel[0]),
                                     tuple_or_one(kernels)};
  say(arguments, "stride", strides, 1, c.says_defaults());
  const auto form = form_of({Framework::Torch, Windowed::Convolutions}, conv.paddings, conv.windows);
  if (!form) return c.broken("padding of a convolution that PyTorch has no word for");
  if (*form == Form::SameUpper) {
    if (std::ranges::any_of(kernels, [](Size k) { return k != 1; })) arguments.emplace_back("padding=\"same\"");
  } else {
    Sizes pads;
    for (const Padding& p : conv.paddings) pads.push_back(p.spelling == Spelling::Explicit ? p.before : 0);
    say(arguments, "padding", pads, 0, c.says_defaults());
  }
  say(arguments, "dilation", dilations, 1);
  if (conv.groups != 1) arguments.push_back(fmt::format("groups={}", conv.groups));
  if (!c.has(2)) arguments.emplace_back("bias=False");
  return finish(c, "Conv", conv.axes.space, std::move(arguments));
}

Status write_conv_transpose(const ConvTranspose& conv, Call& c) {
  if (auto ok = check_layout(c, conv.axes, "a transposed convolution"); !ok) return ok;
  if (conv.kernel_order != KernelOrder::InOutSpace) return c.broken("a kernel in another framework's order");
  const Shape& kernel = c.fact(1).shape;
  const auto [kernels, strides, dilations] = lists_of(conv.windows);
  Sizes pads, output_pads;
  for (std::size_t i = 0; i < conv.paddings.size(); ++i) {
    const TransposedPadding& p = conv.paddings[i];
    const Size extra = p.before - p.after;
    if (p.spelling != CropSpelling::Explicit || p.before < 0 || extra < 0 ||
        extra >= std::max(conv.windows[i].stride, conv.windows[i].dilation))
      return c.broken(
          fmt::format("a transposed convolution that crops {} cells before and {} after", p.before, p.after));
    pads.push_back(p.before);
    output_pads.push_back(extra);
  }
  std::vector<std::string> arguments{std::to_string(*kernel[0]), std::to_string(*kernel[1] * conv.groups),
                                     tuple_or_one(kernels)};
  say(arguments, "stride", strides, 1, c.says_defaults());
  say(arguments, "padding", pads, 0, c.says_defaults());
  say(arguments, "output_padding", output_pads, 0);
  if (conv.groups != 1) arguments.push_back(fmt::format("groups={}", conv.groups));
  if (!c.has(2)) arguments.emplace_back("bias=False");
  say(arguments, "dilation", dilations, 1);
  return finish(c, "ConvTranspose", conv.axes.space, std::move(arguments));
}

constexpr std::array convolution_table{writes<write_conv>(), writes<write_conv_transpose>()};
static_assert(decides<Convolution>(convolution_table), "every convolution needs one row: writes<> or lacks<>");

}  // namespace

std::span<const Row> convolution_rows() { return convolution_table; }

}  // namespace convoy::torch
