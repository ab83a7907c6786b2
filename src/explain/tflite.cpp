// A layer as TFLite's operators: SAME or VALID and nothing else, PAD in front and STRIDED_SLICE behind.
#include "explain/line.h"

#include <fmt/format.h>

#include <algorithm>

namespace convoy::explain {
namespace {

Line tflite_line(std::vector<std::string> code, std::string holds, std::string remark = {}) {
  return {Framework::Tflite, std::move(code), std::move(holds), true, std::move(remark)};
}
Line tflite_none(std::string why) { return {Framework::Tflite, {}, {}, true, std::move(why)}; }

std::string per_axis(const Layer& layer, std::string_view before, std::string_view after, const Sizes& numbers) {
  static constexpr std::string_view letters[] = {"d", "h", "w"};
  std::string all;
  for (std::size_t i = 0; i < layer.space(); ++i)
    all += fmt::format(", {}{}{}={}", before, letters[i + 3 - layer.space()], after, numbers[i]);
  return all;
}

std::string operation(const Layer& layer, std::string_view padding) {
  const bool deep = layer.space() == 3;
  std::string name = layer.depthwise ? "DEPTHWISE_CONV_2D" : deep ? "CONV_3D" : "CONV_2D";
  if (layer.does == Does::Transpose) name = deep ? "CONV_3D_TRANSPOSE" : "TRANSPOSE_CONV";
  if (layer.does == Does::Maximum) name = "MAX_POOL_2D";
  if (layer.does == Does::Average) name = "AVERAGE_POOL_2D";
  std::string text = fmt::format("{}(padding={}", name, padding);
  if (!all_are(strides(layer), 1) || layer.pools()) text += per_axis(layer, "stride_", "", strides(layer));
  if (layer.pools()) {
    static constexpr std::string_view words[] = {"filter_height", "filter_width"};
    for (std::size_t i = 0; i < layer.space() && i < 2; ++i)
      text += fmt::format(", {}={}", words[i + 2 - layer.space()], layer.windows[i].kernel);
  }
  if (!all_are(dilations(layer), 1)) text += per_axis(layer, "dilation_", "_factor", dilations(layer));
  return text + ")";
}

std::string between(const Layer& layer) {
  return layer.space() == 1 ? "in 2-D: EXPAND_DIMS in front, SQUEEZE behind" : "";
}

std::vector<Line> tflite_windows(const Layer& layer) {
  if (layer.does == Does::PowerNorm) return {tflite_none("TFLite has no pool of powers but L2_POOL_2D")};
  if (layer.pools() && (!all_are(dilations(layer), 1) || layer.space() == 3))
    return {tflite_none(layer.space() == 3 ? "TFLite has no pool in 3-D" : "TFLite's pools have no dilation")};
  if (layer.divisor)
    return {tflite_none("AVERAGE_POOL_2D has no divisor of its own: PAD, AVERAGE_POOL_2D(VALID), MUL")};
  if (layer.depthwise && layer.space() == 3) return {tflite_none("TFLite has no depthwise convolution in 3-D")};
  if (const auto said = direct(Framework::Tflite, layer); said && !layer.front)
    return {tflite_line({operation(layer, said->form == Form::SameUpper ? "SAME" : "VALID")}, said->validity.words,
                        between(layer))};
  if (layer.front) {
    const FrontPad& front = *layer.front;
    const std::string pads = pairs_of_all_axes(Order::ChannelsLast, front.before, front.after);
    if (front.mode == PadMode::Edge || front.mode == PadMode::Wrap)
      return {tflite_none("no such mode of padding: SLICE the borders, CONCATENATION, then VALID")};
    return {tflite_line(
        {(front.mode == PadMode::Constant  ? front.value == 0 ? "PAD(" : "PADV2("
          : front.mode == PadMode::Reflect ? "MIRROR_PAD(REFLECT, "
                                           : "MIRROR_PAD(SYMMETRIC, ") +
             pads + (front.mode == PadMode::Constant && front.value != 0 ? fmt::format(", {})", front.value) : ")"),
         operation(layer, "VALID")},
        "every size", between(layer))};
  }
  const auto cells = in_front(layer);
  if (!cells) return {tflite_none("the pads change with the size; give --size")};
  if (layer.does == Does::Average && !(layer.counts_padding && cells->validity.here))
    return {tflite_none("divide AVERAGE_POOL_2D of the padded input by that of padded ones")};
  const std::string pads = pairs_of_all_axes(Order::ChannelsLast, cells->before, cells->after);
  std::vector<std::string> code;
  if (!cells->none())
    code.push_back(layer.does == Does::Maximum ? fmt::format("PADV2({}, -inf)", pads) : fmt::format("PAD({})", pads));
  code.push_back(operation(layer, "VALID"));
  return {tflite_line(std::move(code), cells->validity.words, between(layer))};
}

std::vector<Line> tflite_transposed(const Layer& layer) {
  if (layer.groups > 1) return {tflite_none("TRANSPOSE_CONV has no groups: SPLIT, one each, CONCATENATION")};
  if (!all_are(dilations(layer), 1))
    return {tflite_none("TRANSPOSE_CONV has no dilation: spread the kernel with zeros")};
  const auto crops = cuts_of(layer);
  if (!crops) return {};
  const std::string remark = between(layer);
  if (const auto said = transposed_arguments(Framework::Tflite, layer.crops, layer.windows, layer.sizes()))
    return {tflite_line({operation(layer, said->form == CropForm::Same ? "SAME" : "VALID")}, "every size", remark)};
  std::string slice;
  Sizes before, after;
  for (std::size_t i = 0; i < layer.space(); ++i) {
    const Size b = crops->before[i], a = crops->after[i];
    slice += fmt::format("{}{}:{}", i == 0 ? "" : ", ", b > 0 ? std::to_string(b) : "",
                         a > 0 ? "-" + std::to_string(a) : "");
    before.push_back(std::max<Size>(-b, 0));
    after.push_back(std::max<Size>(-a, 0));
  }
  std::vector<std::string> code{operation(layer, "VALID"), "STRIDED_SLICE " + slice};
  if (!all_are(before, 0) || !all_are(after, 0))
    code.push_back("PAD(" + pairs_of_all_axes(Order::ChannelsLast, before, after) + ")");
  return {tflite_line(std::move(code), "every size", remark)};
}

}  // namespace

std::vector<Line> lines_in_tflite(const Layer& layer) {
  return layer.does == Does::Transpose ? tflite_transposed(layer) : tflite_windows(layer);
}

}  // namespace convoy::explain
