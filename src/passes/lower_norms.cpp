// Batch and group normalisation look along axis 1 in the target: transposes go around those that look elsewhere.
#include "passes/node_by_node.h"
#include "passes/rewrites.h"

#include <utility>

namespace convoy {

namespace {

template <class Norm>
Status second(const Graph& graph, NodeId id, Norm norm, Patch& patch) {
  const Node& node = graph[id];
  const Size rank = graph[node.inputs[0]].type.rank();
  const Size axis = positive_axis(norm.axis, rank);
  if (axis == 1 && norm.axis == 1) return {};
  std::vector<ValueId> inputs = node.inputs;
  norm.axis = 1;
  if (axis == 1) {
    auto made = patch.node(node, norm, std::move(inputs));
    if (!made) return pass(made);
    patch.replace(node.outputs[0], made->front());
  } else {
    Sizes swap;
    for (Size i = 0; i < rank; ++i) swap.push_back(i == 1 ? axis : i == axis ? 1 : i);
    auto x = patch.node(node, Transpose{swap}, {inputs[0]});
    if (!x) return pass(x);
    inputs[0] = x->front();
    auto made = patch.node(node, norm, std::move(inputs));
    if (made) made = patch.node(node, Transpose{swap}, {made->front()});
    if (!made) return pass(made);
    patch.replace(node.outputs[0], made->front());
    patch.remark(node, "normalises axis " + std::to_string(axis) + ": transposed so that it is axis 1, and back");
  }
  patch.remove(id);
  return {};
}

}  // namespace

Result<Patch> lower_norms(const Graph& graph, const Target&) {
  Patch patch(graph);
  return node_by_node<BatchNorm, GroupNorm>(graph, patch,
                                            [&](NodeId id, const auto& op) { return second(graph, id, op, patch); });
}

}  // namespace convoy
