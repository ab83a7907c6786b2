// Convolutions and their transposes, as functions and as layers: a number, a tuple or a word of padding, and
// padding_mode, which pads in front. Source: ATen/native/ConvUtils.h, nn/modules/conv.py.
#include "formats/torch/catalogue/windows.h"
#include "formats/torch/functions/functions.h"
#include "ops/expect.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace convoy::torch {
namespace {

std::string padding_mode(FunctionCall& call) {
  const std::string word = call.attrs.word("padding_mode", "zeros");
  if (word != "zeros" && !(mode_of(word) && word != "constant"))
    call.refuse(Fault::Format,
                "argument 'padding_mode' is '" + word + "', expected 'zeros', 'reflect', 'replicate' or 'circular'");
  return word;
}

// The pads of every axis for torch.nn.functional.pad: the last axis first. 'same' has stride 1 here, so that its pads
// are those of any size.
Sizes pairs_of(const std::vector<Padding>& paddings, const std::vector<Window>& windows) {
  Sizes pairs;
  for (std::size_t i = windows.size(); i-- > 0;) {
    // Negative numbers are for torch.nn.functional.pad to refuse or take.
    const bool said = paddings[i].spelling == Spelling::Explicit;
    const Added at = said ? Added{paddings[i].before, paddings[i].after}
                          : pads_at_every_size(paddings[i], windows[i]).value_or(Added{});
    pairs.push_back(at.before);
    pairs.push_back(at.after);
  }
  return pairs;
}

std::vector<ValueId> conv(FunctionCall& call) {
  const Size space = space_of(call.name);
  ValueId x = call.tensor("input");
  const ValueId weight = call.tensor("weight"), bias = call.optional("bias");
  const std::string mode = padding_mode(call);
  const bool in_front = mode != "zeros";
  auto [axes, windows, paddings] = windows_around(
      call, kernel_of(call, weight, space),
      {.stride = StrideLeftOut::One, .pads_by_word = true, .pads_below_zero = in_front, .dilates = true});
  const Size groups = whole_number(call, "groups", 1);
  if (in_front) {
    x = padded(call, x, pairs_of(paddings, windows), mode_of(mode).value_or(PadMode::Constant));
    std::ranges::fill(paddings, Padding{Spelling::Valid});
  }
  const Batched input = with_batch(call, x, space);
  const ValueId y =
      call.add(Conv{axes, KernelOrder::OutInSpace, windows, paddings, groups}, {input.value, weight, bias});
  return {without_batch(call, input, y)};
}

// What the layer is to give, as ConvTranspose.forward(x, output_size=...) takes it: with or without batch and channels.
std::optional<Sizes> output_size_of(FunctionCall& call, const Batched& input, Size space) {
  if (!call.attrs.has("output_size")) return std::nullopt;
  Sizes size = whole_numbers(call, "output_size");
  const auto leading = static_cast<std::ptrdiff_t>(input.added ? 1 : 2);
  if (static_cast<Size>(size.size()) == space + leading) size.erase(size.begin(), size.begin() + leading);
  if (static_cast<Size>(size.size()) == space) return size;
  call.refuse(Fault::Format, "argument 'output_size' is " + text_of(size) + ", expected " + std::to_string(space) +
                                 " or " + std::to_string(space + leading) + " numbers");
  return std::nullopt;
}

// Cells that the end gets besides the padding.
Sizes output_padding(FunctionCall& call, const Batched& input, const WindowArguments& layer) {
  const auto& [axes, windows, paddings] = layer;
  const Size space = axes.space;
  Sizes extra = per_axis(call, "output_padding", space, 0);
  const auto wanted = output_size_of(call, input, space);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const Window w = windows[i];
    if (wanted && w.sane()) {
      const Dim n = call.dim(input.value, static_cast<Size>(i) + 2);
      if (!n.known()) call.refuse(Fault::Unsupported, "argument 'output_size' needs an input of known size");
      const Range sizes = torch_output_sizes(paddings[i].before, w, n.known() ? *n : 1).value_or(Range{});
      extra[i] = (*wanted)[i] - sizes.least;
      if (!sizes.has((*wanted)[i]))
        call.refuse(Fault::Unsupported, "argument 'output_size' is " + text_of(*wanted) + ", but axis " +
                                            std::to_string(i) + " can be " + std::to_string(sizes.least) + " to " +
                                            std::to_string(sizes.most) + " cells long");
    } else if (extra[i] < 0 || (extra[i] >= w.stride && extra[i] >= w.dilation)) {
      call.refuse(Fault::Unsupported, "argument 'output_padding' is " + text_of(extra) +
                                          ", expected 0 or more and less than stride or dilation on every axis");
    }
  }
  return extra;
}

std::vector<ValueId> conv_transpose(FunctionCall& call) {
  const Size space = space_of(call.name);
  const Batched input = with_batch(call, call.tensor("input"), space);
  const ValueId weight = call.tensor("weight"), bias = call.optional("bias");
  const WindowArguments layer =
      windows_around(call, kernel_of(call, weight, space), {.stride = StrideLeftOut::One, .dilates = true});
  const Sizes extra = output_padding(call, input, layer);
  std::vector<TransposedPadding> crops;
  for (std::size_t i = 0; i < extra.size(); ++i)
    crops.push_back({CropSpelling::Explicit, layer.paddings[i].before, layer.paddings[i].before - extra[i], {}});
  const Size groups = whole_number(call, "groups", 1);
  const ValueId y = call.add(ConvTranspose{layer.axes, KernelOrder::InOutSpace, layer.windows, crops, groups},
                             {input.value, weight, bias});
  return {without_batch(call, input, y)};
}

// What the constructor of a layer knows besides: it must agree with the weights.
void constructor(FunctionCall& call, bool transposed) {
  const Size space = space_of(call.name);
  const Size in = whole_number(call, "in_channels"), out = whole_number(call, "out_channels");
  const Size groups = whole_number(call, "groups", 1);
  const Sizes kernel = per_axis(call, "kernel_size", space, {}, ListOfOne::ForOne);
  call.attrs.ignore({"device", "dtype"});
  if (call.failed()) return;
  if (groups < 1 || in % groups != 0 || out % groups != 0)
    return call.refuse(Fault::Format, "groups is " + std::to_string(groups) + ", which does not divide " +
                                          std::to_string(in) + " and " + std::to_string(out) + " channels");
  Shape wanted{transposed ? in : out, (transposed ? out : in) / groups};
  for (const Size k : kernel) wanted.emplace_back(k);
  if (const ValueId weight = call.tensor("weight"); weight && call.shape(weight) != wanted)
    call.refuse(Fault::Format, "weight has shape " + text_of(call.shape(weight)) + ", expected " + text_of(wanted));
  const bool biased = call.attrs.truth("bias", true), given = static_cast<bool>(call.optional("bias"));
  if (biased != given)
    call.refuse(Fault::Format, given ? "a bias is given, but argument 'bias' is false" : "the bias is missing");
}

std::vector<ValueId> conv_layer(FunctionCall& call) {
  constructor(call, false);
  return conv(call);
}

std::vector<ValueId> conv_transpose_layer(FunctionCall& call) {
  constructor(call, true);
  if (const std::string mode = padding_mode(call); mode != "zeros")
    call.refuse(Fault::Unsupported,
                "argument 'padding_mode' is '" + mode + "': a transposed convolution knows 'zeros' only");
  return conv_transpose(call);
}

constexpr std::string_view conv_words = "input weight bias stride padding dilation groups";
constexpr std::string_view transpose_words = "input weight bias stride padding output_padding groups dilation";
constexpr std::string_view layer_words =
    "in_channels out_channels kernel_size stride padding dilation groups bias padding_mode device dtype";
constexpr std::string_view transpose_layer_words =
    "in_channels out_channels kernel_size stride padding output_padding groups bias dilation padding_mode device dtype";
constexpr std::array convolution_table{FunctionRow{"conv1d", conv_words, conv},
                                       FunctionRow{"conv2d", conv_words, conv},
                                       FunctionRow{"conv3d", conv_words, conv},
                                       FunctionRow{"conv_transpose1d", transpose_words, conv_transpose},
                                       FunctionRow{"conv_transpose2d", transpose_words, conv_transpose},
                                       FunctionRow{"conv_transpose3d", transpose_words, conv_transpose},
                                       FunctionRow{"Conv1d", layer_words, conv_layer},
                                       FunctionRow{"Conv2d", layer_words, conv_layer},
                                       FunctionRow{"Conv3d", layer_words, conv_layer},
                                       FunctionRow{"ConvTranspose1d", transpose_layer_words, conv_transpose_layer},
                                       FunctionRow{"ConvTranspose2d", transpose_layer_words, conv_transpose_layer},
                                       FunctionRow{"ConvTranspose3d", transpose_layer_words, conv_transpose_layer}};

}  // namespace

std::span<const FunctionRow> convolution_functions() { return convolution_table; }

}  // namespace convoy::torch
