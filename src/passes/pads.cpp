#include "passes/pads.h"

#include <algorithm>
#include <functional>

namespace convoy {

SpatialSizes spatial_sizes(const Shape& shape, Axes axes) {
  SpatialSizes sizes;
  for (Size i = 0; i < axes.space; ++i) sizes.push_back(shape[static_cast<std::size_t>(axes.spatial(i))].size());
  return sizes;
}

Result<ValueId> padded(Patch& patch, const Node& like, ValueId x, Axes axes, const std::vector<Window>& windows,
                       const std::vector<Padding>& paddings, double value) {
  const Shape& shape = patch.type(x).shape;
  Pad pad{.before = Sizes(shape.size()), .after = Sizes(shape.size()), .mode = PadMode::Constant, .value = value};
  PadToWindow computed{.axes = {}, .windows = windows, .paddings = paddings, .value = value};
  bool fixed = true;
  for (Size i = 0; i < axes.space; ++i) {
    const auto axis = static_cast<std::size_t>(axes.spatial(i));
    const auto at = static_cast<std::size_t>(i);
    computed.axes.push_back(axes.spatial(i));
    if (const auto cells = pads_in_front(paddings[at], windows[at], shape[axis].size())) {
      pad.before[axis] = cells->before;
      pad.after[axis] = cells->after;
    } else {
      fixed = false;
    }
  }
  auto made = fixed ? patch.node(like, std::move(pad), {x}) : patch.node(like, std::move(computed), {x});
  if (!made) return pass(made);
  return made->front();
}

std::optional<Tensor> count_correction(const AveragePool& pool, const SpatialSizes& sizes, Counting counting) {
  constexpr Size most = Size{1} << 24;  // factors; above it they are computed when the model runs
  Sizes shape(static_cast<std::size_t>(pool.axes.rank()), 1);
  std::vector<float> map{1.0F};
  for (std::size_t i = 0; i < pool.windows.size(); ++i) {
    const Window w = pool.windows[i];
    const auto in = sizes[i];
    const auto at = in ? place(pool.paddings[i], w, *in) : std::nullopt;
    if (!at || at->out > most / static_cast<Size>(map.size())) return std::nullopt;
    std::vector<float> wider;
    for (const float outer : map)
      for (Size o = 0; o < at->out; ++o) {
        const auto factor = whole_to_counted(*at, w, *in, o, counting);
        if (!factor) return std::nullopt;
        wider.push_back(static_cast<float>(outer * *factor));
      }
    map = std::move(wider);
    shape[static_cast<std::size_t>(pool.axes.spatial(static_cast<Size>(i)))] = at->out;
  }
  return Tensor::of(shape, std::move(map));
}

namespace {

std::string words(const Padding& padding) {
  switch (padding.spelling) {
    case Spelling::Valid: return "valid";
    case Spelling::Causal: return "causal";
    case Spelling::SameUpper: return "same";
    case Spelling::SameLower: return "same (lower)";
    case Spelling::Explicit: break;
  }
  std::string text = "(" + std::to_string(padding.before) + ", " + std::to_string(padding.after) + ")";
  if (padding.leftover != Leftover::Drop) text += " with ceil_mode";
  return text;
}

}  // namespace

std::string words(const std::vector<Padding>& paddings) {
  const bool alike = std::ranges::adjacent_find(paddings, std::not_equal_to{}) == paddings.end();
  std::string text;
  for (std::size_t i = 0; i < (alike ? std::min<std::size_t>(paddings.size(), 1) : paddings.size()); ++i)
    text += (i ? " and " : "") + words(paddings[i]);
  return text;
}

std::string words(const std::vector<Window>& windows, const std::vector<Padding>& paddings, Axes axes,
                  const Shape& shape) {
  std::string text;
  for (Size i = 0; i < axes.space; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const auto size = shape[static_cast<std::size_t>(axes.spatial(i))].size();
    const auto cells = pads_in_front(paddings[at], windows[at], size);
    if (!cells) return "a pad computed from the input's size";
    if (i > 0) text += i + 1 == axes.space ? " and " : ", ";
    text += "(" + std::to_string(cells->before) + ", " + std::to_string(cells->after) + ")";
  }
  return "a pad of " + text;
}

}  // namespace convoy
