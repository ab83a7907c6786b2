// Takes out nodes that leave every number as it is. Dropout stays, because a port is trained on; random augmentation
// has no port and goes, with a remark.
#include "passes/rewrites.h"

namespace convoy {

Result<Patch> drop_identities(const Graph& graph, const Target&) {
  Patch patch(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const auto* dropout = std::get_if<Dropout>(&node.op);
    const bool augmentation = dropout && dropout->noise == Noise::Augmentation;
    if (!std::holds_alternative<Identity>(node.op) && !augmentation) continue;
    patch.remove({static_cast<std::int32_t>(i)});
    patch.replace(node.outputs[0], node.inputs[0]);
    if (augmentation) patch.remark(node, "left out: it changes images in training only, and has no form in the target");
  }
  return patch;
}

}  // namespace convoy
