// Says adaptive pools by layers that the target runs: one cell as a reduction, lengths that divide as a pool of that window, and a
// maximum with one cell along some axes axis by axis. What Keras's adaptive layers say is left to them.
#include "passes/node_by_node.h"
#include "passes/pads.h"
#include "passes/rewrites.h"

#include <algorithm>
#include <limits>

namespace convoy {

namespace {

class AdaptiveSpeller {
 public:
  AdaptiveSpeller(const Graph& graph, const Target& target)
      : graph_(graph),
        lite_(target.lite),
        says_known_(target.framework == Framework::OnnxRuntime),
        patch_(graph) {}

  Result<Patch> run() {
    return node_by_node<AdaptivePool>(graph_, patch_, [&](NodeId id, const auto& op) { return spell(id, op); });
  }

 private:
  // The window that gives `out` cells where they divide the size.
  static std::optional<Window> even_window(std::optional<Size> in, Size out) {
    if (!in || out < 1 || *in < out || *in % out != 0) return std::nullopt;
    return Window{*in / out, *in / out, 1};
  }

  Status spell(NodeId id, const AdaptivePool& pool) {
    const Node& node = graph_[id];
    if (pool.positions != Positions::None) return {};
    const auto sizes = spatial_sizes(graph_[node.inputs[0]].type.shape, pool.axes);
    const auto ones = std::ranges::count(pool.out, Size{1});
    const bool known = std::ranges::all_of(sizes, [](const auto& n) { return n.has_value(); });
    if (says_known_ && (known || ones == pool.axes.space)) return {};
    if (ones == pool.axes.space) {
      Sizes axes;
      for (Size i = 0; i < pool.axes.space; ++i) axes.push_back(pool.axes.spatial(i));
      return patch_.become(id, patch_.one(node, Reduce{reduction(pool), axes, true}, {node.inputs[0]}));
    }
    std::vector<Window> windows;
    for (std::size_t i = 0; i < sizes.size(); ++i)
      if (const auto w = even_window(sizes[i], pool.out[i])) windows.push_back(*w);
    if (windows.size() == sizes.size()) {
      patch_.remark(node, "its lengths divide the input's, so it is a pool of fixed windows, for this input size");
      return patch_.become(id, pooled(node, pool, node.inputs[0], windows));
    }
    if (!known) return patch_.become(id, freely(node, pool, sizes));
    if (!lite_ && (pool.kind == Extreme::Average || ones == 0)) return {};
    patch_.remark(node, lite_
                            ? "is taken axis by axis and cell by cell, because TFLite has no adaptive pools"
                            : "is taken axis by axis, because Keras's layer does not run with one cell along an axis");
    Result<ValueId> x = node.inputs[0];
    for (std::size_t i = 0; x && i < sizes.size(); ++i)
      x = along(node, *x, pool, pool.axes.spatial(static_cast<Size>(i)), *sizes[i], pool.out[i]);
    return patch_.become(id, x);
  }

  static Reduction reduction(const AdaptivePool& pool) {
    return pool.kind == Extreme::Average ? Reduction::Mean : Reduction::Maximum;
  }

  Result<ValueId> pooled(const Node& node, const AdaptivePool& pool, ValueId x, const std::vector<Window>& windows) {
    const std::vector<Padding> none(windows.size(), Padding{Spelling::Valid});
    if (pool.kind == Extreme::Maximum) return patch_.one(node, MaxPool{pool.axes, windows, none}, {x});
    return patch_.one(node, AveragePool{pool.axes, windows, none}, {x});
  }

  // One slice per cell, each reduced, side by side.
  Result<ValueId> along(const Node& node, ValueId x, const AdaptivePool& pool, Size axis, Size in, Size out) {
    std::vector<ValueId> cells;
    for (Size i = 0; i < out; ++i) {
      auto cell = patch_.one(node, Slice{axis, floor_div(i * in, out), ceil_div((i + 1) * in, out)}, {x});
      if (cell) cell = patch_.one(node, Reduce{reduction(pool), {axis}, true}, {*cell});
      if (!cell) return cell;
      cells.push_back(*cell);
    }
    return cells.size() == 1 ? Result<ValueId>(cells[0]) : patch_.one(node, Concat{axis}, std::move(cells));
  }

  // The same where the model counts how many cells there are: each cell of the result reads what lies in its window, and 0 or -inf
  // for the rest.
  Result<ValueId> freely(const Node& node, const AdaptivePool& pool, const std::vector<std::optional<Size>>& sizes) {
    patch_.remark(node, "is taken axis by axis, in windows that are counted when the model runs");
    Result<ValueId> x = node.inputs[0];
    for (std::size_t i = 0; x && i < sizes.size(); ++i) {
      const Size axis = pool.axes.spatial(static_cast<Size>(i)), out = pool.out[i];
      if (out == 1) x = patch_.one(node, Reduce{reduction(pool), {axis}, true}, {*x});
      else if (sizes[i]) x = along(node, *x, pool, axis, *sizes[i], out);
      else x = along_counted(node, *x, pool, axis, out);
    }
    return x;
  }

  // [1], or a number: of whole numbers.
  ValueId whole(const Node& node, Size n, const Sizes& shape = {}) {
    return patch_.constant(node.layer + "/number_" + std::to_string(numbers_++),
                           Tensor::of(shape, std::vector<std::int64_t>{n}), false);
  }
  Result<ValueId> with(const Node& node, BinaryFunction function, const Result<ValueId>& a, const Result<ValueId>& b) {
    if (!a) return a;
    if (!b) return b;
    return patch_.one(node, Binary{function}, {*a, *b});
  }

  Result<ValueId> along_counted(const Node& node, ValueId x, const AdaptivePool& pool, Size axis, Size out) {
    const TensorType type = graph_[node.inputs[0]].type;
    const ValueId one = whole(node, 1, {1});
    const auto ones = patch_.one(node, ExpandLike{0, axis}, {one, x});
    if (!ones) return ones;
    const auto size = patch_.one(node, Reduce{Reduction::Sum, {0}, false}, {*ones});
    const auto counted = patch_.one(node, Accumulate{Reduction::Sum, 0, false, false}, {*ones});
    const auto places = with(node, BinaryFunction::Subtract, counted, one);
    const bool averages = pool.kind == Extreme::Average;
    const ValueId rest =
        patch_.constant(node.layer + "/number_" + std::to_string(numbers_++),
                        Tensor::of({}, std::vector<double>{averages ? 0 : -std::numeric_limits<double>::infinity()})
                            .converted(type.dtype),
                        false);
    Sizes behind;
    for (Size i = 1; i < type.rank() - axis; ++i) behind.push_back(i);
    std::vector<ValueId> cells;
    for (Size i = 0; i < out; ++i) {
      const auto times = [&](Size n) { return with(node, BinaryFunction::Multiply, size, whole(node, n)); };
      const auto begin = with(node, BinaryFunction::FloorDivide, times(i), whole(node, out));
      const auto end = with(node, BinaryFunction::FloorDivide,
                            with(node, BinaryFunction::Add, times(i + 1), whole(node, out - 1)), whole(node, out));
      auto inside = with(node, BinaryFunction::And, with(node, BinaryFunction::GreaterOrEqual, places, begin),
                         with(node, BinaryFunction::Less, places, end));
      if (inside && !behind.empty()) inside = patch_.one(node, Unsqueeze{behind}, {*inside});
      if (!inside) return inside;
      auto cell = patch_.one(node, Where{}, {*inside, x, rest});
      if (cell) cell = patch_.one(node, Reduce{averages ? Reduction::Sum : Reduction::Maximum, {axis}, true}, {*cell});
      if (averages) {
        auto count = with(node, BinaryFunction::Subtract, end, begin);
        if (count) count = patch_.one(node, Cast{type.dtype}, {*count});
        cell = with(node, BinaryFunction::Divide, cell, count);
      }
      if (!cell) return cell;
      cells.push_back(*cell);
    }
    return patch_.one(node, Concat{axis}, std::move(cells));
  }

  const Graph& graph_;
  int numbers_ = 0;
  bool lite_ = false;  // TFLite has no such layer at all
  bool says_known_ = false;  // ONNX's writer says those of known sizes
  Patch patch_;
};

}  // namespace

Result<Patch> lower_adaptive(const Graph& graph, const Target& target) { return AdaptiveSpeller(graph, target).run(); }

}  // namespace convoy
