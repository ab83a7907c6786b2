// Stores kernels as [O, I/groups, k...] and [I, O/groups, k...], matrices as [O, I]; for Keras as [k..., I/groups, O],
// [k..., C, M] of a depthwise layer, [k..., O, I] and [I, O]. Numbers are moved, never changed; a kernel that is computed
// gets a Transpose in front.
#include "passes/constants.h"
#include "passes/kernels.h"
#include "passes/node_by_node.h"
#include "passes/rewrites.h"

namespace convoy {

namespace {

// [a, b, k...] -> [k..., first, second]
Sizes space_first(Size space, bool swaps) {
  Sizes axes;
  for (Size i = 0; i < space; ++i) axes.push_back(i + 2);
  axes.push_back(swaps ? 1 : 0);
  axes.push_back(swaps ? 0 : 1);
  return axes;
}

// [k..., a, b] -> [first, second, k...] where `swaps` says that b comes first.
Sizes space_last(Size space, bool swaps) {
  Sizes axes = swaps ? Sizes{space + 1, space} : Sizes{space, space + 1};
  for (Size i = 0; i < space; ++i) axes.push_back(i);
  return axes;
}

class Reordering {
 public:
  Reordering(const Graph& graph, const Target& target)
      : graph_(graph),
        target_(target),
        patch_(graph),
        constants_(graph, patch_) {}

  Result<Patch> run() {
    return node_by_node<Conv, ConvTranspose, Linear>(graph_, patch_,
                                                     [&](NodeId id, const auto& op) { return order(id, op); });
  }

 private:
  bool for_keras() const { return target_.framework == Framework::Keras; }
  Status order(NodeId id, const Conv& conv) {
    return for_keras() ? convolution_of_keras(id, conv) : convolution(id, conv);
  }
  Status order(NodeId id, const ConvTranspose& conv) {
    return for_keras() ? transposed_of_keras(id, conv) : transposed(id, conv);
  }
  Status order(NodeId id, const Linear& linear) { return matrix(id, linear); }

  Status convolution(NodeId id, Conv conv) {
    const KernelOrder from = conv.kernel_order;
    if (from == KernelOrder::OutInSpace) return {};
    if (from != KernelOrder::SpaceInOut && from != KernelOrder::SpaceInMultiplier)
      return fail(Fault::Internal, "a convolution's kernel has the order of a transposed one");
    const Node& node = graph_[id];
    const Size space = conv.axes.space;
    const bool depthwise = from == KernelOrder::SpaceInMultiplier;
    Sizes shape;
    if (depthwise) {
      const Shape& k = graph_[node.inputs[1]].type.shape;
      const auto c = static_cast<std::size_t>(space);
      shape = {*k[c] * *k[c + 1], 1};
      for (std::size_t i = 0; i < c; ++i) shape.push_back(*k[i]);
    }
    conv.kernel_order = KernelOrder::OutInSpace;
    return replace(id, conv, space_last(space, !depthwise), shape);
  }

  Status transposed(NodeId id, ConvTranspose conv) {
    if (conv.kernel_order == KernelOrder::InOutSpace) return {};
    if (conv.kernel_order != KernelOrder::SpaceOutIn)
      return fail(Fault::Internal, "a transposed convolution's kernel has the order of a plain one");
    conv.kernel_order = KernelOrder::InOutSpace;
    return replace(id, conv, space_last(conv.axes.space, true), {});
  }

  Status convolution_of_keras(NodeId id, Conv conv) {
    if (conv.kernel_order == KernelOrder::SpaceInMultiplier && !target_.lite && !runs_depthwise(conv.windows))
      return with_groups(id, conv);
    if (conv.kernel_order != KernelOrder::OutInSpace) return {};
    const Node& node = graph_[id];
    const Size space = conv.axes.space;
    if (!has_depthwise_layer(conv, graph_[node.inputs[1]].type.shape)) {
      conv.kernel_order = KernelOrder::SpaceInOut;
      return replace(id, conv, space_first(space, true), {});
    }
    const Shape& k = graph_[node.inputs[1]].type.shape;
    Sizes split{conv.groups, *k[0] / conv.groups};
    for (Size i = 0; i < space; ++i) split.push_back(*k[static_cast<std::size_t>(i) + 2]);
    conv.kernel_order = KernelOrder::SpaceInMultiplier;
    return replace(id, conv, space_first(space, false), {}, split);
  }

  // [k..., C, M] -> [k..., 1, C * M]: the banks lie behind one another already.
  Status with_groups(NodeId id, Conv conv) {
    const Shape& k = graph_[graph_[id].inputs[1]].type.shape;
    const auto space = static_cast<std::size_t>(conv.axes.space);
    Sizes shape, as_they_are;
    for (std::size_t i = 0; i < space; ++i) shape.push_back(*k[i]);
    shape.insert(shape.end(), {1, *k[space] * *k[space + 1]});
    for (Size i = 0; i < conv.axes.space + 2; ++i) as_they_are.push_back(i);
    conv.kernel_order = KernelOrder::SpaceInOut;
    conv.groups = *k[space];
    patch_.remark(graph_[id], "a depthwise layer of unequal strides is one with groups, which every processor runs");
    return replace(id, conv, as_they_are, shape);
  }

  Status transposed_of_keras(NodeId id, ConvTranspose conv) {
    if (conv.kernel_order == KernelOrder::SpaceOutIn) return {};
    conv.kernel_order = KernelOrder::SpaceOutIn;
    return replace(id, conv, space_first(conv.axes.space, true), {});
  }

  // ONNX's Gemm takes a matrix either way; over more axes there is only the product from the left.
  Status matrix(NodeId id, Linear linear) {
    const bool torch = target_.framework == Framework::Torch;
    const bool either = !torch && target_.framework != Framework::Keras;
    const LinearOrder wanted = torch ? LinearOrder::OutIn : LinearOrder::InOut;
    if (linear.order == wanted || (either && graph_[graph_[id].inputs[0]].type.rank() == 2)) return {};
    linear.order = wanted;
    return replace(id, linear, {1, 0}, {});
  }

  // The kernel reshaped to `split` (empty: as it is), permuted, reshaped to `shape` (empty: as it is).
  Status replace(NodeId id, Op op, const Sizes& permutation, const Sizes& shape, const Sizes& split = {}) {
    const Node& node = graph_[id];
    std::vector<ValueId> inputs = node.inputs;
    if (graph_[inputs[1]].constant) {
      inputs[1] = constants_.reordered(inputs[1], split, permutation, shape);
    } else {
      Result<std::vector<ValueId>> kernel = std::vector{inputs[1]};
      if (!split.empty()) kernel = patch_.node(node, Reshape{split}, {inputs[1]});
      if (kernel) kernel = patch_.node(node, Transpose{permutation}, {kernel->front()});
      if (kernel && !shape.empty()) kernel = patch_.node(node, Reshape{shape}, {kernel->front()});
      if (!kernel) return pass(kernel);
      inputs[1] = kernel->front();
    }
    return patch_.become(id, patch_.one(node, std::move(op), std::move(inputs)));
  }

  const Graph& graph_;
  const Target& target_;
  Patch patch_;
  Constants constants_;
};

}  // namespace

Result<Patch> order_kernels(const Graph& graph, const Target& target) { return Reordering(graph, target).run(); }

}  // namespace convoy
