// Weights that only take another shape, order or type before a layer meets them become what it meets: TFLite's layers want theirs
// as they are.
#include "ops/expect.h"
#include "passes/passes.h"
#include "passes/rewrites.h"

#include <map>

namespace convoy {

namespace {

// The result of one node over numbers that are known. Nothing: it computes more than their place, shape or type.
std::optional<Tensor> folded(const Op& op, const Tensor& x, const TensorType& type) {
  const auto shape = sizes_of(type.shape);
  if (!shape) return std::nullopt;
  if (const auto* turned = get_if<Transpose>(&op)) return x.permuted(turned->permutation);
  if (traits_of(op).contents == Contents::Kept && checked_count(*shape) == x.count()) return x.reshaped(*shape);
  if (const auto* cast = get_if<Cast>(&op); cast && is_floating(x.dtype()) && cast->to == DType::F32)
    return x.converted(DType::F32);
  return std::nullopt;
}

}  // namespace

Result<Patch> fold_constants(const Graph& graph, const Target& target) {
  Patch patch(graph);
  if (!target.lite) return patch;
  std::map<ValueId, ValueId> made;
  std::map<ValueId, Tensor> numbers;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.inputs.size() != 1 || node.outputs.size() != 1) continue;
    const ValueId x = node.inputs[0], y = node.outputs[0];
    const auto known = numbers.find(x);
    const Tensor* held = known != numbers.end() ? &known->second : graph[x].constant ? &*graph[x].constant : nullptr;
    if (!held || graph[x].literal) continue;
    auto now = folded(node.op, *held, graph[y].type);
    if (!now) continue;
    patch.remove(NodeId{static_cast<std::int32_t>(i)});
    patch.replace(y, patch.constant(node.layer + "/folded", *now, true, graph[y].origin));
    numbers.emplace(y, std::move(*now));
  }
  return patch;
}

}  // namespace convoy
