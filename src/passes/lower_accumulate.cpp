// Says running sums and products from the end, and those without the number itself, by plain ones: of the numbers turned round,
// or moved on by one.
#include "passes/node_by_node.h"
#include "passes/rewrites.h"

namespace convoy {

namespace {

Status spell(const Graph& graph, NodeId id, const Accumulate& op, Patch& patch) {
  if (!op.backwards && !op.exclusive) return {};
  const Node& node = graph[id];
  const auto rank = static_cast<std::size_t>(graph[node.inputs[0]].type.rank());
  const auto step = [&](bool wanted, Op made, ValueId x) {
    return wanted ? patch.one(node, std::move(made), {x}) : Result<ValueId>(x);
  };
  const Slice turned{op.axis, {}, {}, -1}, all_but_last{op.axis, {}, -1, 1};
  Pad begin{Sizes(rank, 0), Sizes(rank, 0), PadMode::Constant, op.reduction == Reduction::Sum ? 0.0 : 1.0};
  begin.before[static_cast<std::size_t>(op.axis)] = 1;
  auto y = step(op.backwards, turned, node.inputs[0]);
  if (y) y = step(op.exclusive, all_but_last, *y);
  if (y) y = step(op.exclusive, begin, *y);
  if (y) y = step(true, Accumulate{op.reduction, op.axis, false, false}, *y);
  if (y) y = step(op.backwards, turned, *y);
  if (!y) return pass(y);
  patch.replace(node.outputs[0], *y);
  patch.remove(id);
  return {};
}

}  // namespace

// TFLite has both.
Result<Patch> lower_accumulate(const Graph& graph, const Target& target) {
  Patch patch(graph);
  if (target.lite) return patch;
  return node_by_node<Accumulate>(graph, patch, [&](NodeId id, const auto& op) { return spell(graph, id, op, patch); });
}

}  // namespace convoy
