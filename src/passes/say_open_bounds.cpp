// A clip without a bound has the type's last finite number there in ONNX (onnx/defs/math/defs.cc), which infinity lies beyond:
// where none is meant, infinity is said. Elsewhere a bound at infinity is none.
#include "ops/expect.h"
#include "passes/node_by_node.h"
#include "passes/rewrites.h"

#include <limits>

namespace convoy {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

// As the target says the same bounds; nothing: as they stand.
Clip bounded(Clip op, const Graph& graph, ValueId x, const Target& target) {
  if (target.framework == Framework::OnnxRuntime) {
    const bool is_open = !graph.rules.open_bounds_are_finite && is_floating(graph[x].type.dtype);
    if (is_open && !op.least) op.least = -infinite;
    if (is_open && !op.most) op.most = infinite;
    return op;
  }
  if (op.least == -infinite) op.least.reset();
  if (op.most == infinite) op.most.reset();
  return op;
}

}  // namespace

Result<Patch> say_open_bounds(const Graph& graph, const Target& target) {
  Patch patch(graph);
  return node_by_node<Clip>(graph, patch, [&](NodeId id, const Clip& op) -> Status {
    const Node& node = graph[id];
    const Clip said = bounded(op, graph, node.inputs[0], target);
    if (said == op) return {};
    if (said.least || said.most) return patch.become(id, patch.one(node, said, {node.inputs[0]}));
    patch.remove(id);
    patch.replace(node.outputs[0], node.inputs[0]);
    return {};
  });
}

}  // namespace convoy
