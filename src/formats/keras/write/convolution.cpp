// Convolutions, depthwise ones and transposes, channels last.
#include "formats/keras/write/sink.h"
#include "ops/vocabulary.h"

#include <algorithm>
#include <array>

namespace convoy::keras::writing {
namespace {

Status check_axes(const Sink& sink, Axes axes, const char* what) {
  if (axes.space < 1 || axes.space > 3)
    return sink.refused(std::string(what) + " over " + std::to_string(axes.space) + " spatial axes");
  if (axes.order != Order::ChannelsLast) return sink.broken(std::string(what) + " with channels first");
  if (!sink.constant(1)) return sink.refused("a kernel that the model computes");
  return {};
}

// kernel_size, strides and dilation_rate, as far as they are not 1.
void say_windows(LayerConfig& config, const std::vector<Window>& windows) {
  Sizes kernel, strides, dilations;
  for (const Window& w : windows) {
    kernel.push_back(w.kernel);
    strides.push_back(w.stride);
    dilations.push_back(w.dilation);
  }
  config.arguments["kernel_size"] = one_or_all(kernel);
  if (std::ranges::any_of(strides, [](Size n) { return n != 1; })) config.arguments["strides"] = one_or_all(strides);
  if (std::ranges::any_of(dilations, [](Size n) { return n != 1; }))
    config.arguments["dilation_rate"] = one_or_all(dilations);
}

Status say_weights(LayerConfig& config, Sink& sink) {
  if (!sink.has(2)) config.arguments["use_bias"] = false;
  if (auto ok = sink.weigh(config, 1, "kernel"); !ok) return ok;
  return sink.has(2) ? sink.weigh(config, 2, "bias") : Status();
}

Status write_conv(const Conv& conv, Sink& sink) {
  if (auto ok = check_axes(sink, conv.axes, "a convolution"); !ok) return ok;
  const Sizes& kernel = sink.constant(1)->shape();
  const bool depthwise = conv.kernel_order == KernelOrder::SpaceInMultiplier;
  if (!depthwise && conv.kernel_order != KernelOrder::SpaceInOut)
    return sink.broken("a kernel in another framework's order");
  if (depthwise && conv.axes.space > 2) return sink.refused("a depthwise convolution over three axes");
  LayerConfig config = sink.layer(class_of(depthwise ? "DepthwiseConv" : "Conv", conv.axes.space));
  if (!depthwise) config.arguments["filters"] = kernel.back();
  say_windows(config, conv.windows);
  const auto form = form_of({Framework::Keras, depthwise ? Windowed::Depthwise : Windowed::Convolutions}, conv.paddings,
                            conv.windows);
  if (form == Form::SameUpper) config.arguments["padding"] = "same";
  else if (form == Form::Causal) config.arguments["padding"] = "causal";
  else if (form != Form::Valid) return sink.broken("a padding");
  if (depthwise && kernel.back() != 1) config.arguments["depth_multiplier"] = kernel.back();
  if (!depthwise && conv.groups != 1) config.arguments["groups"] = conv.groups;
  if (auto ok = say_weights(config, sink); !ok) return ok;
  return sink.last(std::move(config));
}

Status write_transposed(const ConvTranspose& conv, Sink& sink) {
  if (auto ok = check_axes(sink, conv.axes, "a transposed convolution"); !ok) return ok;
  if (conv.kernel_order != KernelOrder::SpaceOutIn) return sink.broken("a kernel in another framework's order");
  if (conv.groups != 1) return sink.refused("a transposed convolution in groups");
  const CropSpelling spelling = conv.paddings.front().spelling;
  const bool given = conv.paddings.front().output_padding.has_value();
  Sizes extra;
  for (const TransposedPadding& p : conv.paddings) {
    if (p.spelling != spelling || p.output_padding.has_value() != given || spelling == CropSpelling::Explicit)
      return sink.broken("crops of a transposed convolution");
    extra.push_back(p.output_padding.value_or(0));
  }
  LayerConfig config = sink.layer(class_of("Conv", conv.axes.space, "Transpose"));
  config.arguments["filters"] = sink.constant(1)->shape()[static_cast<std::size_t>(conv.axes.space)];
  say_windows(config, conv.windows);
  if (spelling == CropSpelling::KerasSame) config.arguments["padding"] = "same";
  if (given) config.arguments["output_padding"] = one_or_all(extra);
  if (auto ok = say_weights(config, sink); !ok) return ok;
  return sink.last(std::move(config));
}

constexpr std::array convolution_table{writes<write_conv>(), writes<write_transposed>()};
static_assert(decides<Convolution>(convolution_table));

}  // namespace

std::span<const Row> convolution_rows() { return convolution_table; }

}  // namespace convoy::keras::writing
