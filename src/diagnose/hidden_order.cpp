#include "diagnose/hidden_order.h"

#include "convoy/cancellation.h"
#include "diagnose/channel_order.h"
#include "diagnose/hypothesis.h"
#include "diagnose/scaled.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

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
  if (const auto* conv = get_if<Conv>(&node.op); conv && conv->groups == 1) return KernelAxes{0, 1, 1};
  if (const auto* up = get_if<ConvTranspose>(&node.op); up && up->groups == 1) return KernelAxes{1, 0, 1};
  const Size last = std::ssize(graph[node.outputs[0]].type.shape) - 1;
  if (const auto* linear = get_if<Linear>(&node.op))
    return linear->order == LinearOrder::OutIn ? KernelAxes{0, 1, last} : KernelAxes{1, 0, last};
  return std::nullopt;
}

// The edits that carry one order from the layer that makes it to all that holds the same channels: on to what reads them, and
// back to other layers that make what they are added to. Fails where one cannot.
class Carrying {
 public:
  Carrying(const Graph& graph, const std::vector<std::vector<NodeId>>& readers) : graph_(graph), readers_(readers) {}

  bool from(NodeId maker, const Reordered& order) {
    if (!put(graph_[maker].outputs[0], order)) return false;
    while (!open_.empty()) {
      const NodeId n = *open_.begin();
      open_.erase(open_.begin());
      if (!visit(n)) return false;
    }
    return true;
  }

  // Whether what makes and reads the channels holds a's numbers once they are put in order: otherwise one layer alone was
  // changed.
  bool is_meant(const Graph& a, const Alignment& alignment) const {
    return reads_ && std::ranges::all_of(ends_, [&](const End& end) {
             const auto match = std::ranges::find_if(
                 alignment.matches, [&](const Match& one) { return one.node_b && &graph_[one.node_b] == end.node; });
             if (match == alignment.matches.end() || !match->node_a) return false;
             const Tensor* own = constant_of(a, a[match->node_a], 1);
             if (!own) return false;
             const Tensor& now = edits_.at(end.node->inputs[1]);
             return own->shape() == now.shape() &&
                    (match->how == How::Scaled ? holds_scaled(*own, now, end) : holds_moved(*own, now, end));
           });
  }

  void apply(Graph& graph) {
    for (auto& [value, tensor] : edits_) graph[value].constant = std::move(tensor);
  }

 private:
  struct End {
    const Node* node;
    std::size_t axis, made;  // of its kernel: along which it was put in order, and what it makes
    Sizes order;
  };

  template <class Alike>
  static bool most_are(const Sizes& order, Alike&& alike) {
    std::size_t moved = 0, equal = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (order[i] == static_cast<Size>(i)) continue;
      ++moved;
      equal += alike(i);
    }
    return 2 * equal > moved;
  }

  // Of the slices that were moved, more than half are a's now. What a slice holds tells it, in whatever order.
  static bool holds_moved(const Tensor& own, const Tensor& now, const End& end) {
    return most_are(end.order, [&](std::size_t i) {
      auto x = taken(own, end.axis, {static_cast<Size>(i)}).floats(),
           y = taken(now, end.axis, {static_cast<Size>(i)}).floats();
      std::ranges::sort(x);
      std::ranges::sort(y);
      return x == y;
    });
  }

  // The same where a norm was folded into one of both kernels.
  static bool holds_scaled(const Tensor& own, const Tensor& now, const End& end) {
    const auto x = unscaled_slices(own, end.made, end.axis), y = unscaled_slices(now, end.made, end.axis);
    return most_are(end.order, [&](std::size_t i) { return are_near(x[i], y[i]); });
  }

  static bool has(const Node& node, std::size_t input) { return node.inputs.size() > input && node.inputs[input]; }

  // A value has the order, or must: whoever makes and reads it follows.
  bool put(ValueId value, const Reordered& order) {
    if (const auto known = orders_.find(value); known != orders_.end()) return known->second == order;
    const Value& what = graph_[value];
    const bool is_seen = std::ranges::find(graph_.outputs, value) != graph_.outputs.end() || !what.producer;
    if (is_seen || what.constant) return false;
    orders_.emplace(value, order);
    open_.insert(what.producer);
    for (const NodeId reader : readers_[value.slot()]) open_.insert(reader);
    return true;
  }

  // A constant that this node alone reads, with the cells of one of its axes in the order; once.
  bool edit(const Node& node, std::size_t input, std::size_t axis, const Sizes& order) {
    const ValueId value = node.inputs[input];
    if (!edited_.emplace(value, axis).second) return true;
    const auto& constant = graph_[value].constant;
    if (!constant || readers_[value.slot()].size() != 1) return false;
    if (axis >= constant->shape().size() || constant->shape()[axis] != std::ssize(order)) return false;
    const auto known = edits_.find(value);
    const Tensor now = taken(known == edits_.end() ? *constant : known->second, axis, order);
    edits_.insert_or_assign(value, now);
    return true;
  }
  bool edit_vectors(const Node& node, std::size_t last, const Sizes& order) {
    for (std::size_t input = 1; input <= last; ++input)
      if (has(node, input) && graph_[node.inputs[input]].constant && graph_[node.inputs[input]].constant->count() > 1 &&
          !edit(node, input, 0, order))
        return false;
    return true;
  }

  const Reordered* order_at(ValueId value) const {
    const auto found = orders_.find(value);
    return found == orders_.end() ? nullptr : &found->second;
  }

  bool visit(NodeId n) {
    const Node& node = graph_[n];
    if (kernel_axes(graph_, node)) return at_kernel(node);
    if (node.outputs.size() != 1) return false;
    if (holds_alternative<Binary>(node.op)) return at_binary(node);
    if (const auto* concat = get_if<Concat>(&node.op)) return at_concat(node, *concat);
    if (has(node, 0) && order_at(node.inputs[0]) && flattens(node)) return flattened(node, *order_at(node.inputs[0]));
    if (const auto* turn = get_if<Transpose>(&node.op)) return at_transpose(node, *turn);
    const Reordered* order = has(node, 0) ? order_at(node.inputs[0]) : nullptr;
    if (!order) order = order_at(node.outputs[0]);
    if (!order) return false;  // it is read in a place where no channels lie
    const Reordered both = *order;
    return keeps_channels(node, both) && put(node.inputs[0], both) && put(node.outputs[0], both);
  }

  bool at_kernel(const Node& node) {
    const auto axes = *kernel_axes(graph_, node);
    if (const Reordered* made = order_at(node.outputs[0])) {
      if (made->axis != axes.axis || !edit(node, 1, axes.made, made->order) ||
          (has(node, 2) && !edit(node, 2, 0, made->order)))
        return false;
      ends_.push_back({&node, axes.made, axes.made, made->order});
    }
    if (const Reordered* read = order_at(node.inputs[0])) {
      const Size along =
          holds_alternative<Linear>(node.op) ? std::ssize(graph_[node.inputs[0]].type.shape) - 1 : Size{1};
      if (along != read->axis || !edit(node, 1, axes.read, read->order)) return false;
      ends_.push_back({&node, axes.read, axes.made, read->order});
      reads_ = true;
    }
    return order_at(node.inputs[1]) == nullptr;
  }

  // Each channel is worked on like every other, and by numbers of its own; the vectors follow.
  bool keeps_channels(const Node& node, const Reordered& order) {
    if (const auto* conv = get_if<Conv>(&node.op)) {
      const bool is_depthwise = conv->groups == std::ssize(order.order) && order.axis == 1 &&
                                graph_[node.outputs[0]].type.shape[1] == Dim(conv->groups);
      return is_depthwise && edit(node, 1, 0, order.order) && (!has(node, 2) || edit(node, 2, 0, order.order));
    }
    if (const auto* norm = get_if<BatchNorm>(&node.op))
      return norm->axis == order.axis && edit_vectors(node, 4, order.order);
    if (const auto* norm = get_if<GroupNorm>(&node.op))
      return norm->axis == order.axis && (norm->groups == 1 || norm->groups == std::ssize(order.order)) &&
             edit_vectors(node, 2, order.order);
    if (const auto* norm = get_if<LayerNorm>(&node.op))
      return norm->axes == Sizes{order.axis} && edit_vectors(node, 2, order.order);
    if (holds_alternative<PRelu>(node.op)) return order.axis == 1 && edit_vectors(node, 1, order.order);
    return keeps_cells(node, order.axis);
  }

  // Operators that look at every channel alike and leave it in its place.
  bool keeps_cells(const Node& node, Size axis) const {
    const bool same_rank = graph_[node.outputs[0]].type.rank() == graph_[node.inputs[0]].type.rank();
    const auto are_behind = [&](const Sizes& axes) {
      return std::ranges::all_of(axes, [&](Size one) { return one > axis; });
    };
    if (node.inputs.size() != 1) return false;
    if (const auto* reduce = get_if<Reduce>(&node.op)) return are_behind(reduce->axes) && !reduce->axes.empty();
    if (const auto* squeeze = get_if<Squeeze>(&node.op)) return are_behind(squeeze->axes);
    if (const auto* unsqueeze = get_if<Unsqueeze>(&node.op)) return are_behind(unsqueeze->axes);
    if (const auto* slice = get_if<Slice>(&node.op)) return slice->axis != axis;
    if (const auto* pad = get_if<Pad>(&node.op))
      return pad->before[static_cast<std::size_t>(axis)] == 0 && pad->after[static_cast<std::size_t>(axis)] == 0;
    if (const auto* resize = get_if<Resize>(&node.op))
      return std::ranges::find(resize->axes, axis) == resize->axes.end();
    if (traits_of(node.op).kind == LayerKind::Pooling) return axis == 1 && same_rank;
    if (holds_alternative<Reshape>(node.op) || holds_alternative<Flatten>(node.op)) {
      const Shape &from = graph_[node.inputs[0]].type.shape, &to = graph_[node.outputs[0]].type.shape;
      const auto n = static_cast<std::ptrdiff_t>(axis) + 1;
      return std::ssize(from) >= n && std::ssize(to) >= n && std::equal(from.begin(), from.begin() + n, to.begin());
    }
    return holds_alternative<Softmax>(node.op) || traits_of(node.op).axes == AxisUse::Elementwise;
  }

  // All operands in the order, constants too, where they are as wide as the channels.
  bool at_binary(const Node& node) {
    const Shape& shape = graph_[node.outputs[0]].type.shape;
    const auto shift = [&](ValueId v) { return std::ssize(shape) - std::ssize(graph_[v].type.shape); };
    std::optional<Reordered> order;
    if (const Reordered* made = order_at(node.outputs[0])) order = *made;
    for (const ValueId input : node.inputs)
      if (const Reordered* read = order_at(input)) {
        const Reordered here{read->axis + shift(input), read->order};
        if (order && !(*order == here)) return false;
        order = here;
      }
    if (!order || shape[static_cast<std::size_t>(order->axis)] != Dim(std::ssize(order->order))) return false;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      const Size along = order->axis - shift(input);
      if (along < 0 || graph_[input].type.shape[static_cast<std::size_t>(along)] == Dim(1)) continue;
      const bool follows = graph_[input].constant ? edit(node, i, static_cast<std::size_t>(along), order->order)
                                                  : put(input, {along, order->order});
      if (!follows) return false;
    }
    return put(node.outputs[0], *order);
  }

  // Side by side along the channels, the part that has an order hands it on; along another axis all parts have it.
  bool at_concat(const Node& node, const Concat& concat) {
    const Reordered* made = order_at(node.outputs[0]);
    const auto parts = std::ranges::count_if(node.inputs, [&](ValueId v) { return order_at(v) != nullptr; });
    if (parts == 0 && !made) return false;
    const auto first = std::ranges::find_if(node.inputs, [&](ValueId v) { return order_at(v) != nullptr; });
    const Reordered order = first == node.inputs.end() ? *made : *order_at(*first);
    if (order.axis != concat.axis)
      return put(node.outputs[0], order) && std::ranges::all_of(node.inputs, [&](ValueId v) { return put(v, order); });
    if (parts != 1) return false;
    Sizes all;
    for (const ValueId v : node.inputs) {
      const Dim width = graph_[v].type.shape[static_cast<std::size_t>(concat.axis)];
      if (!width.known()) return false;
      const Size offset = std::ssize(all);
      for (Size i = 0; i < *width; ++i)
        all.push_back(offset + (v == *first ? order.order[static_cast<std::size_t>(i)] : i));
    }
    return put(node.outputs[0], {order.axis, std::move(all)});
  }

  bool at_transpose(const Node& node, const Transpose& turn) {
    if (const Reordered* read = order_at(node.inputs[0])) {
      const auto at = std::ranges::find(turn.permutation, read->axis);
      return put(node.outputs[0], {at - turn.permutation.begin(), read->order});
    }
    const Reordered* made = order_at(node.outputs[0]);
    return made && put(node.inputs[0], {turn.permutation[static_cast<std::size_t>(made->axis)], made->order});
  }

  bool flattens(const Node& node) const {
    const bool reshapes = holds_alternative<Flatten>(node.op) || holds_alternative<Reshape>(node.op);
    const Shape &from = graph_[node.inputs[0]].type.shape, &to = graph_[node.outputs[0]].type.shape;
    return reshapes && from.size() > 2 && to.size() == 2 && from[1] != to[1];
  }

  // [N, C, n...] -> [N, C * n...]: every channel becomes a run of cells.
  bool flattened(const Node& node, const Reordered& order) {
    const auto from = sizes_of(graph_[node.inputs[0]].type.shape), to = sizes_of(graph_[node.outputs[0]].type.shape);
    if (!from || !to || order.axis != 1 || (*from)[0] != (*to)[0]) return false;
    const Size run = (*to)[1] / std::max<Size>(1, (*from)[1]);
    constexpr Size most = Size{1} << 24;
    if (run * (*from)[1] != (*to)[1] || (*to)[1] > most) return false;
    Sizes cells;
    for (const Size channel : order.order)
      for (Size i = 0; i < run; ++i) cells.push_back(channel * run + i);
    return put(node.outputs[0], {1, std::move(cells)});
  }

  const Graph& graph_;
  const std::vector<std::vector<NodeId>>& readers_;
  std::map<ValueId, Reordered> orders_;
  std::set<NodeId> open_;
  std::set<std::pair<ValueId, std::size_t>> edited_;  // constants, and along which axis
  std::map<ValueId, Tensor> edits_;
  std::vector<End> ends_;
  bool reads_ = false;  // some layer reads the channels
};

}  // namespace

std::vector<std::string> settle_hidden_orders(const Graph& a, Graph& b, const Alignment& alignment) {
  std::vector<std::string> settled;
  const auto readers = readers_of(b);
  for (const Match& match : alignment.matches) {
    if (!match.node_a || !match.node_b || Listening::is_cancelled()) continue;
    const Node &own = a[match.node_a], &other = b[match.node_b];
    const auto axes = own.op.index() == other.op.index() ? kernel_axes(b, other) : std::nullopt;
    if (!axes) continue;
    const Tensor *kernel = constant_of(a, own, 1), *theirs = constant_of(b, other, 1);
    auto order = kernel && theirs ? order_between(*kernel, *theirs, axes->made) : std::nullopt;
    if (!order && kernel && theirs && match.how == How::Scaled)
      order = scaled_order_between(*kernel, *theirs, axes->made);
    if (!order) continue;
    Carrying carrying(b, readers);
    if (!carrying.from(match.node_b, {axes->axis, inverse(*order)}) || !carrying.is_meant(a, alignment)) continue;
    carrying.apply(b);
    settled.push_back(own.layer);
  }
  return settled;
}

}  // namespace convoy::diagnose
