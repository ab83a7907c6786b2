// convoy pad LAYER --svg FILE: the windows of a layer over its cells as a picture.
#include "base/atomic_output.h"
#include "cli/pad.h"
#include "explain/drawing.h"

#include <fmt/format.h>

#include <algorithm>

namespace convoy::cli {
namespace {

// One picture per axis whose size is known.
std::vector<explain::Drawing> drawings_of(const explain::Explanation& explanation) {
  const auto& layer = explanation.layer;
  std::vector<explain::Drawing> all;
  for (std::size_t i = 0; i < layer.windows.size(); ++i) {
    const auto in = i < layer.in.size() ? layer.sizes()[i] : std::nullopt;
    if (!in) continue;
    const std::string name = explain::axis_name(i, layer.windows.size());
    if (layer.does == explain::Does::Transpose) {
      if (const auto at = place(layer.crops[i], layer.windows[i], *in))
        all.push_back(explain::draw(name, layer.windows[i], *at, *in));
      continue;
    }
    // What a pad of its own puts in front is padding of the windows behind it.
    const auto front = layer.front ? Added{layer.front->before[i], layer.front->after[i]} : Added{};
    const auto at = place(layer.paddings[i], layer.windows[i], *in + front.before + front.after);
    if (at)
      all.push_back(explain::draw(name, layer.windows[i],
                                  Placement{at->before + front.before, at->out, at->after + front.after}, *in));
  }
  return all;
}

}  // namespace

Status draw_layers(const std::vector<explain::Explanation>& layers, OutputSet& output) {
  std::vector<explain::Drawing> all;
  for (const auto& layer : layers)
    for (auto& drawing : drawings_of(layer)) {
      if (layers.size() > 1 && !layer.name.empty()) drawing.headline = layer.name + "   " + drawing.headline;
      all.push_back(std::move(drawing));
    }
  if (all.empty())
    return fail(Fault::Usage, "--svg draws layers of a known size; say which with --size, such as --size 100x20");
  std::string title = layers.front().function;
  for (const auto& [word, value] : layers.front().words) title += fmt::format("   {}={}", word, value);
  if (layers.size() > 1) title = fmt::format("{} layers with windows", layers.size());
  const std::string svg = explain::svg_of(title, all);
  if (auto s = output.append(0, bytes_of(svg)); !s) return s;
  return output.commit();
}

}  // namespace convoy::cli
