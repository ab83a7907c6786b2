// Spells out a softmax over several axes: the largest number taken off, exponentials, divided by their sum. Holds for
// every size.
#include "passes/node_by_node.h"
#include "passes/rewrites.h"

namespace convoy {

namespace {

Status spell(const Graph& graph, NodeId id, const Softmax& softmax, const Target& target, Patch& patch) {
  // Keras has a layer of softmax over several axes, and no logarithm of one; TFLite has neither.
  const bool has_layer = target.framework == Framework::Keras && !target.lite && !softmax.logarithm;
  if (softmax.axes.size() < 2 || has_layer) return {};
  const Node& node = graph[id];
  const auto step = [&](Op op, std::vector<ValueId> inputs) -> Result<ValueId> {
    return patch.one(node, std::move(op), std::move(inputs));
  };
  const ValueId x = node.inputs[0];
  auto most = step(Reduce{Reduction::Maximum, softmax.axes, true}, {x});
  if (!most) return pass(most);
  auto shifted = step(Binary{BinaryFunction::Subtract}, {x, *most});
  if (!shifted) return pass(shifted);
  auto powers = step(Unary{Function::Exp}, {*shifted});
  if (!powers) return pass(powers);
  auto sum = step(Reduce{Reduction::Sum, softmax.axes, true}, {*powers});
  if (sum && softmax.logarithm) sum = step(Unary{Function::Log}, {*sum});
  if (!sum) return pass(sum);
  auto result = softmax.logarithm ? step(Binary{BinaryFunction::Subtract}, {*shifted, *sum})
                                  : step(Binary{BinaryFunction::Divide}, {*powers, *sum});
  if (!result) return pass(result);
  patch.remove(id);
  patch.replace(node.outputs[0], *result);
  patch.remark(node, "a softmax over several axes, spelt out");
  return {};
}

}  // namespace

Result<Patch> lower_softmax(const Graph& graph, const Target& target) {
  Patch patch(graph);
  return node_by_node<Softmax>(graph, patch,
                               [&](NodeId id, const auto& op) { return spell(graph, id, op, target, patch); });
}

}  // namespace convoy
