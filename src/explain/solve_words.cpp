#include "explain/solve_words.h"

#include "explain/line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace convoy::explain {
namespace {

Layer layer_with(const std::vector<Window>& windows, const std::vector<std::optional<Size>>& in) {
  Layer layer{.axes = {Order::ChannelsFirst, static_cast<Size>(windows.size())}, .windows = windows};
  for (const auto& size : in) layer.in.push_back(size ? Dim(*size) : Dim());
  layer.filters.name = "f";
  return layer;
}

std::string steps_text(const Line& line) { return fmt::format("{}", fmt::join(line.code, ", then ")); }

bool holds_always(const Line& line) { return line.holds == "every size"; }

// The first line that does it; at every size, where a size is open. Another one that is as short is a remark.
SolveLine line_for(Framework framework, const Layer& layer) {
  std::vector<Line> all = lines_in(framework, layer);
  std::erase_if(all, [](const Line& line) { return !line.equal; });
  const auto says = [&](const Line& line) { return !line.code.empty() && (layer.size_known() || holds_always(line)); };
  const auto first = std::ranges::find_if(all, says);
  const std::string name(name_of(framework));
  if (first == all.end()) {
    const auto why = std::ranges::find_if(all, [](const Line& line) { return line.code.empty(); });
    return {name, "no word: " + (why == all.end() ? "what it takes changes with the size" : why->remark), ""};
  }
  std::string remark = first->remark;
  for (auto other = std::next(first); other != all.end() && remark.empty(); ++other)
    if (other->code.size() == 1 && holds_always(*other)) remark = "or " + other->code.front();
  return {name, steps_text(*first), remark};
}

std::vector<SolveLine> lines_for(const Layer& layer) {
  constexpr std::array frameworks{Framework::Torch, Framework::Keras,  Framework::TensorFlow,
                                  Framework::Onnx,  Framework::Tflite, Framework::CoreMl};
  std::vector<SolveLine> lines;
  for (const Framework framework : frameworks) lines.push_back(line_for(framework, layer));
  return lines;
}

}  // namespace

std::vector<SolveLine> lines_of_pads(const std::vector<Window>& windows, const AddedCells& added) {
  Layer layer = layer_with(windows, added.in);
  for (std::size_t i = 0; i < windows.size(); ++i)
    layer.paddings.push_back(added.spelling == Spelling::Explicit
                                 ? Padding{Spelling::Explicit, added.cells[i].before, added.cells[i].after}
                                 : Padding{added.spelling});
  return lines_for(layer);
}

std::vector<SolveLine> lines_of_crops(const std::vector<Window>& windows, const std::vector<std::optional<Size>>& in,
                                      const std::vector<Crop>& crops) {
  Layer layer = layer_with(windows, in);
  layer.does = Does::Transpose;
  for (const Crop& crop : crops) layer.crops.push_back({CropSpelling::Explicit, crop.before, crop.after, {}});
  return lines_for(layer);
}

}  // namespace convoy::explain
