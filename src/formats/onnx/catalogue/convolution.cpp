// Conv and ConvTranspose. A model's auto_pad stays a spelling for convolutions; transposed ones become signed crops, since
// the standard's words for them are read in several ways and no target says them.
#include "formats/onnx/composed.h"
#include "formats/onnx/write/sink.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>

namespace convoy::onnx {
namespace {

// The kernel's sizes: those of the tensor, which kernel_shape may repeat.
Sizes kernel_of(FunctionCall& call, ValueId weight, std::size_t space) {
  const Shape& shape = call.shape(weight);
  const bool argument = call.attrs.has("kernel_shape");
  Sizes kernel = call.attrs.sizes("kernel_shape", space, 1);
  if (!weight || call.failed()) return kernel;
  if (shape.size() != space + 2) {
    call.refuse(Fault::Format,
                "the kernel has shape " + text_of(shape) + ", expected rank " + std::to_string(space + 2));
    return kernel;
  }
  for (std::size_t i = 0; i < space; ++i) {
    const Dim size = shape[i + 2];
    if (!size.known()) {
      if (!argument)
        call.refuse(Fault::Unsupported, "the kernel's size is not known and attribute 'kernel_shape' is missing");
      continue;
    }
    if (argument && kernel[i] != *size) {
      call.refuse(Fault::Format,
                  "attribute 'kernel_shape' is " + text_of(kernel) + ", but the kernel has shape " + text_of(shape));
      return kernel;
    }
    kernel[i] = *size;
  }
  return kernel;
}

bool one_pad_word(FunctionCall& call, AutoPad word, const Pads& pads) {
  if (word == AutoPad::NotSet || !pads.given) return true;
  call.refuse(Fault::Format, "both attributes 'auto_pad' and 'pads' are given");
  return false;
}

// The standard counts the kernel with its holes, ONNX Runtime refuses: the numbers that the standard means are offered.
void refuse_dilated(FunctionCall& call, ValueId x, const std::vector<Window>& windows, bool lower) {
  Sizes begins, ends;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const Padding same{lower ? Spelling::SameLower : Spelling::SameUpper};
    const auto pads = pads_to_window(same, windows[i], call.dim(x, static_cast<Size>(i) + 2).size().value_or(0));
    if (!call.dim(x, static_cast<Size>(i) + 2).known() || !pads) continue;
    begins.push_back(pads->before);
    ends.push_back(pads->after);
  }
  std::string instead = "; give 'pads' in numbers";
  if (begins.size() == windows.size()) {
    begins.insert(begins.end(), ends.begin(), ends.end());
    instead = "; by the standard it is 'pads' " + text_of(begins) + " at this size";
  }
  call.refuse(Fault::Unsupported,
              "attribute 'auto_pad' SAME_UPPER or SAME_LOWER with dilations, which runtimes refuse" + instead);
}

}  // namespace

ValueId conv_of(FunctionCall& call, ValueId x, ValueId weight, ValueId bias) {
  const auto space = static_cast<std::size_t>(space_of(call, x));
  const auto windows = windows_of(call, kernel_of(call, weight, space));
  const AutoPad word = auto_pad_of(call);
  const Pads pads = pads_of(call, space);
  const Size groups = call.attrs.integer("group", 1);
  if (call.failed() || !one_pad_word(call, word, pads)) return {};
  const bool same = word == AutoPad::SameUpper || word == AutoPad::SameLower;
  if (same && std::ranges::any_of(windows, [](Window w) { return w.dilation != 1; }))
    refuse_dilated(call, x, windows, word == AutoPad::SameLower);
  std::vector<Padding> paddings;
  for (std::size_t i = 0; i < space; ++i) {
    if (same) paddings.push_back({word == AutoPad::SameUpper ? Spelling::SameUpper : Spelling::SameLower});
    else if (word == AutoPad::Valid) paddings.push_back({Spelling::Valid});
    else paddings.push_back({Spelling::Explicit, pads.before[i], pads.after[i]});
  }
  return call.add(Conv{channels_first(static_cast<Size>(space)), KernelOrder::OutInSpace, windows, paddings, groups},
                  {x, weight, bias});
}

namespace {

std::vector<ValueId> conv(FunctionCall& call) {
  const ValueId x = call.tensor("X"), weight = call.tensor("W");
  return {conv_of(call, x, weight, call.optional("B"))};
}

// output_padding, below the stride: a longer one would belong to a longer input.
Sizes output_padding_of(FunctionCall& call, const std::vector<Window>& windows) {
  const Sizes extra = call.attrs.sizes("output_padding", windows.size(), 0);
  for (std::size_t i = 0; i < windows.size(); ++i)
    if (extra[i] < 0 || (extra[i] > 0 && extra[i] >= windows[i].stride))
      call.refuse(Fault::Format, "attribute 'output_padding' is " + text_of(extra) +
                                     ", expected less than the stride " + std::to_string(windows[i].stride) +
                                     " on spatial axis " + std::to_string(i));
  return extra;
}

std::vector<TransposedPadding> crops_of(FunctionCall& call, ValueId x, const std::vector<Window>& windows) {
  const std::size_t space = windows.size();
  const AutoPad word = auto_pad_of(call);
  const Pads pads = pads_of(call, space);
  const Sizes extra = output_padding_of(call, windows);
  const bool to_shape = call.attrs.has("output_shape");
  const Sizes out = call.attrs.sizes("output_shape", space, 0);
  std::vector<TransposedPadding> crops;
  if (call.failed() || !one_pad_word(call, word, pads)) return crops;
  for (std::size_t i = 0; i < space; ++i) {
    Added crop{pads.before[i], pads.after[i] - extra[i]};
    const bool same = word == AutoPad::SameUpper || word == AutoPad::SameLower;
    if (to_shape) {
      const Dim in = call.dim(x, static_cast<Size>(i) + 2);
      constexpr Size most = Size{1} << 30;
      if (!in.known()) call.refuse(Fault::Unsupported, "attribute 'output_shape' needs a known input size");
      else if (*in < 1 || *in > most || out[i] < 1 || out[i] > most)
        call.refuse(Fault::Format,
                    "attribute 'output_shape' is " + text_of(out) + " for input size " + std::to_string(*in));
      if (call.failed()) return crops;
      const auto at = onnx_crop_to(out[i], windows[i], *in, extra[i], word != AutoPad::SameUpper);
      if (!at)
        call.refuse(Fault::Format, "attribute 'output_shape' is " + text_of(out) +
                                       ", which no convolution maps back to input size " + std::to_string(*in) +
                                       " on spatial axis " + std::to_string(i));
      else crop = {at->before, at->after};
    } else if (same) {
      crop = onnx_same_crops(windows[i], extra[i], word == AutoPad::SameLower);
    }
    crops.push_back({CropSpelling::Explicit, crop.before, crop.after, {}});
  }
  return crops;
}

std::vector<ValueId> conv_transpose(FunctionCall& call) {
  const ValueId x = call.tensor("X"), weight = call.tensor("W"), bias = call.optional("B");
  const auto space = static_cast<std::size_t>(space_of(call, x));
  const auto windows = windows_of(call, kernel_of(call, weight, space));
  const Size groups = call.attrs.integer("group", 1);
  const auto crops = crops_of(call, x, windows);
  if (call.failed()) return {};
  return {
      call.add(ConvTranspose{channels_first(static_cast<Size>(space)), KernelOrder::InOutSpace, windows, crops, groups},
               {x, weight, bias})};
}

// clang-format off
constexpr std::array convolution_table{
    Operator{"Conv", {}, "X W B?", "auto_pad:s dilations:I group:i kernel_shape:I pads:I strides:I", conv},
    Operator{"ConvTranspose", {}, "X W B?", "auto_pad:s dilations:I group:i kernel_shape:I output_padding:I output_shape:I pads:I strides:I", conv_transpose}};
// clang-format on

// ---- written ----------------------------------------------------------------------------------------------------------

struct WindowNumbers {
  Sizes kernel, strides, dilations;
};
WindowNumbers numbers_of(const std::vector<Window>& windows) {
  WindowNumbers n;
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

constexpr std::array convolution_writers{writes<write_conv>(), writes<write_transposed>()};
static_assert(decides<Convolution>(convolution_writers));

}  // namespace

std::span<const Operator> convolution_operators() { return convolution_table; }

std::span<const Row> convolution_rows() { return convolution_writers; }

}  // namespace convoy::onnx
