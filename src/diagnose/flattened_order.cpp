#include "diagnose/flattened_order.h"

#include "diagnose/axis_order.h"
#include "diagnose/family.h"
#include "ops/axes.h"
#include "ops/expect.h"

#include <algorithm>
#include <numeric>

namespace convoy::diagnose {

namespace {

constexpr int longest_way_back = 1000;

// The input that an operator gives on cell by cell, its axes where they were.
ValueId input_of_same_axes(const Graph& graph, const Node& node) {
  const bool keeps = traits_of(node.op).axes == AxisUse::Elementwise || family_of(node.op) == Family::Norm ||
                     holds_alternative<Binary>(node.op) || holds_alternative<PRelu>(node.op) ||
                     holds_alternative<Dropout>(node.op) || holds_alternative<Identity>(node.op);
  if (!keeps) return {};
  for (const ValueId v : node.inputs)
    if (v && !graph[v].constant && graph[v].type.shape == graph[node.outputs[0]].type.shape) return v;
  return {};
}

bool has_own_order(const Op& op) {
  const Family family = family_of(op);
  return family == Family::Convolution || family == Family::Transposed || family == Family::Resize ||
         family == Family::Shuffle || traits_of(op).kind == LayerKind::Pooling;
}

bool flattens(const Graph& graph, const Node& node) {
  if (!holds_alternative<Flatten>(node.op) && !holds_alternative<Reshape>(node.op)) return false;
  const Shape &from = graph[node.inputs[0]].type.shape, &to = graph[node.outputs[0]].type.shape;
  return to.size() == 2 && from.size() > 2 && from[0] == to[0];
}

}  // namespace

std::optional<FlattenedInput> flattened_input(const Graph& graph, const Node& layer) {
  ValueId v = layer.inputs[0];
  int steps = 0;
  while (v && graph[v].producer && !flattens(graph, graph[graph[v].producer]) && ++steps < longest_way_back)
    v = input_of_same_axes(graph, graph[graph[v].producer]);
  if (!v || !graph[v].producer || steps >= longest_way_back) return std::nullopt;
  v = graph[graph[v].producer].inputs[0];
  const auto shape = sizes_of(graph[v].type.shape);
  if (!shape) return std::nullopt;
  Sizes order(shape->size());
  std::iota(order.begin(), order.end(), Size{0});
  while (graph[v].producer && !has_own_order(graph[graph[v].producer].op)) {
    const Node& node = graph[graph[v].producer];
    const auto* turn = get_if<Transpose>(&node.op);
    if (turn)
      for (Size& axis : order) axis = turn->permutation[static_cast<std::size_t>(axis)];
    v = turn ? node.inputs[0] : input_of_same_axes(graph, node);
    if (!v || ++steps >= longest_way_back) return std::nullopt;
  }
  return FlattenedInput{*shape, std::move(order)};
}

std::optional<Sizes> order_between(const FlattenedInput& a, const FlattenedInput& b) {
  if (a.order.size() != b.order.size() || a.order[0] != 0 || b.order[0] != 0) return std::nullopt;
  Sizes order = compose(inverse(a.order), b.order);
  for (std::size_t i = 0; i < order.size(); ++i)
    if (a.shape[static_cast<std::size_t>(order[i])] != b.shape[i]) return std::nullopt;
  return order;
}

}  // namespace convoy::diagnose
