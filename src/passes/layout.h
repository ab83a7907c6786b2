// The sweep behind move_axes: every value is held in one order of its axes, chosen once; an operator gets its inputs in
// the order it needs, and a Transpose appears only where that is another one.
#pragma once
#include "passes/axis_orders.h"
#include "passes/constants.h"
#include "passes/interface.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace convoy {

// Features of a flattened value in another order: the source's features, as `split`, permuted.
struct Features {
  Sizes split, permutation;
};

// A value of the source graph as the sweep holds it.
struct Held {
  ValueId id;
  Sizes order;  // axis i of `id` is axis order[i] of the source value
  Sizes home;  // the order it is handed out in, where the graph ends
  std::optional<Features> features{};
};

class Layout {
 public:
  // Without an interface, inputs and outputs lie as their layers want.
  Layout(const Graph& graph, Order to, const std::optional<Interface>& interface);
  Result<Patch> run();

 private:
  Sizes order_of_input(std::size_t i) const;
  Status hand_out(std::size_t i);  // output i, in the order it is to have outside
  Status step(const Node& node);
  Result<ValueId> alias(const Node& node, ValueId value);
  Status spatial(const Node& node, const Sizes& order);
  Status shared_order(const Node& node);
  Status binary(const Node& node, const Binary& op);
  Status prelu(const Node& node, const PRelu& op);
  Status group_norm(const Node& node, GroupNorm op, const Sizes& wanted);
  Status transpose(const Node& node, const Transpose& op);
  Status reduce(const Node& node, Reduce op);
  Status linear(const Node& node, const Linear& op);
  Status einsum(const Node& node, const Einsum& op);
  Status expand_like(const Node& node, ExpandLike op);
  template <class Norm>
  Status trailing_norm(const Node& node, Norm op);
  Status reshape(const Node& node);
  Status flatten(const Node& node);
  Status in_source_order(const Node& node);
  Status ordered_features(const Node& node, const Features& features);

  // A source value in the order wanted, by a Transpose (or a constant permuted) where it is held in another.
  Result<ValueId> in(const Node& like, ValueId source, const Sizes& wanted);
  // All inputs; those past the first in source order.
  Result<std::vector<ValueId>> inputs_with_first_in(const Node& node, const Sizes& order);
  // An operand of a broadcast of rank order.size(), to match values held in `order`.
  Result<ValueId> operand(const Node& node, ValueId source, const Sizes& order);
  // Makes the node anew; all outputs get this order and home.
  Status emit(const Node& node, Op op, std::vector<ValueId> inputs, const Sizes& order, const Sizes& home,
              std::optional<Features> features = {});
  const Held& held(ValueId v) const { return held_[v.slot()]; }
  const TensorType& type(ValueId v) const { return graph_[v].type; }
  const Sizes& wish(ValueId v) const { return wishes_[v.slot()]; }
  // Whether every reader of a flattened value can take its features in another order.
  bool takes_features(ValueId v) const;
  bool reads_features(const Node& node, ValueId v) const;
  Sizes common_order(const Node& node) const;

  const Graph& graph_;
  Order to_;
  const std::optional<Interface>& interface_;
  Patch patch_;
  Constants constants_;
  std::vector<Sizes> wishes_;
  std::vector<std::vector<NodeId>> readers_;
  std::vector<Held> held_;
  std::map<std::pair<ValueId, Sizes>, ValueId> turned_;
  bool changed_ = false;
};

}  // namespace convoy
