#include "explain/picture.h"

#include "explain/drawing.h"

#include <fmt/format.h>

namespace convoy::explain {
namespace {

// One picture per axis whose size is known.
std::vector<Drawing> drawings_of(const Explanation& explanation) {
  const auto& layer = explanation.layer;
  std::vector<Drawing> all;
  for (std::size_t i = 0; i < layer.windows.size(); ++i) {
    const auto in = i < layer.in.size() ? layer.sizes()[i] : std::nullopt;
    if (!in) continue;
    const std::string name = axis_name(i, layer.windows.size());
    if (layer.does == Does::Transpose) {
      if (const auto at = place(layer.crops[i], layer.windows[i], *in))
        all.push_back(draw(name, layer.windows[i], *at, *in));
      continue;
    }
    // What a pad of its own puts in front is padding of the windows behind it.
    const auto front = layer.front ? Added{layer.front->before[i], layer.front->after[i]} : Added{};
    const auto at = place(layer.paddings[i], layer.windows[i], *in + front.before + front.after);
    if (at)
      all.push_back(
          draw(name, layer.windows[i], Placement{at->before + front.before, at->out, at->after + front.after}, *in));
  }
  return all;
}

}  // namespace

std::optional<std::string> picture_of(const std::vector<Explanation>& layers) {
  std::vector<Drawing> all;
  for (const auto& layer : layers)
    for (auto& drawing : drawings_of(layer)) {
      if (layers.size() > 1 && !layer.name.empty()) drawing.headline = layer.name + "   " + drawing.headline;
      all.push_back(std::move(drawing));
    }
  if (all.empty()) return std::nullopt;
  std::string title = layers.front().function;
  for (const auto& [word, value] : layers.front().words) title += fmt::format("   {}={}", word, value);
  if (layers.size() > 1) title = fmt::format("{} layers with windows", layers.size());
  return svg_of(title, all);
}

}  // namespace convoy::explain
