#include "diagnose/rules.h"

#include "diagnose/piece.h"

#include <type_traits>

namespace convoy::diagnose {

namespace {

template <class O>
concept HasWindows = requires(O op) {
  op.axes.spatial(0);
  op.windows;
  op.paddings;
};

template <HasWindows O>
void number_paddings(O& op, const Shape& shape) {
  for (std::size_t i = 0; i < op.paddings.size(); ++i) {
    const Dim in = shape[static_cast<std::size_t>(op.axes.spatial(static_cast<Size>(i)))];
    if (!in.known()) continue;
    auto& padding = op.paddings[i];
    const auto at = place(padding, op.windows[i], *in);
    if (!at) continue;
    if constexpr (std::is_same_v<O, ConvTranspose>) padding = {CropSpelling::Explicit, at->before, at->after, {}};
    else padding = {Spelling::Explicit, at->before, at->after, padding.leftover};
  }
}

bool follows_size(Padding p) { return p.spelling == Spelling::SameUpper || p.spelling == Spelling::SameLower; }

// `op` with the rules of `said`, where that is the same kind of layer.
template <class O>
Op as_said(const O& op, const Op& other) {
  if constexpr (HasWindows<O> && !std::is_same_v<O, ConvTranspose>) {
    const O* said = get_if<O>(&other);
    if (!said || said->windows != op.windows || said->paddings.size() != op.paddings.size()) return op;
    O result = op;
    for (std::size_t i = 0; i < op.paddings.size(); ++i)
      if (follows_size(said->paddings[i])) result.paddings[i] = said->paddings[i];
    return result;
  } else {
    return op;
  }
}

}  // namespace

Op with_numbers(Op op, const Shape& in) {
  op.visit([&]<class O>(O& o) {
    if constexpr (HasWindows<O>) number_paddings(o, in);
  });
  return op;
}

Rules rules_of(const Graph& said, const Graph& numbered) {
  std::multimap<std::string, const Op*> layers;
  for (const Node& node : said.nodes) layers.emplace(node.layer, &node.op);
  Rules rules;
  for (const Node& node : numbered.nodes) {
    const auto [first, last] = layers.equal_range(node.layer);
    for (auto it = first; it != last; ++it) {
      Op rule = node.op.visit([&](const auto& op) { return as_said(op, *it->second); });
      if (rule == node.op || with_numbers(rule, numbered[node.inputs[0]].type.shape) != node.op) continue;
      rules.emplace(node.layer, Rule{node.op, std::move(rule)});
      break;
    }
  }
  return rules;
}

Graph with_rules(Graph piece, const Rules& rules) {
  for (Node& node : piece.nodes) {
    const auto [first, last] = rules.equal_range(node.layer);
    for (auto it = first; it != last; ++it)
      if (it->second.numbers == node.op) {
        node.op = it->second.said;
        break;
      }
  }
  return piece;
}

Result<Graph> renumbered(const Graph& piece, const Rules& rules, const std::vector<Tensor>& inputs, int threads) {
  Graph result = with_rules(piece, rules);
  auto values = values_of(result, inputs, threads);
  if (!values) return pass(values);
  for (Node& node : result.nodes)
    if (!node.inputs.empty() && node.inputs[0])
      node.op = with_numbers(node.op, type_of((*values)[node.inputs[0].slot()]).shape);
  return result;
}

}  // namespace convoy::diagnose
