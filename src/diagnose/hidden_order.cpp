#include "diagnose/hidden_order.h"

#include "diagnose/channel_order.h"
#include "diagnose/hypothesis.h"
#include "diagnose/scaled.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

namespace convoy::diagnose {
namespace {

// Along an axis of a value, cell i is to become what cell order[i] is.
struct Reordered {
  Size axis = 1;
  Sizes order;
  friend bool operator==(const Reordered&, const Reordered&) = default;
};

// What a layer with a kernel makes and reads, by the axes of the kernel.
struct KernelAxes {
  std::size_t made, read;
  Size axis;  // of the value that it makes
};

std::optional<KernelAxes> kernel_axes(const Graph& graph, const Node& node) {
  if (const auto* conv = std::get_if<Conv>(&node.op); conv && conv->groups == 1) return KernelAxes{0, 1, 1};
  if (const auto* up = std::get_if<ConvTranspose>(&node.op); up && up->groups == 1) return KernelAxes{1, 0, 1};
  const Size last = std::ssize(graph[node.outputs[0]].type.shape) - 1;
  if (const auto* linear = std::get_if<Linear>(&node.op))
    return linear->order == LinearOrder::OutIn ? KernelAxes{0, 1, last} : KernelAxes{1, 0, last};
  return std::nullopt;
}

// The edits that carry one order on from the layer that makes it, node by node. Fails where one cannot.
class Carrying {
 public:
  Carrying(const Graph& graph, const std::vector<std::vector<NodeId>>& readers) : graph_(graph), readers_(readers) {}

  bool from(std::size_t maker, const Reordered& order) {
    const Node& node = graph_.nodes[maker];
    const auto axes = kernel_axes(graph_, node);
    if (!axes || !edit(node, 1, axes->made, order.order) || (has(node, 2) && !edit(node, 2, 0, order.order)))
      return false;
    if (!hand_on(node.outputs[0], order)) return false;
    for (std::size_t i = maker + 1; i < graph_.nodes.size(); ++i)
      if (!node_at(graph_.nodes[i])) return false;
    return true;
  }

  // Whether what reads the channels holds a's numbers once they are put in order: otherwise the maker alone was changed.
  bool is_meant(const Graph& a, const Alignment& alignment) const {
    return !ends_.empty() && std::ranges::all_of(ends_, [&](const End& end) {
      const auto match = std::ranges::find_if(
          alignment.matches, [&](const Match& one) { return one.node_b && &graph_[one.node_b] == end.node; });
      if (match == alignment.matches.end() || !match->node_a) return false;
      const Tensor* own = constant_of(a, a[match->node_a], 1);
      const Tensor& now = edits_.at(end.node->inputs[1]);
      return own && (match->how == How::Scaled ? holds_scaled(*own, now, end) : holds_moved(*own, now, end));
    });
  }

  void apply(Graph& graph) {
    for (auto& [value, tensor] : edits_) graph[value].constant = std::move(tensor);
  }

 private:
  struct End {
    const Node* node;
    std::size_t axis, made;  // of its kernel: what it reads, and what it makes
    Sizes order;
  };

  // Of the slices that were moved, more than half are a's now. What a slice holds tells it, in whatever order.
  static bool holds_moved(const Tensor& own, const Tensor& now, const End& end) {
    if (own.shape() != now.shape()) return false;
    std::size_t moved = 0, equal = 0;
    for (std::size_t i = 0; i < end.order.size(); ++i) {
      if (end.order[i] == static_cast<Size>(i)) continue;
      auto x = taken(own, end.axis, {static_cast<Size>(i)}).floats(),
           y = taken(now, end.axis, {static_cast<Size>(i)}).floats();
      std::ranges::sort(x);
      std::ranges::sort(y);
      ++moved;
      equal += x == y;
    }
    return 2 * equal > moved;
  }

  // The same where a norm was folded into one of both kernels.
  static bool holds_scaled(const Tensor& own, const Tensor& now, const End& end) {
    if (own.shape() != now.shape()) return false;
    const auto x = unscaled_slices(own, end.made, end.axis), y = unscaled_slices(now, end.made, end.axis);
    std::size_t moved = 0, equal = 0;
    for (std::size_t i = 0; i < end.order.size(); ++i) {
      if (end.order[i] == static_cast<Size>(i)) continue;
      ++moved;
      equal += are_near(x[i], y[i]);
    }
    return 2 * equal > moved;
  }

  static bool has(const Node& node, std::size_t input) { return node.inputs.size() > input && node.inputs[input]; }

  bool hand_on(ValueId value, Reordered order) {
    if (std::ranges::find(graph_.outputs, value) != graph_.outputs.end()) return false;
    orders_.emplace(value, std::move(order));
    return true;
  }

  // A constant that this node alone reads, with the cells of one of its axes in the order.
  bool edit(const Node& node, std::size_t input, std::size_t axis, const Sizes& order) {
    const ValueId value = node.inputs[input];
    const auto& constant = graph_[value].constant;
    if (!constant || readers_[static_cast<std::size_t>(value.index)].size() != 1 || edits_.contains(value))
      return false;
    if (axis >= constant->shape().size() || constant->shape()[axis] != std::ssize(order)) return false;
    edits_.emplace(value, taken(*constant, axis, order));
    return true;
  }
  bool edit_vectors(const Node& node, std::size_t last, const Sizes& order) {
    for (std::size_t input = 1; input <= last; ++input)
      if (has(node, input) && graph_[node.inputs[input]].constant && graph_[node.inputs[input]].constant->count() > 1 &&
          !edit(node, input, 0, order))
        return false;
    return true;
  }

  bool node_at(const Node& node) {
    const Reordered* order = nullptr;
    for (const ValueId input : node.inputs)
      if (const auto found = orders_.find(input); input && found != orders_.end()) {
        if (order && !(*order == found->second)) return false;
        order = &found->second;
      }
    return !order || taken_up(node, *order);
  }

  bool taken_up(const Node& node, const Reordered& order) {
    if (const auto axes = kernel_axes(graph_, node)) {
      const Size reads =
          std::holds_alternative<Linear>(node.op) ? std::ssize(graph_[node.inputs[0]].type.shape) - 1 : Size{1};
      if (reads != order.axis || !orders_.contains(node.inputs[0]) || !edit(node, 1, axes->read, order.order))
        return false;
      ends_.push_back({&node, axes->read, axes->made, order.order});
      return true;
    }
    if (const auto* conv = std::get_if<Conv>(&node.op)) {
      const bool is_depthwise = conv->groups == std::ssize(order.order) && order.axis == 1 &&
                                graph_[node.outputs[0]].type.shape[1] == Dim(conv->groups);
      return is_depthwise && edit(node, 1, 0, order.order) && (!has(node, 2) || edit(node, 2, 0, order.order)) &&
             hand_on(node.outputs[0], order);
    }
    if (const auto* norm = std::get_if<BatchNorm>(&node.op))
      return norm->axis == order.axis && edit_vectors(node, 4, order.order) && hand_on(node.outputs[0], order);
    if (const auto* norm = std::get_if<GroupNorm>(&node.op))
      return norm->axis == order.axis && (norm->groups == 1 || norm->groups == std::ssize(order.order)) &&
             edit_vectors(node, 2, order.order) && hand_on(node.outputs[0], order);
    if (const auto* norm = std::get_if<LayerNorm>(&node.op))
      return norm->axes == Sizes{order.axis} && edit_vectors(node, 2, order.order) && hand_on(node.outputs[0], order);
    if (std::holds_alternative<PRelu>(node.op))
      return order.axis == 1 && edit_vectors(node, 1, order.order) && hand_on(node.outputs[0], order);
    if (const auto* binary = std::get_if<Binary>(&node.op)) return of_two(node, *binary, order);
    if (std::holds_alternative<Flatten>(node.op) || std::holds_alternative<Reshape>(node.op))
      return flattened(node, order);
    if (const auto* turn = std::get_if<Transpose>(&node.op)) {
      const auto at = std::ranges::find(turn->permutation, order.axis);
      return hand_on(node.outputs[0], {at - turn->permutation.begin(), order.order});
    }
    return keeps_cells(node, order.axis) && hand_on(node.outputs[0], order);
  }

  // Operators that look at every channel alike and leave it in its place.
  bool keeps_cells(const Node& node, Size axis) const {
    const bool same_rank = graph_[node.outputs[0]].type.rank() == graph_[node.inputs[0]].type.rank();
    if (node.outputs.size() != 1) return false;
    if (const auto* reduce = std::get_if<Reduce>(&node.op))
      return std::ranges::all_of(reduce->axes, [&](Size one) { return one > axis; }) && !reduce->axes.empty();
    if (const auto* squeeze = std::get_if<Squeeze>(&node.op))
      return std::ranges::all_of(squeeze->axes, [&](Size one) { return one > axis; });
    if (const auto* pad = std::get_if<Pad>(&node.op))
      return pad->before[static_cast<std::size_t>(axis)] == 0 && pad->after[static_cast<std::size_t>(axis)] == 0;
    if (const auto* resize = std::get_if<Resize>(&node.op))
      return std::ranges::find(resize->axes, axis) == resize->axes.end();
    const bool pools = std::holds_alternative<MaxPool>(node.op) || std::holds_alternative<AveragePool>(node.op) ||
                       std::holds_alternative<AdaptivePool>(node.op);
    if (pools) return axis == 1 && same_rank;
    return node.inputs.size() == 1 &&
           (std::holds_alternative<Unary>(node.op) || std::holds_alternative<Relu>(node.op) ||
            std::holds_alternative<Clip>(node.op) || std::holds_alternative<Affine>(node.op) ||
            std::holds_alternative<HardSigmoid>(node.op) || std::holds_alternative<Identity>(node.op) ||
            std::holds_alternative<Elu>(node.op) || std::holds_alternative<Celu>(node.op) ||
            std::holds_alternative<Shrink>(node.op) || std::holds_alternative<Squareplus>(node.op) ||
            std::holds_alternative<Softplus>(node.op) || std::holds_alternative<Threshold>(node.op));
  }

  // Both operands in the order, or the other one a constant: one number, or one per cell of the axis.
  bool of_two(const Node& node, const Binary&, const Reordered& order) {
    const Shape& shape = graph_[node.outputs[0]].type.shape;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (orders_.contains(node.inputs[i])) {
        if (graph_[node.inputs[i]].type.shape != shape) return false;
        continue;
      }
      const auto& constant = graph_[node.inputs[i]].constant;
      if (!constant) return false;
      const Size along = order.axis - (std::ssize(shape) - constant->rank());
      if (along < 0 || constant->shape()[static_cast<std::size_t>(along)] == 1) continue;
      if (!edit(node, i, static_cast<std::size_t>(along), order.order)) return false;
    }
    return hand_on(node.outputs[0], order);
  }

  // [N, C, n...] -> [N, C * n...]: every channel becomes a run of cells.
  bool flattened(const Node& node, const Reordered& order) {
    const auto from = sizes_of(graph_[node.inputs[0]].type.shape), to = sizes_of(graph_[node.outputs[0]].type.shape);
    if (!from || !to || order.axis != 1 || from->size() < 2 || to->size() != 2 || (*from)[0] != (*to)[0]) return false;
    const Size run = (*to)[1] / std::max<Size>(1, (*from)[1]);
    constexpr Size most = Size{1} << 24;
    if (run * (*from)[1] != (*to)[1] || (*to)[1] > most) return false;
    Sizes cells;
    for (const Size channel : order.order)
      for (Size i = 0; i < run; ++i) cells.push_back(channel * run + i);
    return hand_on(node.outputs[0], {1, std::move(cells)});
  }

  const Graph& graph_;
  const std::vector<std::vector<NodeId>>& readers_;
  std::map<ValueId, Reordered> orders_;
  std::map<ValueId, Tensor> edits_;
  std::vector<End> ends_;
};

Sizes inverse_of(const Sizes& order) {
  Sizes inverse(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) inverse[static_cast<std::size_t>(order[i])] = static_cast<Size>(i);
  return inverse;
}

}  // namespace

std::vector<std::string> settle_hidden_orders(const Graph& a, Graph& b, const Alignment& alignment) {
  std::vector<std::string> settled;
  const auto readers = readers_of(b);
  for (const Match& match : alignment.matches) {
    if (!match.node_a || !match.node_b) continue;
    const Node &own = a[match.node_a], &other = b[match.node_b];
    const auto axes = own.op.index() == other.op.index() ? kernel_axes(b, other) : std::nullopt;
    if (!axes) continue;
    const Tensor *kernel = constant_of(a, own, 1), *theirs = constant_of(b, other, 1);
    auto order = kernel && theirs ? order_between(*kernel, *theirs, axes->made) : std::nullopt;
    if (!order && kernel && theirs && match.how == How::Scaled)
      order = scaled_order_between(*kernel, *theirs, axes->made);
    if (!order) continue;
    Carrying carrying(b, readers);
    if (!carrying.from(static_cast<std::size_t>(match.node_b.index), {axes->axis, inverse_of(*order)}) ||
        !carrying.is_meant(a, alignment))
      continue;
    carrying.apply(b);
    settled.push_back(own.layer);
  }
  return settled;
}

}  // namespace convoy::diagnose
