// A pixel shuffle reads channels as c*b*b + tap, where TensorFlow's depth_to_space reads tap*C + c. The difference is
// folded into the output channels of the convolution in front where nobody else reads it, and a Take otherwise.
#include "passes/constants.h"
#include "passes/rewrites.h"

namespace convoy {

namespace {

class Shuffle {
 public:
  explicit Shuffle(const Graph& graph)
      : graph_(graph),
        patch_(graph),
        constants_(graph, patch_),
        readers_(readers_of(graph)) {}

  Result<Patch> run() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const NodeId id{static_cast<std::int32_t>(i)};
      Status done;
      if (const auto* op = std::get_if<DepthToSpace>(&graph_[id].op); op && op->depth_first) done = to_space(id, *op);
      if (const auto* op = std::get_if<SpaceToDepth>(&graph_[id].op); op && op->depth_first) done = to_depth(id, *op);
      if (!done) return pass(done);
    }
    return std::move(patch_);
  }

 private:
  static Size channel_axis(Order order) { return order == Order::ChannelsFirst ? 1 : 3; }

  Status to_space(NodeId id, DepthToSpace op) {
    const Node& node = graph_[id];
    const Size axis = channel_axis(op.order), taps = op.block * op.block;
    const Size channels = *graph_[node.inputs[0]].fact.shape[static_cast<std::size_t>(axis)] / taps;
    op.depth_first = false;
    ValueId x = node.inputs[0];
    if (channels > 1) {
      auto ordered = folded(x, taps, channels);
      if (ordered && *ordered) {
        patch_.remark(node, "its channel order is folded into the convolution in front");
      } else if (ordered) {
        Sizes indices;
        for (Size c = 0; c < channels; ++c)
          for (Size k = 0; k < taps; ++k) indices.push_back(k * channels + c);
        ordered = one(node, Take{axis, indices}, x);
        patch_.remark(node, "channels are put in the order in which a pixel shuffle reads them");
      }
      if (!ordered) return pass(ordered);
      x = *ordered;
    }
    return becomes(id, one(node, op, x));
  }

  Status to_depth(NodeId id, SpaceToDepth op) {
    const Node& node = graph_[id];
    const Size axis = channel_axis(op.order), taps = op.block * op.block;
    const Size channels = *graph_[node.inputs[0]].fact.shape[static_cast<std::size_t>(axis)];
    op.depth_first = false;
    auto made = one(node, op, node.inputs[0]);
    if (made && channels > 1) {
      Sizes indices;
      for (Size k = 0; k < taps; ++k)
        for (Size c = 0; c < channels; ++c) indices.push_back(c * taps + k);
      made = one(node, Take{axis, indices}, *made);
      patch_.remark(node, "channels are put in the order of the source behind a pixel unshuffle");
    }
    return becomes(id, made);
  }

  // The convolution that makes x, with its output channels reordered; nothing where it cannot be folded there.
  Result<ValueId> folded(ValueId x, Size taps, Size channels) {
    const NodeId producer = graph_[x].producer;
    if (!producer || readers_[static_cast<std::size_t>(x.index)].size() != 1) return ValueId{};
    for (const ValueId v : graph_.outputs)
      if (v == x) return ValueId{};
    const Node& node = graph_[producer];
    const auto* conv = std::get_if<Conv>(&node.op);
    if (!conv || conv->groups != 1 || conv->kernel_order != KernelOrder::OutInSpace) return ValueId{};
    for (std::size_t i = 1; i < node.inputs.size(); ++i)
      if (const ValueId v = node.inputs[i];
          v && (!graph_[v].constant || readers_[static_cast<std::size_t>(v.index)].size() != 1))
        return ValueId{};
    std::vector<ValueId> inputs = node.inputs;
    for (std::size_t i = 1; i < inputs.size(); ++i)
      if (inputs[i]) inputs[i] = swapped_rows(inputs[i], taps, channels);
    auto made = patch_.node(node, *conv, inputs);
    if (!made) return pass(made);
    patch_.remove(producer);
    return made->front();
  }

  ValueId swapped_rows(ValueId constant, Size taps, Size channels) {
    const Sizes& shape = graph_[constant].constant->shape();
    Sizes split{taps, channels}, permutation{1, 0};
    for (std::size_t i = 1; i < shape.size(); ++i) {
      split.push_back(shape[i]);
      permutation.push_back(static_cast<Size>(i) + 1);
    }
    return constants_.reordered(constant, split, permutation, shape);
  }

  Result<ValueId> one(const Node& like, Op op, ValueId x) {
    auto made = patch_.node(like, std::move(op), {x});
    if (!made) return pass(made);
    return made->front();
  }
  Status becomes(NodeId id, Result<ValueId> now) {
    if (!now) return pass(now);
    patch_.remove(id);
    patch_.replace(graph_[id].outputs[0], *now);
    return {};
  }

  const Graph& graph_;
  Patch patch_;
  Constants constants_;
  std::vector<std::vector<NodeId>> readers_;
};

}  // namespace

Result<Patch> shuffle_channels(const Graph& graph, const Target&) { return Shuffle(graph).run(); }

}  // namespace convoy
