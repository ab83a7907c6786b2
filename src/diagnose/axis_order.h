// In which order of axes two models hold the same value. Both graphs are in the comparable form.
#pragma once
#include "graph/graph.h"

#include <optional>

namespace convoy::diagnose {

// The permutation that brings the shape `from` of a into `to` of b. Channels may lie first in one and last in the other; any
// other order must show in the numbers before it is believed: sizes that only look exchanged are a difference (nothing).
Sizes likely_order(const Sizes& from, const Sizes& to);
// Where an axis lies behind a step that only moves numbers. Nothing: it is no such step, or the axis is cut there.
std::optional<std::size_t> axis_behind(const Graph& graph, const Node& step, std::size_t axis);
// Whether the files have the axes of the models' inputs in the same order.
bool alike_inputs(const Graph& a, const Graph& b);

}  // namespace convoy::diagnose
