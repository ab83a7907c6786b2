// Conv and ConvTranspose: explicit pads, auto_pad only where a size is unknown and the pads depend on it.
#include "formats/onnx/write/sink.h"

#include <algorithm>
#include <array>

namespace convoy::onnx {
namespace {

struct Numbers {
  Sizes kernel, strides, dilations;
};
Numbers numbers_of(const std::vector<Window>& windows) {
  Numbers n;
  for (const Window& w : windows) {
    n.kernel.push_back(w.kernel);
    n.strides.push_back(w.stride);
    n.dilations.push_back(w.dilation);
  }
  return n;
}

Status check_order(const Sink& sink, Axes axes, const char* what) {
  if (axes.order != Order::ChannelsFirst && axes.space > 0)
    return sink.broken(std::string(what) + " with channels last");
  if (axes.space < 1) return sink.refused(std::string(what) + " over no axis");
  return {};
}

Status write_conv(const Conv& conv, Sink& sink) {
  if (auto ok = check_order(sink, conv.axes, "a convolution"); !ok) return ok;
  if (conv.kernel_order != KernelOrder::OutInSpace) return sink.broken("a kernel in another framework's order");
  const auto [kernel, strides, dilations] = numbers_of(conv.windows);
  Attributes attributes{{"dilations", dilations}, {"group", conv.groups}, {"kernel_shape", kernel}};
  const auto all = [&](Spelling s) {
    return std::ranges::all_of(conv.paddings, [&](const Padding& p) { return p.spelling == s; });
  };
  if (all(Spelling::SameUpper) || all(Spelling::SameLower)) {
    attributes.insert(attributes.begin(),
                      {"auto_pad", std::string(all(Spelling::SameUpper) ? "SAME_UPPER" : "SAME_LOWER")});
  } else {
    Sizes before, after;
    for (const Padding& p : conv.paddings) {
      if (p.spelling != Spelling::Explicit && p.spelling != Spelling::Valid) return sink.broken("a padding by a word");
      before.push_back(p.spelling == Spelling::Explicit ? p.before : 0);
      after.push_back(p.spelling == Spelling::Explicit ? p.after : 0);
    }
    attributes.emplace_back("pads", begins_then_ends(before, after));
  }
  attributes.emplace_back("strides", strides);
  sink.last("Conv", {sink.name(0), sink.name(1), sink.name(2)}, std::move(attributes));
  return {};
}

Status write_transposed(const ConvTranspose& conv, Sink& sink) {
  if (auto ok = check_order(sink, conv.axes, "a transposed convolution"); !ok) return ok;
  if (conv.kernel_order != KernelOrder::InOutSpace) return sink.broken("a kernel in another framework's order");
  const auto [kernel, strides, dilations] = numbers_of(conv.windows);
  Sizes before, after, more;
  for (const TransposedPadding& p : conv.paddings) {
    if (p.spelling != CropSpelling::Explicit || p.before < 0) return sink.broken("crops by a word");
    before.push_back(p.before);
    after.push_back(std::max<Size>(p.after, 0));
    more.push_back(std::max<Size>(-p.after, 0));
  }
  Attributes attributes{{"dilations", dilations}, {"group", conv.groups}, {"kernel_shape", kernel}};
  if (std::ranges::any_of(more, [](Size n) { return n > 0; })) attributes.emplace_back("output_padding", more);
  attributes.emplace_back("pads", begins_then_ends(before, after));
  attributes.emplace_back("strides", strides);
  sink.last("ConvTranspose", {sink.name(0), sink.name(1), sink.name(2)}, std::move(attributes));
  return {};
}

constexpr std::array convolution_table{writes<write_conv>(), writes<write_transposed>()};
static_assert(decides<Convolution>(convolution_table));

}  // namespace

std::span<const Row> convolution_rows() { return convolution_table; }

}  // namespace convoy::onnx
