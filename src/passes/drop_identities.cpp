// Takes out nodes that leave every number as it is, and operands without a number from what is laid side by side: runtimes take an
// empty slice for a whole axis, or lack a form for it. Dropout and what stops a gradient stay where a port is trained on; random
// augmentation has no port and goes, with a remark.
#include "ops/expect.h"
#include "passes/rewrites.h"

namespace convoy {

namespace {

// Fails: as inference does.
Status drop_empty(const Graph& graph, NodeId id, Patch& patch) {
  const Node& node = graph[id];
  const auto* concat = get_if<Concat>(&node.op);
  if (!concat) return {};
  std::vector<ValueId> full;
  for (const ValueId v : node.inputs)
    if (at(graph[v].type.shape, concat->axis) != Dim(0)) full.push_back(v);
  if (full.empty() || full.size() == node.inputs.size()) return {};
  if (full.size() > 1) return patch.become(id, patch.one(node, *concat, std::move(full)));
  patch.remove(id);
  patch.replace(node.outputs[0], full.front());
  return {};
}

bool is_trained_on(const Target& target) {
  return target.framework == Framework::Torch || (target.framework == Framework::Keras && !target.lite);
}

}  // namespace

Result<Patch> drop_identities(const Graph& graph, const Target& target) {
  Patch patch(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (auto s = drop_empty(graph, {static_cast<std::int32_t>(i)}, patch); !s) return pass(s);
    const auto* dropout = get_if<Dropout>(&node.op);
    const bool augmentation = dropout && dropout->noise == Noise::Augmentation;
    const auto* identity = get_if<Identity>(&node.op);
    if (!identity && !augmentation) continue;
    if (identity && identity->stops_gradient && is_trained_on(target)) continue;
    patch.remove({static_cast<std::int32_t>(i)});
    patch.replace(node.outputs[0], node.inputs[0]);
    if (augmentation) patch.remark(node, "left out: it changes images in training only, and has no form in the target");
  }
  return patch;
}

}  // namespace convoy
