// Takes the space in the batch around a convolution for what it is: dilation. The block is how far the taps stand apart; pads
// less crops are the convolution's own padding.
#include "passes/node_by_node.h"
#include "passes/rewrites.h"

#include <algorithm>

namespace convoy {

namespace {

class DilationFolder {
 public:
  explicit DilationFolder(const Graph& graph) : graph_(graph), readers_(readers_of(graph)), patch_(graph) {}

  Result<Patch> run() {
    return node_by_node<BatchToSpace>(graph_, patch_, [&](NodeId id, const auto& op) { return fold(id, op); });
  }

 private:
  // The node that gives `v`, where nothing but one node reads it.
  template <class Op>
  const Node* only_from(ValueId v) const {
    const bool is_output = std::ranges::count(graph_.outputs, v) > 0;
    const NodeId producer = graph_[v].producer;
    if (!producer || is_output || readers_[v.slot()].size() != 1) return nullptr;
    return holds_alternative<Op>(graph_[producer].op) ? &graph_[producer] : nullptr;
  }

  // The axis of one cell that stands around the convolution alone, as TensorFlow has it over one axis. -1: another change.
  Size axis_around(const Node& added, const Node& dropped) const {
    const Sizes& axes = get<Unsqueeze>(added.op).axes;
    Shape less = graph_[dropped.inputs[0]].type.shape;
    if (axes.size() != 1 || axes[0] < 1 || axes[0] >= std::ssize(less) ||
        less[static_cast<std::size_t>(axes[0])] != Dim(1))
      return -1;
    less.erase(less.begin() + axes[0]);
    return less == graph_[dropped.outputs[0]].type.shape ? axes[0] : -1;
  }

  Status fold(NodeId id, const BatchToSpace& behind) {
    const ValueId convolved = graph_[id].inputs[0];
    const Node* dropped = only_from<Squeeze>(convolved);
    if (!dropped) dropped = only_from<Reshape>(convolved);
    const Node* middle = only_from<Conv>(dropped ? dropped->inputs[0] : convolved);
    const Node* added = middle && dropped ? only_from<Unsqueeze>(middle->inputs[0]) : nullptr;
    if (!middle || (dropped && !added)) return {};
    const Size around = added ? axis_around(*added, *dropped) : -1;
    const Node* first = only_from<SpaceToBatch>(added ? added->inputs[0] : middle->inputs[0]);
    if (!first || (added && around < 0)) return {};
    const auto& front = get<SpaceToBatch>(first->op);
    Conv conv = get<Conv>(middle->op);
    if (front.axes != behind.axes || front.block != behind.block) return {};
    for (std::size_t i = 0; i < front.axes.size(); ++i) {
      const Size axis = front.axes[i] + (added && front.axes[i] >= around ? 1 : 0);
      Size space = 0;
      while (space < conv.axes.space && conv.axes.spatial(space) != axis) ++space;
      if (space == conv.axes.space) {
        if (front.block[i] != 1 || front.before[i] + front.after[i] + behind.before[i] + behind.after[i] != 0)
          return {};
        continue;
      }
      const auto k = static_cast<std::size_t>(space);
      Window& window = conv.windows[k];
      const Added pads{front.before[i] - behind.before[i], front.after[i] - behind.after[i]};
      if (window.stride != 1 || window.dilation != 1 || conv.paddings[k] != Padding{Spelling::Valid} ||
          pads.before < 0 || pads.after < 0)
        return {};
      window.dilation = front.block[i];
      conv.paddings[k] = {Spelling::Explicit, pads.before, pads.after};
    }
    std::vector<ValueId> inputs = middle->inputs;
    inputs[0] = first->inputs[0];
    if (added) {
      const auto wider = patch_.one(*added, Unsqueeze{{around}}, {inputs[0]});
      if (!wider) return std::unexpected(wider.error());
      inputs[0] = *wider;
    }
    auto made = patch_.one(*middle, conv, std::move(inputs));
    if (made && added) made = patch_.one(*dropped, Squeeze{{around}}, {*made});
    // A size that the blocks do not divide is not the convolution's.
    if (made && patch_.type(*made).shape != graph_[graph_[id].outputs[0]].type.shape) return {};
    patch_.remark(*middle, "space in the batch around it is its dilation");
    return patch_.become(id, made);
  }

  const Graph& graph_;
  std::vector<std::vector<NodeId>> readers_;
  Patch patch_;
};

}  // namespace

Result<Patch> fold_dilation(const Graph& graph, const Target&) { return DilationFolder(graph).run(); }

}  // namespace convoy
