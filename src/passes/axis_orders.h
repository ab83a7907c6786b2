// Orders of axes as permutations of a value's source order: which one an operator wants, and how one order turns into
// another across operators that move, merge or split axes.
#pragma once
#include "base/permute.h"
#include "graph/graph.h"

#include <optional>
#include <vector>

namespace convoy {

Sizes source_order(Size rank);
// Where axis `axis` of the source order lies in `order`.
Size place_in(const Sizes& order, Size axis);

// The order that brings the first input of a windowed, resizing or shuffling operator into the target's order `to`; empty:
// it has no wish.
Sizes wanted_order(const Node& node, const TensorType& x, Order to);

// The operator for an input (or inputs) in another order of axes, giving its output in that order too. Nothing: the
// operator is bound to the order it knows, or changes axes.
std::optional<Op> reordered(const Op& op, const Sizes& order);

// The same, of a Resize: its lists follow its axes.
Resize resized_in(const Resize& op, const Sizes& order);

// Axes of x and y that hold the same elements: each group's axes of x are neighbours, and so are those of y. A group may
// be empty on one side (an axis of size 1 that comes or goes).
struct AxisGroup {
  Sizes in, out;
};
using AxisGroups = std::vector<AxisGroup>;
AxisGroups groups_of(const Op& op, const Shape& in, const Shape& out);  // Reshape, Flatten, Squeeze, Unsqueeze
AxisGroups reversed(AxisGroups groups);

// The order of y that follows without moving data when x has `order`; `wish` (may be empty) decides where axes without a
// counterpart go. Nothing: a group's axes are not neighbours in their own order.
std::optional<Sizes> carried(const AxisGroups& groups, const Sizes& order, const Sizes& wish);

// `order` with the axes of each group side by side and in their own order, at the place of the first of them.
Sizes gathered(const AxisGroups& groups, const Sizes& order);

// What every value would like to be ordered as, looking back from its readers; empty: no wish.
std::vector<Sizes> wishes_of(const Graph& graph, Order to);

}  // namespace convoy
