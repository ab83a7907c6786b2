// Behind a Flatten whose features come in the target's order: the parameters that read features are reordered instead.
#include "passes/layout.h"

#include <algorithm>

namespace convoy {

namespace {

std::string numbers(const Sizes& sizes) {
  std::string text;
  for (const Size n : sizes) text += (text.empty() ? "" : ", ") + std::to_string(n);
  return "(" + text + ")";
}

}  // namespace

bool Layout::reads_features(const Node& node, ValueId v) const {
  if (node.inputs[0] != v) return false;
  for (std::size_t i = 1; i < node.inputs.size(); ++i)
    if (node.inputs[i] && (node.inputs[i] == v || !graph_[node.inputs[i]].constant)) return false;
  if (holds_alternative<Linear>(node.op)) return true;
  const bool is_elementwise = traits_of(node.op).axes == AxisUse::Elementwise;
  if (is_elementwise || holds_alternative<BatchNorm>(node.op)) return takes_features(node.outputs[0]);
  if (holds_alternative<PRelu>(node.op) || holds_alternative<Binary>(node.op)) {
    const Sizes& shape = graph_[node.inputs[1]].constant->shape();
    const Size count = graph_[node.inputs[1]].constant->count();
    return (count == 1 || (!shape.empty() && Dim(shape.back()) == type(v).shape[1] && count == shape.back())) &&
           takes_features(node.outputs[0]);
  }
  return false;
}

bool Layout::takes_features(ValueId v) const {
  if (std::ranges::find(graph_.outputs, v) != graph_.outputs.end()) return false;
  const auto& readers = readers_[v.slot()];
  return !readers.empty() &&
         std::ranges::all_of(readers, [&](NodeId reader) { return reads_features(graph_[reader], v); });
}

Status Layout::ordered_features(const Node& node, const Features& features) {
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = held(node.inputs[0]).id;
  const Sizes rows = source_order(2);
  const auto along = [&](ValueId constant, Size axis) {
    const Sizes& shape = graph_[constant].constant->shape();
    Sizes split, permutation;
    for (Size i = 0; i < static_cast<Size>(shape.size()); ++i) {
      const auto base = static_cast<Size>(split.size());
      if (i == axis) {
        split.insert(split.end(), features.split.begin(), features.split.end());
        for (const Size piece : features.permutation) permutation.push_back(base + piece);
      } else {
        split.push_back(shape[static_cast<std::size_t>(i)]);
        permutation.push_back(base);
      }
    }
    return constants_.reordered(constant, split, permutation, shape);
  };
  if (const auto* linear = get_if<Linear>(&node.op)) {
    inputs[1] = along(inputs[1], linear->order == LinearOrder::InOut ? 0 : 1);
    Sizes now;
    for (const Size piece : features.permutation) now.push_back(features.split[static_cast<std::size_t>(piece)]);
    patch_.remark(node, "its features were reordered from " + numbers(features.split) + " to " + numbers(now) +
                            ", the order in which they are flattened now");
    return emit(node, node.op, std::move(inputs), rows, rows);
  }
  for (std::size_t i = 1; i < inputs.size(); ++i)
    if (inputs[i] && graph_[inputs[i]].constant->count() > 1)
      inputs[i] = along(inputs[i], static_cast<Size>(graph_[inputs[i]].constant->shape().size()) - 1);
  return emit(node, node.op, std::move(inputs), rows, rows, features);
}

}  // namespace convoy
