// Says the largest few along any axis, and the smallest few, by the largest few along the last axis.
#include "ops/expect.h"
#include "passes/node_by_node.h"
#include "passes/rewrites.h"

#include <numeric>
#include <utility>

namespace convoy {

namespace {

// -1, or the largest number of a type that holds none below 0.
ValueId all_ones(const Node& node, DType dtype, Patch& patch) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(bytes_of(dtype)), std::byte{0xff});
  return patch.constant(node.layer + "/number", *Tensor::owning(dtype, {}, std::move(bytes)), false);
}

Status spell(const Graph& graph, NodeId id, const TopK& op, Patch& patch) {
  const Node& node = graph[id];
  const TensorType& type = graph[node.inputs[0]].type;
  const Size last = type.rank() - 1;
  const bool turned = op.axis != last, negated = !op.largest;
  if ((!turned && !negated) || (negated && type.dtype == DType::Bool)) return {};
  Sizes swapped(static_cast<std::size_t>(type.rank()));
  std::iota(swapped.begin(), swapped.end(), Size{0});
  std::swap(swapped[static_cast<std::size_t>(op.axis)], swapped[static_cast<std::size_t>(last)]);
  const auto step = [&](bool wanted, Op made, ValueId x) {
    return wanted ? patch.one(node, std::move(made), {x}) : Result<ValueId>(x);
  };
  // The numbers in the opposite order: of whole ones -1 - x, which every type holds; the least one has no negative.
  const ValueId ones = negated && !is_floating(type.dtype) ? all_ones(node, type.dtype, patch) : ValueId{};
  const auto opposite = [&](ValueId v) {
    if (!negated) return Result<ValueId>(v);
    return ones ? patch.one(node, Binary{BinaryFunction::Subtract}, {ones, v})
                : patch.one(node, Unary{Function::Negate}, {v});
  };
  auto x = step(turned, Transpose{swapped}, node.inputs[0]);
  if (x) x = opposite(*x);
  if (!x) return pass(x);
  auto both = patch.node(node, TopK{last, op.count, true, op.stable}, {*x}, node.outputs.size());
  if (!both) return pass(both);
  for (std::size_t i = 0; i < both->size(); ++i) {
    auto y = i == 0 ? opposite((*both)[i]) : Result<ValueId>((*both)[i]);
    if (y) y = step(turned, Transpose{swapped}, *y);
    if (!y) return pass(y);
    patch.replace(node.outputs[i], *y);
  }
  patch.remove(id);
  patch.remark(node, "the largest or smallest few, taken along the last axis");
  return {};
}

}  // namespace

Result<Patch> lower_top_k(const Graph& graph, const Target&) {
  Patch patch(graph);
  return node_by_node<TopK>(graph, patch, [&](NodeId id, const auto& op) { return spell(graph, id, op, patch); });
}

}  // namespace convoy
