// A layer as Core ML's operators, with pads written out: its `same` is documented in two ways.
#include "explain/line.h"

#include <fmt/format.h>

#include <algorithm>

namespace convoy::explain {
namespace {

Line coreml_line(std::vector<std::string> code, std::string holds, std::string remark = {}) {
  return {Framework::CoreMl, std::move(code), std::move(holds), true, std::move(remark)};
}
Line coreml_none(std::string why) { return {Framework::CoreMl, {}, {}, true, std::move(why)}; }

// pad_type and pad, whose numbers go axis by axis: before, after, before, after.
std::vector<std::string> pads(const Sizes& before, const Sizes& after) {
  if (all_are(before, 0) && all_are(after, 0)) return {"pad_type=\"valid\""};
  Sizes all;
  for (std::size_t i = 0; i < before.size(); ++i) all.insert(all.end(), {before[i], after[i]});
  return {"pad_type=\"custom\"", "pad=" + list(all)};
}

std::string operation(const Layer& layer, const std::vector<std::string>& padding, bool ceils = false) {
  std::vector<std::string> arguments;
  if (layer.pools()) arguments.push_back("kernel_sizes=" + list(kernels(layer)));
  if (!all_are(strides(layer), 1) || layer.pools()) arguments.push_back("strides=" + list(strides(layer)));
  arguments.insert(arguments.end(), padding.begin(), padding.end());
  if (!all_are(dilations(layer), 1)) arguments.push_back("dilations=" + list(dilations(layer)));
  if (layer.depthwise) arguments.push_back("groups=" + layer.channels.text());
  else if (layer.groups > 1) arguments.push_back(fmt::format("groups={}", layer.groups));
  if (layer.does == Does::Average && !layer.counts_padding) arguments.emplace_back("exclude_padding_from_average=True");
  if (ceils) arguments.emplace_back("ceil_mode=True");
  switch (layer.does) {
    case Does::Convolve: return call("conv", arguments);
    case Does::Transpose: return call("conv_transpose", arguments);
    case Does::Maximum: return call("max_pool", arguments);
    case Does::Average: return call("avg_pool", arguments);
    case Does::PowerNorm: return call("l2_pool", arguments);
  }
  return {};
}

std::vector<Line> coreml_windows(const Layer& layer) {
  if (layer.pools() && !all_are(dilations(layer), 1)) return {coreml_none("Core ML's pools have no dilation")};
  if (layer.does == Does::PowerNorm && layer.power != 2)
    return {coreml_none("Core ML has no pool of powers but l2_pool")};
  if (layer.divisor) return {coreml_none("avg_pool has no divisor of its own: pad, avg_pool(valid), mul")};
  if (layer.front) {
    const FrontPad& front = *layer.front;
    if (front.mode == PadMode::Wrap || front.mode == PadMode::Symmetric)
      return {coreml_none("no such mode of padding: concatenate the borders in front of the operator")};
    Sizes all;
    for (std::size_t i = 0; i < front.before.size(); ++i) all.insert(all.end(), {front.before[i], front.after[i]});
    const char* mode = front.mode == PadMode::Reflect ? "reflect"
                       : front.mode == PadMode::Edge  ? "replicate"
                                                      : "constant";
    return {coreml_line(
        {fmt::format("pad(pad={}, mode=\"{}\")", list(all), mode), operation(layer, {"pad_type=\"valid\""})},
        "every size")};
  }
  const auto said = direct(Framework::CoreMl, layer);
  if (said) {
    Sizes before, after;
    for (const Padding& p : said->paddings) {
      before.push_back(p.spelling == Spelling::Explicit ? p.before : 0);
      after.push_back(p.spelling == Spelling::Explicit ? p.after : 0);
    }
    const bool ceils = said->form == Form::RoundedUp;
    return {coreml_line({operation(layer, pads(before, after), ceils)}, said->validity.words)};
  }
  const auto cells = in_front(layer);
  if (!cells) return {coreml_none("the pads change with the size; give --size")};
  if (layer.does == Does::Average) return {coreml_none("divide avg_pool of the padded input by that of padded ones")};
  return {coreml_line({operation(layer, pads(cells->before, cells->after))}, cells->validity.words)};
}

std::vector<Line> coreml_transposed(const Layer& layer) {
  const auto crops = cuts_of(layer);
  if (!crops) return {};
  Sizes cut_before, cut_after, more;
  for (std::size_t i = 0; i < layer.space(); ++i) {
    cut_before.push_back(std::max<Size>(crops->before[i], 0));
    cut_after.push_back(std::max<Size>(crops->after[i], 0));
    more.insert(more.end(), {std::max<Size>(-crops->before[i], 0), std::max<Size>(-crops->after[i], 0)});
  }
  std::vector<std::string> code{operation(layer, pads(cut_before, cut_after))};
  const bool extends = !all_are(more, 0);
  if (extends) code.push_back(fmt::format("pad(pad={})", list(more)));
  return {
      coreml_line(std::move(code), "every size", extends && layer.biased ? "the bias is added behind the pad" : "")};
}

}  // namespace

std::vector<Line> lines_in_coreml(const Layer& layer) {
  return layer.does == Does::Transpose ? coreml_transposed(layer) : coreml_windows(layer);
}

}  // namespace convoy::explain
