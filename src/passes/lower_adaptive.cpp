// Says adaptive pools by layers that Keras runs: one cell as a reduction, lengths that divide as a pool of that window, and a
// maximum with one cell along some axes axis by axis. What Keras's adaptive layers say is left to them.
#include "passes/node_by_node.h"
#include "passes/pads.h"
#include "passes/rewrites.h"

#include <algorithm>

namespace convoy {

namespace {

class AdaptiveSpeller {
 public:
  AdaptiveSpeller(const Graph& graph, const Target& target) : graph_(graph), lite_(target.lite), patch_(graph) {}

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
    const bool known = std::ranges::all_of(sizes, [](const auto& n) { return n.has_value(); });
    if (!known || (!lite_ && (pool.kind == Extreme::Average || ones == 0))) return {};
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

  const Graph& graph_;
  bool lite_ = false;  // TFLite has no such layer at all
  Patch patch_;
};

}  // namespace

Result<Patch> lower_adaptive(const Graph& graph, const Target& target) { return AdaptiveSpeller(graph, target).run(); }

}  // namespace convoy
