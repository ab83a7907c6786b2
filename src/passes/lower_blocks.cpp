// Says blocks of space that move into the batch, and back, by reshapes and transposes: each axis is split into its blocks and the
// offsets in them, and the offsets stand in front of the batch.
#include "passes/node_by_node.h"
#include "passes/rewrites.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace convoy {

namespace {

class BlockSpeller {
 public:
  explicit BlockSpeller(const Graph& graph) : graph_(graph), patch_(graph) {}

  Result<Patch> run() {
    return node_by_node<SpaceToBatch, BatchToSpace>(graph_, patch_,
                                                    [&](NodeId id, const auto& op) { return spell(id, op); });
  }

 private:
  Status spell(NodeId id, const SpaceToBatch& op) {
    const Node& node = graph_[id];
    const TensorType& type = graph_[node.inputs[0]].type;
    const Sizes blocks = block_by_axis(op, type.rank());
    Shape padded = type.shape;
    for (std::size_t i = 0; i < op.axes.size(); ++i) {
      Dim& size = padded[static_cast<std::size_t>(op.axes[i])];
      if (size.known()) size = *size + op.before[i] + op.after[i];
    }
    if (!is_carried(padded)) return {};

    Sizes split, turned, joined{-1};
    Sizes offsets, places;  // where in `split` the offsets within blocks stand, and the blocks
    for (std::size_t axis = 0; axis < blocks.size(); ++axis) {
      const Size block = blocks[axis], count = padded[axis].known() ? *padded[axis] / block : Size{-1};
      places.push_back(std::ssize(split));
      split.push_back(count);
      if (is_blocked(op, axis)) offsets.push_back(std::ssize(split)), split.push_back(block);
      if (axis > 0) joined.push_back(count);
    }
    if (padded[0].known()) joined[0] = *padded[0] * product(op.block);
    turned = offsets;
    turned.insert(turned.end(), places.begin(), places.end());

    Result<ValueId> y = padded_by(node, op, type.rank());
    if (y) y = patch_.one(node, Reshape{split}, {*y});
    if (y) y = patch_.one(node, Transpose{turned}, {*y});
    if (y) y = patch_.one(node, Reshape{joined}, {*y});
    return become(id, y);
  }

  Status spell(NodeId id, const BatchToSpace& op) {
    const Node& node = graph_[id];
    const TensorType& type = graph_[node.inputs[0]].type;
    const Sizes blocks = block_by_axis(op, type.rank());
    Shape apart = type.shape;
    if (apart[0].known()) apart[0] = *apart[0] / product(op.block);
    if (!is_carried(apart)) return {};

    Sizes split = op.block, turned, joined;
    const auto before = std::ssize(split);
    for (std::size_t axis = 0; axis < blocks.size(); ++axis) {
      split.push_back(apart[axis].known() ? *apart[axis] : Size{-1});
      turned.push_back(before + static_cast<Size>(axis));
      if (is_blocked(op, axis)) turned.push_back(std::ranges::find(op.axes, static_cast<Size>(axis)) - op.axes.begin());
      joined.push_back(apart[axis].known() ? *apart[axis] * blocks[axis] : Size{-1});
    }

    Result<ValueId> y = patch_.one(node, Reshape{split}, {node.inputs[0]});
    if (y) y = patch_.one(node, Transpose{turned}, {*y});
    if (y) y = patch_.one(node, Reshape{joined}, {*y});
    for (std::size_t i = 0; y && i < op.axes.size(); ++i) {
      if (op.before[i] == 0 && op.after[i] == 0) continue;
      const Size whole = joined[static_cast<std::size_t>(op.axes[i])];
      y = patch_.one(node, Slice{op.axes[i], op.before[i], whole - op.after[i], 1}, {*y});
    }
    return become(id, y);
  }

  Status become(NodeId id, Result<ValueId> y) {
    patch_.remark(graph_[id], "moves space between the batch and its axes by reshapes and transposes");
    return patch_.become(id, std::move(y));
  }

  Result<ValueId> padded_by(const Node& node, const SpaceToBatch& op, Size rank) {
    Pad pad;
    pad.before.assign(static_cast<std::size_t>(rank), 0);
    pad.after = pad.before;
    for (std::size_t i = 0; i < op.axes.size(); ++i) {
      pad.before[static_cast<std::size_t>(op.axes[i])] = op.before[i];
      pad.after[static_cast<std::size_t>(op.axes[i])] = op.after[i];
    }
    if (are_zero(pad.before) && are_zero(pad.after)) return node.inputs[0];
    return patch_.one(node, std::move(pad), {node.inputs[0]});
  }

  static bool are_zero(const Sizes& all) {
    return std::ranges::all_of(all, [](Size n) { return n == 0; });
  }
  static Size product(const Sizes& all) {
    return std::accumulate(all.begin(), all.end(), Size{1}, std::multiplies<>());
  }

  template <class Blocks>
  static bool is_blocked(const Blocks& op, std::size_t axis) {
    return std::ranges::count(op.axes, static_cast<Size>(axis)) > 0;
  }
  template <class Blocks>
  static Sizes block_by_axis(const Blocks& op, Size rank) {
    Sizes all(static_cast<std::size_t>(rank), 1);
    for (std::size_t i = 0; i < op.axes.size(); ++i) all[static_cast<std::size_t>(op.axes[i])] = op.block[i];
    return all;
  }
  // A reshape leaves one size to be found: that of the batch.
  static bool is_carried(const Shape& shape) {
    return std::all_of(shape.begin() + 1, shape.end(), [](Dim size) { return size.known(); });
  }

  const Graph& graph_;
  Patch patch_;
};

}  // namespace

Result<Patch> lower_blocks(const Graph& graph, const Target& target) {
  return target.lite ? Patch(graph) : BlockSpeller(graph).run();
}

}  // namespace convoy
