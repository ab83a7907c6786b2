#include "passes/interface.h"

#include "passes/axis_orders.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace convoy {

namespace {

constexpr Size least_rank_of_norms = 4;  // below it the last axis may be the features of a sequence

bool is_float(const TensorType& type) { return type.dtype < DType::I8; }

// Values whose axes lie alike: between them stand operators that leave every axis where it is.
class Alike {
 public:
  explicit Alike(const Graph& graph) : graph_(graph), above_(graph.values.size()) {
    std::iota(above_.begin(), above_.end(), std::size_t{0});
    for (const Node& node : graph.nodes) join(node);
  }
  std::size_t of(ValueId v) { return top(v.slot()); }

 private:
  std::size_t top(std::size_t i) {
    while (above_[i] != i) i = above_[i] = above_[above_[i]];
    return i;
  }

  static bool leaves_axes(const Op& op, Size rank) {
    if (holds_alternative<Linear>(op)) return rank >= least_rank_of_norms;
    return reordered(op, source_order(rank)).has_value() || holds_alternative<Binary>(op) ||
           holds_alternative<PRelu>(op) || holds_alternative<Where>(op) || holds_alternative<GroupNorm>(op) ||
           holds_alternative<LayerNorm>(op) || holds_alternative<RmsNorm>(op) || holds_alternative<ExpandLike>(op);
  }

  void join(const Node& node) {
    const Size rank = graph_[node.outputs[0]].type.rank();
    if (!leaves_axes(node.op, rank)) return;
    const bool reads_one = holds_alternative<ExpandLike>(node.op);  // of the other a length alone is read
    std::vector<ValueId> all = node.outputs;
    all.insert(all.end(), node.inputs.begin(), reads_one ? node.inputs.begin() + 1 : node.inputs.end());
    std::erase_if(all, [&](ValueId v) {
      return !v || graph_[v].constant || graph_[v].type.rank() != rank || !is_float(graph_[v].type);
    });
    for (const ValueId v : all) above_[of(v)] = of(all[0]);
  }

  const Graph& graph_;
  std::vector<std::size_t> above_;
};

// The axis of channels that an operator names of what it reads first or makes. Nothing: none, or another rank.
std::optional<Size> channels_named(const Op& op, Size rank, bool is_input) {
  return op.visit([&]<class T>(const T& o) -> std::optional<Size> {
    const auto of_rank = [&](Size wanted, Size axis) { return rank == wanted ? std::optional(axis) : std::nullopt; };
    if constexpr (requires { o.axes.channel(); }) {
      return of_rank(o.axes.rank(), o.axes.channel());
    } else if constexpr (std::is_same_v<T, DepthToSpace> || std::is_same_v<T, SpaceToDepth>) {
      return of_rank(4, Axes{o.order, 2}.channel());
    } else if constexpr (std::is_same_v<T, Unfold> || std::is_same_v<T, Fold>) {
      const bool is_image = std::is_same_v<T, Unfold> == is_input;  // columns of windows have no channels
      return is_image ? of_rank(static_cast<Size>(o.windows.size()) + 2, 1) : std::nullopt;
    } else if constexpr (std::is_same_v<T, GridSample>) {
      return 1;
    } else if constexpr (std::is_same_v<T, Resize>) {
      for (const Order order : {Order::ChannelsFirst, Order::ChannelsLast})
        if (rank >= 3 && o.axes == spatial_axes({order, rank - 2})) return Axes{order, rank - 2}.channel();
      return std::nullopt;
    } else if constexpr (std::is_same_v<T, BatchNorm> || std::is_same_v<T, GroupNorm> ||
                         std::is_same_v<T, LocalResponseNorm>) {
      return rank >= least_rank_of_norms ? std::optional(positive_axis(o.axis, rank)) : std::nullopt;
    } else {
      return std::nullopt;
    }
  });
}

bool is_recurrent(const Op& op) { return traits_of(op).kind == LayerKind::Recurrence; }

struct Named {
  std::set<Size> axes;
  std::string layer;  // the first that names one
  bool is_sequence = false;
};

std::vector<Named> named_axes(const Graph& graph, Alike& alike) {
  std::vector<Named> named(graph.values.size());
  for (const Node& node : graph.nodes) {
    const auto note = [&](ValueId v, bool is_input) {
      if (!v || !is_float(graph[v].type)) return;
      Named& of = named[alike.of(v)];
      const Size rank = graph[v].type.rank();
      if (is_recurrent(node.op)) of.is_sequence = of.is_sequence || rank == 3;
      const auto axis = channels_named(node.op, rank, is_input);
      if (!axis) return;
      if (of.layer.empty()) of.layer = node.layer;
      of.axes.insert(*axis);
    };
    if (!node.inputs.empty()) note(node.inputs[0], true);
    for (const ValueId v : node.outputs) note(v, false);
  }
  return named;
}

}  // namespace

Interface interface_of(const Graph& source, Order to) {
  Alike alike(source);
  const std::vector<Named> named = named_axes(source, alike);
  const auto border = [&](ValueId v) {
    const Size rank = source[v].type.rank();
    const Border kept{source_order(rank), {}};
    if (rank < 3 || !is_float(source[v].type)) return kept;
    const Named& found = named[alike.of(v)];
    const Order from = to == Order::ChannelsFirst ? Order::ChannelsLast : Order::ChannelsFirst;
    if (found.is_sequence || found.axes != std::set{Axes{from, rank - 2}.channel()}) return kept;
    return Border{to == Order::ChannelsFirst ? to_channels_first(rank - 2) : to_channels_last(rank - 2), found.layer};
  };
  Interface result;
  for (const ValueId v : source.inputs) result.inputs.push_back(border(v));
  for (const ValueId v : source.outputs) result.outputs.push_back(border(v));
  return result;
}

Interface interface_of_source(const Graph& source) {
  Interface result;
  for (const ValueId v : source.inputs) result.inputs.push_back({source_order(source[v].type.rank()), {}});
  for (const ValueId v : source.outputs) result.outputs.push_back({source_order(source[v].type.rank()), {}});
  return result;
}

}  // namespace convoy
