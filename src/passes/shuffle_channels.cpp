// A pixel shuffle of PyTorch reads channels as c*b*b + tap, where depth_to_space of TensorFlow and Keras reads tap*C + c.
// The difference is folded into the output channels of the convolution in front where nobody else reads it, and a Take otherwise.
#include "passes/constants.h"
#include "passes/node_by_node.h"
#include "passes/rewrites.h"

namespace convoy {

namespace {

class Shuffle {
 public:
  Shuffle(const Graph& graph, const Target& target)
      : graph_(graph),
        depth_first_(target.framework == Framework::Keras),
        patch_(graph),
        constants_(graph, patch_),
        readers_(readers_of(graph)) {}

  Result<Patch> run() {
    return node_by_node<DepthToSpace, SpaceToDepth>(graph_, patch_, [&](NodeId id, const auto& op) {
      return op.depth_first == depth_first_ ? Status() : turn(id, op);
    });
  }

 private:
  static Size channel_axis(Order order) { return order == Order::ChannelsFirst ? 1 : 3; }

  // Where the channels of one order are found in the other: by taps first in what is made, or by channels.
  static Sizes turned(Size taps, Size channels, bool taps_first) {
    Sizes indices;
    for (Size outer = 0; outer < (taps_first ? taps : channels); ++outer)
      for (Size inner = 0; inner < (taps_first ? channels : taps); ++inner)
        indices.push_back(taps_first ? inner * taps + outer : inner * channels + outer);
    return indices;
  }

  Status turn(NodeId id, DepthToSpace op) {
    const Node& node = graph_[id];
    const Size axis = channel_axis(op.order), taps = op.block * op.block;
    const Size channels = *graph_[node.inputs[0]].type.shape[static_cast<std::size_t>(axis)] / taps;
    op.depth_first = depth_first_;
    ValueId x = node.inputs[0];
    if (channels > 1) {
      auto ordered = folded(x, taps, channels);
      if (ordered && *ordered) {
        patch_.remark(node, "its channel order is folded into the convolution in front");
      } else if (ordered) {
        ordered = patch_.one(node, Take{axis, turned(taps, channels, depth_first_)}, {x});
        patch_.remark(node, "channels are put in the order in which a pixel shuffle reads them");
      }
      if (!ordered) return pass(ordered);
      x = *ordered;
    }
    return patch_.become(id, patch_.one(node, op, {x}));
  }

  Status turn(NodeId id, SpaceToDepth op) {
    const Node& node = graph_[id];
    const Size axis = channel_axis(op.order), taps = op.block * op.block;
    const Size channels = *graph_[node.inputs[0]].type.shape[static_cast<std::size_t>(axis)];
    op.depth_first = depth_first_;
    auto made = patch_.one(node, op, {node.inputs[0]});
    if (made && channels > 1) {
      made = patch_.one(node, Take{axis, turned(taps, channels, !depth_first_)}, {*made});
      patch_.remark(node, "channels are put in the order of the source behind a pixel unshuffle");
    }
    return patch_.become(id, made);
  }

  // The convolution that makes x, with its output channels reordered; nothing where it cannot be folded there.
  Result<ValueId> folded(ValueId x, Size taps, Size channels) {
    const NodeId producer = graph_[x].producer;
    if (!producer || readers_[x.slot()].size() != 1) return ValueId{};
    for (const ValueId v : graph_.outputs)
      if (v == x) return ValueId{};
    const Node& node = graph_[producer];
    const auto* conv = get_if<Conv>(&node.op);
    const KernelOrder wanted = depth_first_ ? KernelOrder::SpaceInOut : KernelOrder::OutInSpace;
    if (!conv || conv->groups != 1 || conv->kernel_order != wanted) return ValueId{};
    for (std::size_t i = 1; i < node.inputs.size(); ++i)
      if (const ValueId v = node.inputs[i]; v && (!graph_[v].constant || readers_[v.slot()].size() != 1))
        return ValueId{};
    std::vector<ValueId> inputs = node.inputs;
    for (std::size_t i = 1; i < inputs.size(); ++i)
      if (inputs[i]) inputs[i] = swapped(inputs[i], taps, channels);
    auto made = patch_.node(node, *conv, inputs);
    if (!made) return pass(made);
    patch_.remove(producer);
    return made->front();
  }

  // The output channels of a kernel or a bias: split in two and swapped.
  ValueId swapped(ValueId constant, Size taps, Size channels) {
    const Sizes& shape = graph_[constant].constant->shape();
    const std::size_t axis = depth_first_ ? shape.size() - 1 : 0;
    Sizes split, permutation;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const auto at = static_cast<Size>(split.size());
      if (i == axis) {
        split.push_back(depth_first_ ? channels : taps);
        split.push_back(depth_first_ ? taps : channels);
        permutation.push_back(at + 1);
      } else {
        split.push_back(shape[i]);
      }
      permutation.push_back(at);
    }
    return constants_.reordered(constant, split, permutation, shape);
  }

  const Graph& graph_;
  bool depth_first_;  // of the target
  Patch patch_;
  Constants constants_;
  std::vector<std::vector<NodeId>> readers_;
};

}  // namespace

Result<Patch> shuffle_channels(const Graph& graph, const Target& target) { return Shuffle(graph, target).run(); }

}  // namespace convoy
