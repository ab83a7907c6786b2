// Blocks laid out in the other order of channels: exporters to a framework that knows one order alone write the other as a
// step that takes the channels in an order of its own.
#include "diagnose/recognise.h"

#include <optional>

namespace convoy::diagnose {

namespace {

// Whether channel k of what is taken is the one at which `depth_first` blocks, where they are read so, hold what blocks of the
// other order hold at k.
bool turns_blocks(const Sizes& indices, Size block, bool depth_first) {
  const Size cells = block * block, channels = std::ssize(indices) / cells;
  if (channels < 1 || channels * cells != std::ssize(indices)) return false;
  for (Size c = 0; c < channels; ++c)
    for (Size cell = 0; cell < cells; ++cell) {
      const Size first = cell * channels + c, last = c * cells + cell;
      const Size at = depth_first ? first : last, from = depth_first ? last : first;
      if (indices[static_cast<std::size_t>(at)] != from) return false;
    }
  return true;
}

const Take* taken_channels(const Graph& graph, ValueId v) {
  const NodeId maker = v ? graph[v].producer : NodeId{};
  const auto* take = maker ? get_if<Take>(&graph[maker].op) : nullptr;
  return take && take->axis == 1 ? take : nullptr;
}

struct Turned {
  Op op;
  ValueId input;
};

std::optional<Turned> turned_at(const Graph& graph, const Node& node) {
  if (const auto* op = get_if<DepthToSpace>(&node.op); op && op->order == Order::ChannelsFirst) {
    const Take* take = taken_channels(graph, node.inputs[0]);
    if (!take || !turns_blocks(take->indices, op->block, op->depth_first)) return std::nullopt;
    return Turned{DepthToSpace{op->order, op->block, !op->depth_first},
                  graph[graph[node.inputs[0]].producer].inputs[0]};
  }
  const auto* take = get_if<Take>(&node.op);
  const NodeId maker = take && take->axis == 1 ? graph[node.inputs[0]].producer : NodeId{};
  const auto* op = maker ? get_if<SpaceToDepth>(&graph[maker].op) : nullptr;
  if (!op || op->order != Order::ChannelsFirst || !turns_blocks(take->indices, op->block, !op->depth_first))
    return std::nullopt;
  return Turned{SpaceToDepth{op->order, op->block, !op->depth_first}, graph[maker].inputs[0]};
}

}  // namespace

Result<Patch> recognise_depth_orders(const Graph& graph, const Target&) {
  Patch patch(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    auto found = turned_at(graph, node);
    if (!found) continue;
    const Node* about = &node;
    if (holds_alternative<Take>(node.op)) about = &graph[graph[node.inputs[0]].producer];
    auto made = patch.node(*about, std::move(found->op), {found->input});
    if (!made) return pass(made);
    patch.remove({static_cast<std::int32_t>(i)});
    patch.replace(node.outputs[0], made->front());
  }
  return patch;
}

}  // namespace convoy::diagnose
