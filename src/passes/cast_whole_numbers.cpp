// Puts a cast in front of what makes fractions of whole numbers where the target's own function takes fractions alone: a
// square root of int32 is no valid ONNX, and Keras and PyTorch refuse some. What rounds leaves whole numbers as they are.
#include "ops/expect.h"
#include "passes/rewrites.h"

namespace convoy {

namespace {

bool rounds(const Op& op) {
  const auto* unary = std::get_if<Unary>(&op);
  return unary && (unary->function == Function::Floor || unary->function == Function::Ceil ||
                   unary->function == Function::Round || unary->function == Function::Truncate);
}

// PyTorch's functions of one number take whole ones; its averages and softmax do not.
bool takes_fractions_alone(const Op& op, Framework framework) {
  switch (traits_of(op).kind) {
    case LayerKind::Activation: return framework != Framework::Torch;
    case LayerKind::Softmax:
    case LayerKind::Reduction:
    case LayerKind::Pooling:
    case LayerKind::Normalization: return true;
    default: return false;
  }
}

Status cast(const Graph& graph, NodeId id, const Target& target, Patch& patch) {
  const Node& node = graph[id];
  if (node.inputs.empty() || !node.inputs[0] || is_floating(graph[node.inputs[0]].fact.dtype)) return {};
  const bool leaves = rounds(node.op);
  if (!leaves && (!is_floating(graph[node.outputs[0]].fact.dtype) || !takes_fractions_alone(node.op, target.framework)))
    return {};
  std::vector<ValueId> inputs = node.inputs;
  auto result = patch.one(node, leaves ? Op(Identity{}) : Op(Cast{DType::F32}), {inputs[0]});
  if (!result) return pass(result);
  if (!leaves) {
    inputs[0] = *result;
    result = patch.one(node, node.op, std::move(inputs));
    if (!result) return pass(result);
  }
  patch.remove(id);
  patch.replace(node.outputs[0], *result);
  patch.remark(node, leaves ? "rounds whole numbers, which leaves them" : "a cast of whole numbers in front");
  return {};
}

}  // namespace

Result<Patch> cast_whole_numbers(const Graph& graph, const Target& target) {
  Patch patch(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (auto done = cast(graph, {static_cast<std::int32_t>(i)}, target, patch); !done) return pass(done);
  return patch;
}

}  // namespace convoy
