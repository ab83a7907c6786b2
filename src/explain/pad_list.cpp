// What a list of cells does to one axis.
#include "explain/pad_list.h"

#include "graph/graph.h"
#include "run/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace convoy::explain {
namespace {

std::string_view mode_name(PadMode mode) {
  switch (mode) {
    case PadMode::Constant: return "a constant";
    case PadMode::Reflect: return "reflect";
    case PadMode::Symmetric: return "symmetric";
    case PadMode::Edge: return "edge";
    case PadMode::Wrap: return "wrap";
  }
  return "";
}

// The most cells that a mode can take from an axis of n on one side.
std::optional<Size> most_of(PadMode mode, Size n) {
  if (mode == PadMode::Reflect) return n - 1;
  if (mode == PadMode::Symmetric || mode == PadMode::Wrap) return n;
  return std::nullopt;
}

// The kernel's answer for one axis, every cell marked by its number.
Result<std::vector<Size>> padded(std::vector<Size> cells, Added add, PadMode mode) {
  if (add.before == 0 && add.after == 0) return cells;
  const Pad op{{add.before}, {add.after}, mode, -1};
  const Tensor x = Tensor::of({static_cast<Size>(cells.size())}, std::vector<float>(cells.begin(), cells.end()));
  Graph graph;
  const ValueId in = graph.input("x", type_of(x));
  auto out = graph.add(op, {in}, "pad", "pad");
  if (!out) return pass(out);
  graph.outputs = *out;
  graph.output_names = {"y"};
  auto values = run(graph, {x});
  if (!values) return pass(values);
  std::vector<Size> all;
  for (const float v : values->at(out->front()).floats()) all.push_back(static_cast<Size>(v));
  return all;
}

}  // namespace

Result<std::vector<Size>> cells_of(const PadList& list, std::size_t axis, Size size) {
  const Added count = list.cells[axis];
  const Added add{std::max<Size>(count.before, 0), std::max<Size>(count.after, 0)};
  const Added cut{std::max<Size>(-count.before, 0), std::max<Size>(-count.after, 0)};
  const std::string place = fmt::format("axis {}", list.axes[axis]);
  if (cut.before + cut.after >= size && (!list.cuts_last || cut.before + cut.after >= size + add.before + add.after))
    return within(place, Result<std::vector<Size>>(fail(Fault::Usage, fmt::format("{} cells are cut and there are {}",
                                                                                  cut.before + cut.after, size))));
  if (size + add.before + add.after > (Size{1} << 20)) return std::vector<Size>{};  // nobody draws that
  const Size seen = list.cuts_last ? size : size - cut.before - cut.after;
  if (const auto most = most_of(list.mode, seen); most && std::max(add.before, add.after) > *most)
    return within(
        place, Result<std::vector<Size>>(fail(
                   Fault::Unsupported, fmt::format("{} of {} cells can add {} on a side, not {}", mode_name(list.mode),
                                                   seen, *most, std::max(add.before, add.after)))));
  std::vector<Size> cells(static_cast<std::size_t>(size));
  std::iota(cells.begin(), cells.end(), 0);
  const auto drop = [&](std::vector<Size>& from) {
    from.erase(from.end() - cut.after, from.end());
    from.erase(from.begin(), from.begin() + cut.before);
  };
  if (!list.cuts_last) drop(cells);
  auto all = padded(std::move(cells), add, list.mode);
  if (all && list.cuts_last) drop(*all);
  return all;
}

std::vector<std::string> limits_of(const PadList& list) {
  std::vector<std::string> limits;
  for (std::size_t i = 0; i < list.axes.size(); ++i) {
    const Added a = list.cells[i];
    const Size most = std::max(a.before, a.after),
               cut = list.cuts_last ? 0 : std::max<Size>(-std::min(a.before, a.after), 0);
    const auto spare = most_of(list.mode, 0);
    if (most <= 0 || !spare || list.size[i]) continue;
    const Size least = most - *spare + cut;
    limits.push_back(fmt::format("{} needs at least {} cell{} along {}", mode_name(list.mode), least,
                                 least == 1 ? "" : "s", list.axes[i]));
  }
  return limits;
}

}  // namespace convoy::explain
