#include "diagnose/advised.h"

#include "diagnose/piece.h"
#include "explain/layers.h"
#include "formats/keras/write/document.h"
#include "formats/python.h"
#include "formats/torch/torch.h"
#include "passes/passes.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace convoy::diagnose {

namespace {

using Arguments = std::span<const std::string_view>;

// What the question may be about, and is said at its default, too: the last where there is a slope.
Arguments always_said(const Op& op) {
  static constexpr std::array<std::string_view, 8> all{"eps",  "epsilon",     "alpha",         "beta",
                                                       "axis", "approximate", "align_corners", "negative_slope"};
  const auto* relu = get_if<Relu>(&op);
  return relu && relu->negative_slope != 0 ? Arguments(all) : Arguments(all).first(all.size() - 1);
}

std::string joined_lines(const Result<std::vector<std::string>>& lines) {
  return lines ? python::joined(*lines, "; ") : std::string();
}

std::string in_torch(Graph graph, const std::vector<std::string>& names, Arguments always) {
  Target target = torch_target();
  target.interface = interface_of_source(graph);
  // The comparable form has channels first already; what was put there to move axes stays.
  if (!run_passes(graph, target, {"move_axes"})) return {};
  return joined_lines(torch::lines_of(graph, names, always));
}

std::string in_keras(Graph graph, const std::vector<std::string>& names, const Interface& outside, Arguments always) {
  Target target = keras_target();
  target.interface = outside;
  if (!run_passes(graph, target)) return {};
  return joined_lines(keras::lines_of(graph, names, always));
}

// ---- where the channels lie

// The axis on which the channels lie, by the layer that makes them. Nothing: none is in sight.
std::optional<Size> channels_of(const Graph& form, ValueId v) {
  const NodeId maker = form[v].producer;
  if (!maker || form[maker].inputs.empty() || !form[maker].inputs[0]) return std::nullopt;
  const Node& node = form[maker];
  const Traits& traits = traits_of(node.op);
  if (holds_alternative<Conv>(node.op) || holds_alternative<ConvTranspose>(node.op)) return 1;
  if (holds_alternative<Linear>(node.op) || traits.kind == LayerKind::Recurrence) return form[v].type.rank() - 1;
  if (holds_alternative<MatMul>(node.op) || holds_alternative<Einsum>(node.op)) return form[v].type.rank() - 1;
  const ValueId x = node.inputs[0];
  if (form[x].type.rank() != form[v].type.rank()) return std::nullopt;
  const auto from = channels_of(form, x);
  const auto* turn = get_if<Transpose>(&node.op);
  if (from && turn) return std::ranges::find(turn->permutation, *from) - turn->permutation.begin();
  if (from &&
      form[x].type.shape[static_cast<std::size_t>(*from)] != form[v].type.shape[static_cast<std::size_t>(*from)])
    return std::nullopt;
  return from;
}

// Whether the layer reads channels that a step right in front of it moved behind the other axes.
bool reads_moved_last(const Graph& form, const Node& node) {
  const NodeId maker = form[node.inputs[0]].producer;
  const auto* turn = maker ? get_if<Transpose>(&form[maker].op) : nullptr;
  return turn && channels_of(form, node.inputs[0]) == form[node.inputs[0]].type.rank() - 1 &&
         turn->permutation.back() == 1;
}

// Axis `from` behind all others.
Sizes moved_last(Size from, Size rank) {
  Sizes permutation;
  for (Size i = 0; i < rank; ++i)
    if (i != from) permutation.push_back(i);
  permutation.push_back(from);
  return permutation;
}

// Whether nothing but layers that leave the axes where they are lies between an input and this value.
bool is_of_input(const Graph& form, ValueId v) {
  while (const NodeId maker = form[v].producer) {
    const Node& node = form[maker];
    if (node.inputs.empty() || !node.inputs[0] || form[node.inputs[0]].type.rank() != form[v].type.rank()) return false;
    v = node.inputs[0];
  }
  return true;
}

// The axis of what this node reads that Keras has behind all others: its channels. Where none are in sight, images and
// what is padded have them in axis 1, and all else keeps its order.
Size last_in_keras(const Graph& form, const Node& node) {
  const ValueId x = node.inputs[0];
  const Size rank = form[x].type.rank();
  if (const auto* norm = get_if<BatchNorm>(&node.op)) return norm->axis;
  if (const auto* norm = get_if<GroupNorm>(&node.op)) return norm->axis;
  if (holds_alternative<Linear>(node.op) || traits_of(node.op).kind == LayerKind::Recurrence) return rank - 1;
  const auto channels = channels_of(form, x);
  if (channels) return *channels;
  const auto* norm = get_if<LayerNorm>(&node.op);
  const bool is_image = rank > 3 || holds_alternative<Pad>(node.op);
  return is_image && is_of_input(form, x) && !(norm && norm->axes == Sizes{rank - 1}) ? 1 : rank - 1;
}

// Keras has channels last, wherever they lie in the form.
Border in_keras_order(const Graph& form, const Node& node, ValueId v) {
  const Size rank = form[v].type.rank();
  if (rank < 3) return {moved_last(rank - 1, rank), {}};
  const Size last = last_in_keras(form, node);
  const bool has_axis = last == 1 || form[node.inputs[0]].type.rank() == rank;
  return {moved_last(has_axis ? last : rank - 1, rank), {}};
}

// ---- what a writer says better in other words

// A norm over one axis, with that axis moved behind the others around it.
std::optional<Graph> norm_moved_last(const Graph& as_read, const Graph& form, const Node& node) {
  const auto* norm = get_if<LayerNorm>(&node.op);
  if (!norm || norm->axes.size() != 1) return std::nullopt;
  TensorType type = form[node.inputs[0]].type;
  const Size rank = type.rank();
  Size axis = norm->axes[0];
  if (axis == rank - 1) {
    // Keras has its channels last already, PyTorch has them in front of the other axes.
    if (explain::framework_of(as_read) != Framework::Keras || !reads_moved_last(form, node)) return std::nullopt;
    axis = 1;
    std::rotate(type.shape.begin() + 1, type.shape.end() - 1, type.shape.end());
  }
  const Sizes turn = moved_last(axis, rank);
  Graph graph;
  const ValueId x = graph.input("x", type);
  std::vector<ValueId> inputs{x};
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    const bool is_known = node.inputs[i] && form[node.inputs[i]].constant;
    inputs.push_back(is_known ? graph.constant(graph.unique_name("weight"), *form[node.inputs[i]].constant)
                              : ValueId{});
  }
  auto made = graph.add(Transpose{turn}, {x}, "turned");
  LayerNorm last = *norm;
  last.axes = {rank - 1};
  if (made) inputs[0] = (*made)[0], made = graph.add(last, inputs, node.layer);
  if (made) made = graph.add(Transpose{inverse(turn)}, {(*made)[0]}, "turned_back");
  if (!made) return std::nullopt;
  graph.outputs = {(*made)[0]};
  graph.output_names = {"y"};
  return graph;
}

// No mode of PyTorch repeats the cells at the edge in reverse: they are put beside.
std::optional<Graph> mirrored(const Graph& form, const Node& node) {
  const auto* pad = get_if<Pad>(&node.op);
  if (!pad || pad->mode != PadMode::Symmetric) return std::nullopt;
  Graph graph;
  ValueId x = graph.input("x", form[node.inputs[0]].type);
  for (std::size_t axis = 0; axis < pad->before.size(); ++axis) {
    const Size at = static_cast<Size>(axis), before = pad->before[axis], after = pad->after[axis];
    std::vector<ValueId> parts{x};
    const auto border = [&](Slice cells) {
      auto made = graph.add(cells, {x}, "border");
      if (made) made = graph.add(Slice{.axis = at, .start = {}, .stop = {}, .step = -1}, {(*made)[0]}, "mirrored");
      return made ? (*made)[0] : ValueId{};
    };
    if (before > 0) parts.insert(parts.begin(), border({.axis = at, .start = 0, .stop = before}));
    if (after > 0) parts.push_back(border({.axis = at, .start = -after, .stop = {}}));
    if (!std::ranges::all_of(parts, [](ValueId v) { return static_cast<bool>(v); })) return std::nullopt;
    if (parts.size() == 1) continue;
    auto made = graph.add(Concat{at}, std::move(parts), node.layer);
    if (!made) return std::nullopt;
    x = (*made)[0];
  }
  graph.outputs = {x};
  graph.output_names = {"y"};
  return graph;
}

}  // namespace

Fix lines_of_node(const Graph& as_read, const Graph& form, const Node& node, std::vector<std::string> names) {
  std::vector<ValueId> read;
  for (const ValueId v : node.inputs)
    if (v && !form[v].constant && std::ranges::find(read, v) == read.end()) read.push_back(v);
  if (read.empty() || node.outputs.empty()) return {};
  if (names.size() != read.size()) {
    names.clear();
    for (std::size_t i = 0; i < read.size(); ++i)
      names.push_back(i < 26 ? std::string(1, static_cast<char>('a' + i)) : "...");
  }
  if (read.size() == 1) names = {"x"};
  const Graph alone = cut(form, node.outputs[0], read).graph;
  Interface outside;
  for (const ValueId v : read) outside.inputs.push_back(in_keras_order(form, node, v));
  outside.outputs.push_back(in_keras_order(form, node, node.outputs[0]));
  auto better = norm_moved_last(as_read, form, node);
  if (!better) better = mirrored(form, node);
  const Arguments always = always_said(node.op);
  return {in_torch(better ? *std::move(better) : alone, names, always), in_keras(alone, names, outside, always)};
}

Fix lines_of_operator(const Op& op, const TensorType& type) {
  Graph graph;
  auto made = graph.add(op, {graph.input("x", type)}, "layer");
  if (!made) return {};
  graph.outputs = {(*made)[0]};
  graph.output_names = {"y"};
  return lines_of_node(graph, graph, graph.nodes[0]);
}

}  // namespace convoy::diagnose
