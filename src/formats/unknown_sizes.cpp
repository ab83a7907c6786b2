// Equal unknown sizes, found by asking each operator's shape rule.
#include "formats/unknown_sizes.h"

#include <algorithm>
#include <set>

namespace convoy {
namespace {

// Shape rules are made of quotients, sums and least and largest values: one that hands all of these on hands on all.
constexpr Size trials[] = {48, 49, 50, 51, 52, 53, 54, 55, 60, 97, 211};

// The outputs' shapes where every input size with this identity is `size`; nothing where the rule refuses it.
std::optional<TensorTypes> types_with(const Graph& graph, const Node& node, UnknownSizes& sizes, SizeId identity,
                                      Size size) {
  TensorTypes types(node.inputs.size());
  std::vector<Input> inputs(node.inputs.size());
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.inputs[i]) continue;
    const auto& value = graph[node.inputs[i]];
    types[i] = value.type;
    const auto& mine = sizes.of(node.inputs[i]);
    for (std::size_t axis = 0; axis < mine.size(); ++axis)
      if (!types[i].shape[axis].known() && mine[axis] == identity) types[i].shape[axis] = size;
    inputs[i] = {&types[i], value.constant ? &*value.constant : nullptr};
  }
  auto out = infer(node.op, Inputs(inputs));
  return out ? std::optional(std::move(*out)) : std::nullopt;
}

}  // namespace

std::vector<SizeId>& UnknownSizes::room_for(ValueId value, std::size_t axes) {
  const auto at = value.slot();
  if (sizes_.size() <= at) sizes_.resize(at + 1);
  sizes_[at].resize(axes, -1);
  return sizes_[at];
}

const std::vector<SizeId>& UnknownSizes::of(ValueId value) {
  static const std::vector<SizeId> none;
  const auto at = value.slot();
  return value && at < sizes_.size() ? sizes_[at] : none;
}

void UnknownSizes::add_input(const Graph& graph, ValueId input, const std::vector<std::string>& words) {
  const Shape& shape = graph[input].type.shape;
  auto& mine = room_for(input, shape.size());
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis].known()) continue;
    const std::string word = axis < words.size() ? words[axis] : "";
    if (word.empty()) {
      mine[axis] = next_++;
      continue;
    }
    const auto [found, added] = words_.emplace(word, next_);
    if (added) ++next_;
    mine[axis] = found->second;
  }
}

void UnknownSizes::follow_node(const Graph& graph, const Node& node) {
  std::set<SizeId> known_before;
  for (const ValueId input : node.inputs)
    if (input && !graph[input].constant)
      for (const SizeId size : of(input))
        if (size >= 0) known_before.insert(size);
  for (const ValueId output : node.outputs) room_for(output, graph[output].type.shape.size());
  for (const SizeId identity : known_before) {
    // Axes of outputs that may carry this size, until a trial says otherwise.
    std::set<std::pair<std::size_t, std::size_t>> carries;
    for (std::size_t o = 0; o < node.outputs.size(); ++o)
      for (std::size_t axis = 0; axis < graph[node.outputs[o]].type.shape.size(); ++axis)
        if (!graph[node.outputs[o]].type.shape[axis].known() && of(node.outputs[o])[axis] < 0) carries.emplace(o, axis);
    for (const Size size : trials) {
      if (carries.empty()) break;
      const auto types = types_with(graph, node, *this, identity, size);
      if (!types || types->size() != node.outputs.size()) carries.clear();
      std::erase_if(carries, [&](const auto& at) { return (*types)[at.first].shape[at.second] != Dim(size); });
    }
    for (const auto& [o, axis] : carries)
      room_for(node.outputs[o], graph[node.outputs[o]].type.shape.size())[axis] = identity;
  }
  for (const ValueId output : node.outputs) {
    auto& mine = room_for(output, graph[output].type.shape.size());
    for (std::size_t axis = 0; axis < mine.size(); ++axis)
      if (!graph[output].type.shape[axis].known() && mine[axis] < 0) mine[axis] = next_++;
  }
}

void UnknownSizes::follow(const Graph& graph) {
  for (; nodes_ < graph.nodes.size(); ++nodes_) follow_node(graph, graph.nodes[nodes_]);
}

}  // namespace convoy
