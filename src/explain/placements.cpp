#include "explain/placements.h"

#include <fmt/format.h>

#include <algorithm>

namespace convoy::explain {
namespace {

constexpr Size longest_period = 64;  // remainders that a table may list

// The pad of an operator in front and the layer's own, seen from the input.
struct Seen {
  Size front = 0, behind = 0;
};
Seen seen(const Layer& layer, std::size_t axis) {
  if (!layer.front) return {};
  return {layer.front->before[axis], layer.front->after[axis]};
}

// The cell that a mode of padding repeats. Nothing: a constant, or one too far away.
std::optional<Size> repeated(PadMode mode, Size at, Size n) {
  if (mode == PadMode::Edge) return std::clamp<Size>(at, 0, n - 1);
  if (mode == PadMode::Wrap) at = (at % n + n) % n;
  if (mode == PadMode::Reflect) at = at < 0 ? -at : 2 * n - 2 - at;
  if (mode == PadMode::Symmetric) at = at < 0 ? -1 - at : 2 * n - 1 - at;
  if (mode == PadMode::Constant || at < 0 || at >= n) return std::nullopt;
  return at;
}

std::vector<Tap> taps(const Layer& layer, std::size_t axis, Placement at, Size window) {
  constexpr Size most = 64;
  const Window w = layer.windows[axis];
  const Size n = *layer.in[axis], front = seen(layer, axis).front;
  std::vector<Tap> all;
  for (Size j = 0; j < std::min(w.kernel, most); ++j) {
    const Size from = cell(at, w, window, j) - front;
    Tap tap{from, from < 0 || from >= n};
    if (tap.padding) tap.cell = repeated(layer.front ? layer.front->mode : PadMode::Constant, from, n);
    all.push_back(tap);
  }
  return all;
}

// floor((n + a) / s) + b, from three placements: the output grows by one where the remainder passes some value.
template <class Out>
std::string formula_of(Size stride, Size base, Out out) {
  const Size start = out(base), whole = base / stride;
  Size step = stride;  // the first remainder with one window more
  for (Size r = 1; r < stride; ++r)
    if (out(base + r) > start) {
      step = r;
      break;
    }
  const Size more = start - whole;
  if (stride == 1) return more == 0 ? "n" : fmt::format("n {} {}", more < 0 ? "-" : "+", more < 0 ? -more : more);
  const std::string behind = more == 0 ? "" : fmt::format(" {} {}", more < 0 ? "-" : "+", more < 0 ? -more : more);
  if (step == stride) return fmt::format("floor(n / {}){}", stride, behind);
  if (step == 1) return fmt::format("ceil(n / {}){}", stride, behind);
  return fmt::format("floor((n + {}) / {}){}", stride - step, stride, behind);
}

std::string remainders(const std::vector<Size>& all, Size stride) {
  if (stride == 2) return all[0] == 0 ? "even" : "odd";
  return fmt::format("n mod {} = {}", stride, fmt::join(all, ", "));
}

// Every remainder of a long size, those that are placed alike together.
void place_every(AxisFacts& facts, Padding p, Seen front) {
  const Window w = facts.window;
  const Size base = settled_size(0, w);
  std::vector<std::pair<Placed, std::vector<Size>>> groups;
  for (Size r = 0; r < w.stride; ++r) {
    const auto at = place(p, w, base + r + front.front + front.behind);
    if (!at) return;
    const Placed here{"", at->before + front.front, at->after + front.behind};
    auto found = std::ranges::find_if(groups, [&](const auto& g) { return g.first == here; });
    if (found == groups.end()) found = groups.insert(groups.end(), {here, {}});
    found->second.push_back(r);
  }
  for (auto& [placed, all] : groups) {
    if (groups.size() > 1) placed.when = remainders(all, w.stride);
    facts.placed.push_back(placed);
  }
  facts.formula = formula_of(w.stride, base, [&](Size n) {
    const auto at = place(p, w, n + front.front + front.behind);
    return at ? at->out : 0;
  });
}

Result<AxisFacts> windows_types(const Layer& layer, std::size_t axis) {
  AxisFacts facts{axis_name(axis, layer.space()), layer.in[axis], layer.windows[axis], {}, {}, {}, {}, {}, {}, 0, {}};
  const Padding p = layer.paddings[axis];
  const Seen front = seen(layer, axis);
  const Window w = facts.window;
  if (w.stride <= longest_period) place_every(facts, p, front);
  if (!facts.size.known()) return facts;
  const Size n = *facts.size + front.front + front.behind;
  const auto at = place(p, w, n);
  if (!at)
    return fail(Fault::Usage, fmt::format("no window fits: {} has {} cells, the window reaches over {}", facts.name,
                                          *facts.size, w.reach()));
  facts.placed = {{"", at->before + front.front, at->after + front.behind}};
  facts.out = at->out;
  facts.first = taps(layer, axis, *at, 0);
  facts.last = taps(layer, axis, *at, at->out - 1);
  facts.unread = std::max<Size>(0, at->after - std::max<Size>(0, read_past(*at, w, n)));
  if (layer.does == Does::Average && !layer.divisor) {
    const Counting counting = speaker(Framework::Torch, layer).counting();
    for (const Size o : {Size{0}, at->out / 2, at->out - 1}) facts.divisors.push_back(divisor(*at, w, n, o, counting));
  }
  return facts;
}

Result<AxisFacts> scatter_types(const Layer& layer, std::size_t axis) {
  AxisFacts facts{axis_name(axis, layer.space()), layer.in[axis], layer.windows[axis], {}, {}, {}, {}, {}, {}, 0, {}};
  const Window w = facts.window;
  const auto fixed = explicit_crops(layer.crops[axis], w);
  if (!fixed) return fail(Fault::Usage, fmt::format("nothing is left of {} behind the crop", facts.name));
  facts.placed = {{"", fixed->before, fixed->after}};
  const Size one = crop_by(fixed->before, fixed->after, w, 1).out;
  const Size each = crop_by(fixed->before, fixed->after, w, 2).out - one, more = one - each;
  facts.formula = w.stride == 1 ? "n" : fmt::format("{} * n", w.stride);
  if (more != 0) facts.formula += fmt::format(" {} {}", more < 0 ? "-" : "+", more < 0 ? -more : more);
  if (!facts.size.known()) return facts;
  const auto at = place(layer.crops[axis], w, *facts.size);
  if (!at)
    return fail(Fault::Usage,
                fmt::format("nothing is left of {}: the scatter of {} cells is {} long and {} are cut", facts.name,
                            *facts.size, full_length(w, *facts.size), fixed->before + fixed->after));
  facts.out = at->out;
  facts.scatter = full_length(w, *facts.size);
  return facts;
}

}  // namespace

Result<std::vector<AxisFacts>> facts_of(const Layer& layer) {
  std::vector<AxisFacts> all;
  for (std::size_t i = 0; i < layer.space(); ++i) {
    auto one = layer.does == Does::Transpose ? scatter_types(layer, i) : windows_types(layer, i);
    if (!one) return pass(one);
    all.push_back(std::move(*one));
  }
  return all;
}

}  // namespace convoy::explain
