// Spells out a softmax over several axes: the largest number taken off, exponentials, divided by their sum. Holds for
// every size. And, where the target has no hardmax, the places along its axis compared with that of the largest number.
#include "base/budget.h"
#include "passes/node_by_node.h"
#include "passes/rewrites.h"

#include <numeric>

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

Status spell(const Graph& graph, NodeId id, const Hardmax& hardmax, const Target& target, Patch& patch) {
  if (target.framework == Framework::OnnxRuntime) return {};
  const Node& node = graph[id];
  const TensorType& type = graph[node.inputs[0]].type;
  const Size axis = positive_axis(hardmax.axis, type.rank());
  const Dim size = type.shape[static_cast<std::size_t>(axis)];
  if (!size.known())
    return within(place_of(node), Status(fail(Fault::Unsupported, "a hardmax along an axis of unknown size")));
  const auto bytes = checked_multiply(*size, static_cast<Size>(sizeof(Size)));
  if (auto held = within(place_of(node), budget::afford(bytes, "the places along an axis")); !held) return held;
  Sizes shape(type.shape.size(), 1), places(static_cast<std::size_t>(*size));
  shape[static_cast<std::size_t>(axis)] = *size;
  std::iota(places.begin(), places.end(), Size{0});
  const ValueId all =
      patch.constant(graph.unique_name(node.layer + "/places"), Tensor::of(shape, std::move(places)), false);
  auto made = patch.one(node, ArgExtreme{true, axis, true, false}, {node.inputs[0]});
  if (made) made = patch.one(node, Binary{BinaryFunction::Equal}, {*made, all});
  if (made) made = patch.one(node, Cast{type.dtype}, {*made});
  patch.remark(node, "a hardmax, spelt out: the places along its axis compared with that of the largest number");
  return patch.become(id, std::move(made));
}

// Keras takes the result of its own glu() for as large as the input when it builds what is behind it.
Status spell(const Graph& graph, NodeId id, const Glu& glu, const Target& target, Patch& patch) {
  const Node& node = graph[id];
  const TensorType& type = graph[node.inputs[0]].type;
  const Size axis = positive_axis(glu.axis, type.rank());
  const Dim size = type.shape[static_cast<std::size_t>(axis)];
  if (target.framework != Framework::Keras || target.lite || !size.known()) return {};
  const auto half = [&](std::optional<Size> start, std::optional<Size> stop) {
    return patch.one(node, Slice{axis, start, stop, 1}, {node.inputs[0]});
  };
  auto values = half({}, *size / 2), gate = half(*size / 2, {});
  if (gate) gate = patch.one(node, Unary{Function::Sigmoid}, {*gate});
  if (!values || !gate) return values ? pass(gate) : pass(values);
  patch.remark(node, "a gated half, spelt out");
  return patch.become(id, patch.one(node, Binary{BinaryFunction::Multiply}, {*values, *gate}));
}

}  // namespace

Result<Patch> lower_softmax(const Graph& graph, const Target& target) {
  Patch patch(graph);
  const auto spelt = [&](NodeId id, const auto& op) { return spell(graph, id, op, target, patch); };
  return node_by_node<Softmax, Hardmax, Glu>(graph, patch, spelt);
}

}  // namespace convoy
