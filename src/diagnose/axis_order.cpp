#include "diagnose/axis_order.h"

#include "base/permute.h"
#include "diagnose/comparable.h"
#include "graph/stored.h"
#include "ops/axes.h"
#include "ops/expect.h"

#include <algorithm>
#include <numeric>

namespace convoy::diagnose {

namespace {

// Where an earlier layer already gives another shape, only the channels can tell whether they lie first or last.
Sizes order_by_channels(const Sizes& from, const Sizes& to) {
  const Size space = static_cast<Size>(from.size()) - 2;
  if (from.size() != to.size() || space < 1 || from[1] == to[1] || from.back() == to.back()) return {};
  if (from.back() == to[1]) return to_channels_first(space);
  if (from[1] == to.back()) return to_channels_last(space);
  return {};
}

// From the file's order of axes to that of the comparable form; nothing: the axes were split as well.
std::optional<Sizes> order_since_file(const Graph& graph, ValueId v) {
  const auto& origin = graph[v].origin;
  Sizes order(graph[v].type.shape.size());
  std::iota(order.begin(), order.end(), Size{0});
  if (!origin) return order;
  if (!origin->split.empty()) return std::nullopt;
  if (origin->permutation.empty()) return order;
  return origin->permutation.size() == order.size() ? std::optional(origin->permutation) : std::nullopt;
}

// Where an axis of the shape lies under another one that holds the same numbers in the same order. Nothing: its cells are not
// together there, or sizes behind it are not known.
std::optional<std::size_t> axis_under(const Shape& from, std::size_t axis, const Shape& to) {
  const auto behind = [](const Shape& shape, std::size_t at) { return product_of(std::span(shape).subspan(at + 1)); };
  const auto wanted = behind(from, axis);
  if (!wanted || !wanted->known() || !from[axis].known()) return std::nullopt;
  for (std::size_t i = to.size(); i-- > 0;) {
    const auto here = behind(to, i);
    if (here && *here == *wanted && to[i] == from[axis]) return i;
  }
  return std::nullopt;
}

}  // namespace

Sizes likely_order(const Sizes& from, const Sizes& to) {
  const auto found = permutations_between(from, to);
  if (found.empty()) return order_by_channels(from, to);
  const Size space = static_cast<Size>(from.size()) - 2;
  const Sizes& first = found.front();
  if (from.size() != to.size()) return first;
  const bool is_layout =
      is_identity(first) || space < 1 || first == to_channels_first(space) || first == to_channels_last(space);
  // Axes of length 1 count here: between them, rows and columns that changed places look like another layout.
  return is_layout && (is_identity(first) || in_order(from, first) == to) ? first : Sizes{};
}

bool alike_inputs(const Graph& a, const Graph& b) {
  for (std::size_t i = 0; i < std::min(a.inputs.size(), b.inputs.size()); ++i)
    if (order_since_file(a, a.inputs[i]) != order_since_file(b, b.inputs[i])) return false;
  return true;
}

std::optional<std::size_t> axis_behind(const Graph& graph, const Node& step, std::size_t axis) {
  if (step.inputs.size() != 1) return std::nullopt;
  const Shape &from = graph[step.inputs[0]].type.shape, &to = graph[step.outputs[0]].type.shape;
  if (const auto* turn = get_if<Transpose>(&step.op)) {
    const auto at = std::ranges::find(turn->permutation, static_cast<Size>(axis));
    return static_cast<std::size_t>(at - turn->permutation.begin());
  }
  return only_reshapes(step.op) ? axis_under(from, axis, to) : std::nullopt;
}

}  // namespace convoy::diagnose
