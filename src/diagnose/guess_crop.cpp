// What goes wrong where cells are cut off: other cells kept, in one cut or in several behind each other.
#include "diagnose/hypothesis.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace convoy::diagnose {

namespace {

// Along axes of an image, or of a sequence: parts of the channels are branches.
bool is_cut(const Node& node) {
  constexpr Size first_of_cells = 2;
  if (const auto* slice = get_if<Slice>(&node.op)) return slice->axis >= first_of_cells && slice->step == 1;
  const auto* pad = get_if<Pad>(&node.op);
  return pad && cuts_alone(*pad);
}

// Cuts, each of which reads the one before it alone.
struct Cuts {
  ValueId from, to;
  std::vector<std::size_t> nodes;
};

std::vector<Cuts> cuts_in(const Graph& piece) {
  std::vector<Cuts> all;
  for (std::size_t i = 0; i < piece.nodes.size(); ++i) {
    const Node& node = piece.nodes[i];
    if (!is_cut(node)) continue;
    const auto before = std::ranges::find(all, node.inputs[0], &Cuts::to);
    const auto readers = std::ranges::count_if(
        piece.nodes, [&](const Node& n) { return std::ranges::find(n.inputs, node.inputs[0]) != n.inputs.end(); });
    if (before == all.end() || readers > 1) all.push_back({node.inputs[0], node.outputs[0], {i}});
    else before->to = node.outputs[0], before->nodes.push_back(i);
  }
  return all;
}

std::string text_of(const Graph& piece, const std::vector<std::size_t>& nodes) {
  std::string text;
  const auto add = [&](Size axis, const std::string& cells) {
    text += fmt::format("{}{} of axis {}", text.empty() ? "" : ", ", cells, axis);
  };
  const auto bound = [](const std::optional<Size>& n) { return n ? std::to_string(*n) : std::string(); };
  for (const std::size_t n : nodes) {
    if (const auto* slice = get_if<Slice>(&piece.nodes[n].op))
      add(slice->axis, bound(slice->start) + ":" + bound(slice->stop));
    const auto* pad = get_if<Pad>(&piece.nodes[n].op);
    for (std::size_t i = 0; pad && i < pad->before.size(); ++i)
      if (pad->before[i] != 0 || pad->after[i] != 0)
        add(static_cast<Size>(i), fmt::format("{}:{}", -pad->before[i], pad->after[i] < 0 ? bound(pad->after[i]) : ""));
  }
  return text.empty() ? "all cells" : "cells " + text;
}

}  // namespace

bool cuts_alone(const Pad& pad) {
  const auto cuts = [](Size n) { return n <= 0; };
  return std::ranges::all_of(pad.before, cuts) && std::ranges::all_of(pad.after, cuts);
}

void guess_crop(Guesses& guesses) {
  const Graph &a = guesses.scene.a, &b = guesses.scene.b;
  const std::vector<Cuts> ours = cuts_in(a);
  std::vector<Cuts> theirs = cuts_in(b);
  if (theirs.empty()) theirs.push_back({});
  for (const Cuts& own : ours)
    for (const Cuts& other : theirs) {
      const Node& about = a.nodes[own.nodes.front()];
      Graph changed = with_function(a, own.from, own.to, b, other.nodes, other.from, other.to, about);
      guesses.add("crop", about, text_of(b, other.nodes) + " in place of " + text_of(a, own.nodes), std::move(changed));
    }
  for (const Cuts& other : theirs) {
    if (!ours.empty() || other.nodes.empty() || a.nodes.empty()) continue;
    Graph changed = a;
    for (const std::size_t n : other.nodes)
      changed = with_node_behind(changed, changed.outputs[0], b.nodes[n].op, a.nodes.back());
    guesses.add("crop", a.nodes.back(), text_of(b, other.nodes) + " in place of all cells", std::move(changed));
  }
}

}  // namespace convoy::diagnose
