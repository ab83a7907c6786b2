// A symmetric pad, which repeats the border cell, is put together from the cells at each end in reverse; a target whose
// mirrored pad leaves the border cell out has no word for it. Holds for every size that the pad itself allows.
#include "passes/rewrites.h"

namespace convoy {

namespace {

// The first `count` of the cells given, last one first.
Take backwards(Size axis, Size count) {
  Take take{.axis = axis, .indices = {}};
  for (Size i = count; i-- > 0;) take.indices.push_back(i);
  return take;
}

Status spell(const Graph& graph, NodeId id, const Pad& pad, Patch& patch) {
  const Node& node = graph[id];
  const auto step = [&](Op op, std::vector<ValueId> inputs) -> Result<ValueId> {
    auto made = patch.node(node, std::move(op), std::move(inputs));
    if (!made) return pass(made);
    return made->front();
  };
  Result<ValueId> x = node.inputs[0];
  for (std::size_t i = 0; i < pad.before.size(); ++i) {
    const auto axis = static_cast<Size>(i);
    std::vector<ValueId> parts;
    if (pad.before[i] > 0) {
      auto front = step(backwards(axis, pad.before[i]), {*x});
      if (!front) return pass(front);
      parts.push_back(*front);
    }
    parts.push_back(*x);
    if (pad.after[i] > 0) {
      auto back = step(Slice{.axis = axis, .start = -pad.after[i]}, {*x});
      if (back) back = step(backwards(axis, pad.after[i]), {*back});
      if (!back) return pass(back);
      parts.push_back(*back);
    }
    if (parts.size() > 1) x = step(Concat{axis}, std::move(parts));
    if (!x) return pass(x);
  }
  patch.remove(id);
  patch.replace(node.outputs[0], *x);
  patch.remark(node, "a symmetric pad, put together from the cells at each end in reverse");
  return {};
}

}  // namespace

Result<Patch> spell_pads(const Graph& graph) {
  Patch patch(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (const auto* pad = std::get_if<Pad>(&graph.nodes[i].op); pad && pad->mode == PadMode::Symmetric)
      if (auto done = spell(graph, {static_cast<std::int32_t>(i)}, *pad, patch); !done) return pass(done);
  return patch;
}

}  // namespace convoy
