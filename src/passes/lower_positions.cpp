// Says positions of maxima as PyTorch counts them, within one plane: what it tells is counted on to the positions that are
// wanted, and positions that something else told are counted back before they are put to use.
#include "passes/node_by_node.h"
#include "passes/rewrites.h"

#include <algorithm>

namespace convoy {

namespace {

class PositionSpeller {
 public:
  explicit PositionSpeller(const Graph& graph) : graph_(graph), patch_(graph) {}

  Result<Patch> run() {
    return node_by_node<MaxPool, AdaptivePool, MaxUnpool>(graph_, patch_,
                                                          [&](NodeId id, const auto& op) { return spell(id, op); });
  }

 private:
  // A plane of positions: its cells per axis, and all of them.
  struct Plane {
    Sizes sizes;
    Size cells = 1, channels = 1;
    Axes axes;
  };

  template <class Pool>
  Status spell(NodeId id, const Pool& pool) {
    const Node& node = graph_[id];
    if (pool.positions == Positions::None || pool.positions == Positions::Plane) return {};
    auto plane =
        plane_of(pool.axes, spatial(graph_[node.inputs[0]].type.shape, pool.axes), graph_[node.inputs[0]].type.shape);
    if (!plane) return within(place_of(node), Status(pass(plane)));
    Pool own = pool;
    own.positions = Positions::Plane;
    auto made = patch_.node(node, own, node.inputs, node.outputs.size());
    if (!made) return pass(made);
    auto told = counted_on(node, (*made)[1], pool.positions, *plane);
    if (!told) return pass(told);
    patch_.remark(node, "tells positions within one plane, which are then counted on");
    patch_.remove(id);
    patch_.replace(node.outputs[0], (*made)[0]);
    patch_.replace(node.outputs[1], *told);
    return {};
  }

  Status spell(NodeId id, const MaxUnpool& pool) {
    const Node& node = graph_[id];
    if (pool.positions == Positions::Plane) return {};
    Shape sizes;
    for (const Size n : pool.out) sizes.push_back(Dim(n));
    auto plane = plane_of(pool.axes, sizes, graph_[node.inputs[0]].type.shape);
    if (!plane) return within(place_of(node), Status(pass(plane)));
    auto back = counted_back(node, node.inputs[1], pool.positions, *plane);
    if (!back) return pass(back);
    MaxUnpool own = pool;
    own.positions = Positions::Plane;
    patch_.remark(node, "is told positions within one plane, counted back from those of the whole");
    return patch_.become(id, patch_.one(node, own, {node.inputs[0], *back}));
  }

  static Shape spatial(const Shape& shape, const Axes& axes) {
    Shape sizes;
    for (Size i = 0; i < axes.space; ++i) sizes.push_back(shape[static_cast<std::size_t>(axes.spatial(i))]);
    return sizes;
  }

  Result<Plane> plane_of(const Axes& axes, const Shape& sizes, const Shape& shape) {
    Plane plane{{}, 1, 1, axes};
    const Dim channels = shape[static_cast<std::size_t>(axes.channel())];
    constexpr Size most = Size{1} << 40;
    for (const Dim n : sizes) {
      if (!n.known() || *n < 1 || *n > most / plane.cells)
        return fail(Fault::Unsupported, "tells positions counted over a plane of unknown size; give one with --size");
      plane.sizes.push_back(*n);
      plane.cells *= *n;
    }
    if (!channels.known()) return fail(Fault::Unsupported, "tells positions counted over unknown channels");
    plane.channels = *channels;
    return plane;
  }

  ValueId whole(const Node& node, const char* word, Sizes shape, std::vector<std::int64_t> numbers) {
    return patch_.constant(node.layer + "/" + word, Tensor::of(std::move(shape), std::move(numbers)), false);
  }
  Result<ValueId> with(const Node& node, BinaryFunction function, ValueId x, const char* word, Size number) {
    return patch_.one(node, Binary{function}, {x, whole(node, word, {}, {number})});
  }

  // 0, 1, 2, ... along `axis`, as an addend.
  Result<ValueId> numbered(const Node& node, ValueId like, Size axis, const Plane& plane, Size times) {
    const Dim size = patch_.type(like).shape[static_cast<std::size_t>(axis)];
    Sizes shape(static_cast<std::size_t>(plane.axes.rank()), 1);
    if (size.known()) {
      std::vector<std::int64_t> numbers;
      for (Size i = 0; i < *size; ++i) numbers.push_back(i * times);
      shape[static_cast<std::size_t>(axis)] = *size;
      return whole(node, axis == 0 ? "examples" : "channels", shape, std::move(numbers));
    }
    Result<ValueId> one = like;  // one cell of each example
    for (Size i = 0; one && i < plane.axes.rank(); ++i)
      if (i != axis) one = patch_.one(node, Slice{i, 0, 1}, {*one});
    if (one) one = with(node, BinaryFunction::Multiply, *one, "nothing", 0);
    if (one) one = with(node, BinaryFunction::Add, *one, "one", 1);
    if (one) one = patch_.one(node, Accumulate{Reduction::Sum, axis, true, false}, {*one});
    return one ? with(node, BinaryFunction::Multiply, *one, "cells", times) : one;
  }

  // The cell's number if the first axis runs fastest (or back: if the last one does).
  Result<ValueId> by_columns(const Node& node, ValueId cell, const Plane& plane, bool back) {
    Sizes sizes = plane.sizes;
    if (back) std::ranges::reverse(sizes);
    Result<ValueId> sum = ValueId{};
    Result<ValueId> rest = cell;
    Size step = plane.cells;
    for (std::size_t i = sizes.size(); rest && i-- > 0;) {
      step /= sizes[i];
      auto digit = i == 0 ? rest : with(node, BinaryFunction::Modulo, *rest, "size", sizes[i]);
      if (digit && step > 1) digit = with(node, BinaryFunction::Multiply, *digit, "step", step);
      if (!digit) return digit;
      sum = *sum ? patch_.one(node, Binary{BinaryFunction::Add}, {*sum, *digit}) : digit;
      if (!sum) return sum;
      if (i > 0) rest = with(node, BinaryFunction::FloorDivide, *rest, "size", sizes[i]);
    }
    return rest ? sum : rest;
  }

  Result<ValueId> plus(const Node& node, Result<ValueId> a, Result<ValueId> b) {
    if (!a) return a;
    if (!b) return b;
    return patch_.one(node, Binary{BinaryFunction::Add}, {*a, *b});
  }

  Result<ValueId> counted_on(const Node& node, ValueId cell, Positions positions, const Plane& plane) {
    const Size all = plane.cells * plane.channels, channel = plane.axes.channel();
    if (positions == Positions::Tensor || positions == Positions::TensorColumns) {
      auto at = positions == Positions::Tensor ? Result<ValueId>(cell) : by_columns(node, cell, plane, false);
      at = plus(node, at, numbered(node, cell, channel, plane, plane.cells));
      return plus(node, at, numbered(node, cell, 0, plane, all));
    }
    auto at = with(node, BinaryFunction::Multiply, cell, "all_channels", plane.channels);
    at = plus(node, at, numbered(node, cell, channel, plane, 1));
    return positions == Positions::Example ? at : plus(node, at, numbered(node, cell, 0, plane, all));
  }

  // Within its own example and channel, wherever the number was counted from.
  Result<ValueId> counted_back(const Node& node, ValueId number, Positions positions, const Plane& plane) {
    if (positions == Positions::Tensor || positions == Positions::TensorColumns) {
      auto cell = with(node, BinaryFunction::Modulo, number, "cells", plane.cells);
      return cell && positions == Positions::TensorColumns ? by_columns(node, *cell, plane, true) : cell;
    }
    auto cell = with(node, BinaryFunction::FloorDivide, number, "all_channels", plane.channels);
    if (cell && positions == Positions::ExampleInBatch)
      cell = with(node, BinaryFunction::Modulo, *cell, "cells", plane.cells);
    return cell;
  }

  const Graph& graph_;
  Patch patch_;
};

}  // namespace

Result<Patch> lower_positions(const Graph& graph, const Target&) { return PositionSpeller(graph).run(); }

}  // namespace convoy
