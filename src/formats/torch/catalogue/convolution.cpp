// Convolutions and their transposes: a number, a tuple or a word of padding, and padding_mode, which pads in front.
// Source: ATen/native/ConvUtils.h, nn/modules/conv.py. Written with the arguments a person would write: those not at their
// default.
#include "formats/torch/catalogue/catalogue.h"
#include "formats/torch/catalogue/windows.h"
#include "formats/torch/families.h"
#include "ops/expect.h"

#include <fmt/format.h>
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
    const bool argument = paddings[i].spelling == Spelling::Explicit;
    const Added at = argument ? Added{paddings[i].before, paddings[i].after}
                              : pads_at_every_size(paddings[i], windows[i]).value_or(Added{});
    pairs.push_back(at.before);
    pairs.push_back(at.after);
  }
  return pairs;
}

std::vector<ValueId> conv_over(FunctionCall& call, Size space) {
  ValueId x = real_tensor(call, "input");
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

std::vector<ValueId> conv_transpose_over(FunctionCall& call, Size space) {
  const Batched input = with_batch(call, real_tensor(call, "input"), space);
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

std::vector<ValueId> conv(FunctionCall& call) { return conv_over(call, space_of(call.name)); }
std::vector<ValueId> conv_transpose(FunctionCall& call) { return conv_transpose_over(call, space_of(call.name)); }

// ATen's one operator for all six: the weight says over how many axes.
std::vector<ValueId> convolution(FunctionCall& call) {
  call.attrs.ignore({"benchmark", "deterministic", "cudnn_enabled", "allow_tf32"});
  const ValueId weight = call.tensor("weight");
  const bool transposed = call.attrs.truth("transposed", false);
  if (call.failed()) return {};
  const Size space = call.rank(weight) - 2;
  if (space < 1 || space > 3)
    call.refuse(Fault::Format, "weight has shape " + text_of(call.shape(weight)) + ", expected rank 3, 4 or 5");
  if (call.failed()) return {};
  if (transposed) return conv_transpose_over(call, space);
  call.attrs.ignore({"output_padding"});
  return conv_over(call, space);
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

Status check_layout(const Call& c, const Axes& axes, const char* what) {
  if (auto ok = expect_channels_first(c, axes, what); !ok) return ok;
  const Shape& kernel = c.type(1).shape;
  if (!kernel[0].known() || !kernel[1].known()) return c.refused(std::string(what) + " whose channels are free");
  return {};
}

// A kernel or a bias that the model computes: the function takes what no module holds. The first three arguments are those
// of a module alone.
Status finish_function(Call& c, WindowLayer layer) {
  const auto operand = [&](const char* word, std::size_t i) {
    return c.constant(i) ? c.tensor(c.state(word, i)) : c.name(i);
  };
  std::vector<std::string> argument{c.name(0), operand("weight", 1)};
  if (c.has(2)) argument.push_back(operand("bias", 2));
  layer.biased = true;
  const auto arguments = arguments_of(layer, c.says_defaults());
  argument.insert(argument.end(), arguments.begin() + 3, arguments.end());
  const std::string function = layer.kind == "Conv" ? "conv" : "conv_transpose";
  c.result(
      {fmt::format("F.{}{}d({})", function, layer.numbers.kernel.size(), joined(argument)), Binds::Atom, 1, false, {}});
  return {};
}

Status finish(Call& c, WindowLayer layer) {
  layer.biased = c.has(2);
  if (!c.constant(1) || (c.has(2) && !c.constant(2))) return finish_function(c, std::move(layer));
  std::vector<State> states{c.state("weight", 1)};
  if (c.has(2)) states.push_back(c.state("bias", 2));
  std::vector<std::string> arguments = arguments_of(layer, c.says_defaults());
  if (c.constant(1)->dtype() != DType::F32) arguments.push_back("dtype=" + dtype(c.constant(1)->dtype()));
  const std::string self = c.module(
      fmt::format("nn.{}{}d({})", layer.kind, layer.numbers.kernel.size(), joined(arguments)), std::move(states));
  c.result_of_module(self, c.begin(0));
  return {};
}

Status write_conv(const Conv& conv, Call& c) {
  if (auto ok = check_layout(c, conv.axes, "a convolution"); !ok) return ok;
  if (conv.kernel_order != KernelOrder::OutInSpace) return c.broken("a kernel in another framework's order");
  const auto form = form_of({Framework::Torch, Windowed::Convolutions}, conv.paddings, conv.windows);
  if (!form) return c.broken("padding of a convolution that PyTorch has no word for");
  const Shape& kernel = c.type(1).shape;
  WindowLayer layer{.kind = "Conv",
                    .in_front = {std::to_string(*kernel[1] * conv.groups), std::to_string(*kernel[0])},
                    .numbers = numbers_of(conv.windows, conv.paddings),
                    .groups = std::to_string(conv.groups)};
  if (*form == Form::SameUpper) {
    layer.is_same = std::ranges::any_of(layer.numbers.kernel, [](Size k) { return k != 1; });
    layer.numbers.padding.clear();
  }
  return finish(c, std::move(layer));
}

Status write_conv_transpose(const ConvTranspose& conv, Call& c) {
  if (auto ok = check_layout(c, conv.axes, "a transposed convolution"); !ok) return ok;
  if (conv.kernel_order != KernelOrder::InOutSpace) return c.broken("a kernel in another framework's order");
  const Shape& kernel = c.type(1).shape;
  WindowLayer layer{.kind = "ConvTranspose",
                    .in_front = {std::to_string(*kernel[0]), std::to_string(*kernel[1] * conv.groups)},
                    .numbers = numbers_of(conv.windows),
                    .groups = std::to_string(conv.groups)};
  for (std::size_t i = 0; i < conv.paddings.size(); ++i) {
    const TransposedPadding& p = conv.paddings[i];
    const Size extra = p.before - p.after;
    if (p.spelling != CropSpelling::Explicit || p.before < 0 || extra < 0 ||
        extra >= std::max(conv.windows[i].stride, conv.windows[i].dilation))
      return c.broken(
          fmt::format("a transposed convolution that crops {} cells before and {} after", p.before, p.after));
    layer.numbers.padding.push_back(p.before);
    layer.output_padding.push_back(extra);
  }
  return finish(c, std::move(layer));
}

constexpr std::array convolution_table{writes<write_conv>(), writes<write_conv_transpose>()};
static_assert(decides<Convolution>(convolution_table), "every convolution needs one row: writes<> or lacks<>");

constexpr std::array rows_of_convolutions{
    CatalogueRow{"conv[123]d",
                 "default(input:T weight:T bias:T?= stride:I=1 padding:I=0 dilation:I=1 groups:i=1) "
                 "padding(input:T weight:T bias:T?= stride:I=1 padding:s='valid' dilation:I=1 groups:i=1)",
                 conv},
    CatalogueRow{"conv_transpose[123]d",
                 "[1]/default[23]/input(input:T weight:T bias:T?= stride:I=1 padding:I=0 output_padding:I=0 groups:i=1 "
                 "dilation:I=1)",
                 conv_transpose},
    CatalogueRow{
        "nn.Conv[123]d",
        "in_channels:i out_channels:i kernel_size:I stride:I=1 padding:I=0 dilation:I=1 groups:i=1 bias:b=True "
        "padding_mode:s='zeros' device:d= dtype:t=",
        conv_layer},
    CatalogueRow{"nn.ConvTranspose[123]d",
                 "in_channels:i out_channels:i kernel_size:I stride:I=1 padding:I=0 output_padding:I=0 groups:i=1 "
                 "bias:b=True dilation:I=1 padding_mode:s='zeros' device:d= dtype:t=",
                 conv_transpose_layer},
    CatalogueRow{"aten.convolution",
                 "input:T weight:T bias:T? stride:I padding:I dilation:I transposed:b output_padding:I groups:i",
                 convolution},
    CatalogueRow{
        "aten._convolution",
        "deprecated(input:T weight:T bias:T? stride:I padding:I dilation:I transposed:b output_padding:I groups:i "
        "benchmark:b deterministic:b cudnn_enabled:b) "
        "default(input:T weight:T bias:T? stride:I padding:I dilation:I transposed:b output_padding:I groups:i "
        "benchmark:b deterministic:b cudnn_enabled:b allow_tf32:b)",
        convolution},
    CatalogueRow{"aten._convolution_mode", "input:T weight:T bias:T? stride:I padding:s dilation:I groups:i",
                 convolution},
};

}  // namespace

std::span<const CatalogueRow> convolution_operators() { return rows_of_convolutions; }

std::span<const Row> convolution_rows() { return convolution_table; }

}  // namespace convoy::torch
