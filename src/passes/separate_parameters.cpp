// Normalisation whose scale and shift the model computes, in targets whose layers hold them as weights: the layer normalises
// alone, and they are multiplied and added behind it.
#include "passes/node_by_node.h"
#include "passes/rewrites.h"

#include <algorithm>

namespace convoy {

namespace {

bool computes_parameters(const Graph& graph, const Node& node) {
  return std::ranges::any_of(node.inputs.begin() + 1, node.inputs.end(),
                             [&](ValueId v) { return v && !graph[v].constant; });
}

// The axes of x from the first normalised one on that its parameters do not have.
Sizes axes_between(const Sizes& axes, Size rank) {
  Sizes missing;
  for (Size axis = axes.front(); axis < rank; ++axis)
    if (std::ranges::find(axes, axis) == axes.end()) missing.push_back(axis - axes.front());
  return missing;
}

Sizes axes_of(const GroupNorm& norm, Size rank) { return {positive_axis(norm.axis, rank)}; }
Sizes axes_of(const LayerNorm& norm, Size) { return norm.axes; }
Sizes axes_of(const RmsNorm& norm, Size) { return norm.axes; }

// `parameter`, so that it broadcasts against x; those that came with all axes of their own do already.
Result<ValueId> broadcast(const Node& node, ValueId parameter, const Sizes& axes, Size rank, Patch& patch) {
  const Sizes missing = axes_between(axes, rank);
  if (missing.empty() || patch.type(parameter).rank() != std::ssize(axes)) return parameter;
  return patch.one(node, Unsqueeze{missing}, {parameter});
}

template <class Norm>
Status separate(const Graph& graph, NodeId id, const Norm& norm, Patch& patch) {
  const Node& node = graph[id];
  if (!computes_parameters(graph, node)) return {};
  const Size rank = graph[node.inputs[0]].type.rank();
  const Sizes axes = axes_of(norm, rank);
  if (axes.empty()) return {};
  auto y = patch.one(node, norm, {node.inputs[0]});
  for (std::size_t i = 1; y && i < node.inputs.size(); ++i) {
    if (!node.inputs[i]) continue;
    auto parameter = broadcast(node, node.inputs[i], axes, rank, patch);
    if (!parameter) return pass(parameter);
    y = patch.one(node, Binary{i == 1 ? BinaryFunction::Multiply : BinaryFunction::Add}, {*y, *parameter});
  }
  patch.remark(node, "has a scale or shift that the model computes: it stands behind the layer");
  return patch.become(id, std::move(y));
}

}  // namespace

Result<Patch> separate_parameters(const Graph& graph, const Target&) {
  Patch patch(graph);
  return node_by_node<GroupNorm, LayerNorm, RmsNorm>(
      graph, patch, [&](NodeId id, const auto& op) { return separate(graph, id, op, patch); });
}

}  // namespace convoy
