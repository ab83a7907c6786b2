// Takes a pad in front of a convolution or a pool into its own padding, where the target's layer can say both together:
// zeros into a convolution and into an average, which then counts them, minus infinity into a maximum.
#include "ops/vocabulary.h"
#include "passes/node_by_node.h"
#include "passes/pads.h"
#include "passes/rewrites.h"

#include <algorithm>
#include <limits>
#include <map>
#include <type_traits>

namespace convoy {

namespace {

// The pads of the spatial axes. Nothing: another axis is padded too, or with another value.
std::optional<std::vector<Added>> front_of(const Pad& pad, Axes axes, double value) {
  if (pad.mode != PadMode::Constant || pad.value != value) return std::nullopt;
  std::vector<Added> cells(static_cast<std::size_t>(axes.space));
  for (Size axis = 0; axis < static_cast<Size>(pad.before.size()); ++axis) {
    const auto at = static_cast<std::size_t>(axis);
    bool spatial = false;
    for (Size i = 0; i < axes.space; ++i)
      if (axes.spatial(i) == axis) {
        cells[static_cast<std::size_t>(i)] = {pad.before[at], pad.after[at]};
        spatial = true;
      }
    if (!spatial && (pad.before[at] != 0 || pad.after[at] != 0)) return std::nullopt;
  }
  return cells;
}

bool nothing(const Padding& p) { return p.spelling == Spelling::Valid || (p.before == 0 && p.after == 0); }
bool drops(const Padding& p) { return p.leftover == Leftover::Drop; }

// An average that leaves padding out has none of its own here, and counts what is folded in from now on.
bool may_count(AveragePool& pool) {
  if (!std::ranges::all_of(pool.paddings, drops)) return false;
  if (pool.counts_padding || pool.divisor) return true;
  pool.counts_padding = true;
  return std::ranges::all_of(pool.paddings, [](const Padding& p) {
    return (p.spelling == Spelling::Valid || p.spelling == Spelling::Explicit) && nothing(p);
  });
}
template <class Op>
bool may_count(Op&) {
  return true;
}

template <class Op>
constexpr Windowed kind = std::is_same_v<Op, Conv>      ? Windowed::Convolutions
                          : std::is_same_v<Op, MaxPool> ? Windowed::MaxPools
                                                        : Windowed::CountingAverages;

// What a pad adds that changes nothing.
template <class Op>
constexpr double worth_nothing = std::is_same_v<Op, MaxPool> ? -std::numeric_limits<double>::infinity() : 0;

class PaddingFolder {
 public:
  PaddingFolder(const Graph& graph, const Target& target) : graph_(graph), target_(target), patch_(graph) {
    uses_.resize(graph.values.size());
    for (const Node& node : graph.nodes)
      for (const ValueId v : node.inputs)
        if (v) ++uses_[v.slot()];
    for (const ValueId v : graph.outputs) ++uses_[v.slot()];
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      if (holds_alternative<Pad>(graph.nodes[i].op)) pads_[graph.nodes[i].outputs[0]] = static_cast<std::int32_t>(i);
  }

  Result<Patch> run() {
    return node_by_node<Conv, MaxPool, AveragePool>(graph_, patch_,
                                                    [&](NodeId id, const auto& op) { return fold(id, op); });
  }

 private:
  template <class Op>
  Status fold(NodeId id, Op op) {
    const Node& node = graph_[id];
    if (node.outputs.size() != 1) return {};  // positions of maxima count the cells of the padded input
    const auto found = pads_.find(node.inputs[0]);
    if (found == pads_.end() || uses_[node.inputs[0].slot()] != 1) return {};
    const Node& pad = graph_[NodeId{found->second}];
    const auto front = front_of(get<Pad>(pad.op), op.axes, worth_nothing<Op>);
    const auto before = op.paddings;
    if (!front || !may_count(op)) return {};
    const auto sizes = spatial_sizes(graph_[pad.inputs[0]].type.shape, op.axes);
    for (std::size_t i = 0; i < op.windows.size(); ++i) {
      const auto one = folded((*front)[i], op.paddings[i], op.windows[i], sizes[i]);
      if (!one) return {};
      op.paddings[i] = *one;
    }
    Windowed windowed = kind<Op>;
    if constexpr (std::is_same_v<Op, Conv>)
      if (op.kernel_order == KernelOrder::SpaceInMultiplier) windowed = Windowed::Depthwise;
    const auto said = respell({target_.framework, windowed, target_.opset}, op.paddings, op.windows, sizes);
    if (!said) return {};
    op.paddings = said->paddings;
    std::vector<ValueId> inputs = node.inputs;
    inputs[0] = pad.inputs[0];
    auto made = patch_.node(node, op, std::move(inputs));
    if (!made) return pass(made);
    patch_.remark(node,
                  "the pad of '" + pad.layer + "' and padding " + words(before) + " are padding " + words(op.paddings));
    patch_.remove(id);
    patch_.remove({found->second});
    patch_.replace(node.outputs[0], made->front());
    return {};
  }

  const Graph& graph_;
  const Target& target_;
  Patch patch_;
  std::vector<int> uses_;
  std::map<ValueId, std::int32_t> pads_;
};

}  // namespace

Result<Patch> fold_padding(const Graph& graph, const Target& target) { return PaddingFolder(graph, target).run(); }

}  // namespace convoy
