// What to write about cells that walk along a sequence: from which end, and which axis the steps are.
#include "diagnose/fix_parts.h"

#include <fmt/format.h>

#include <type_traits>
#include <variant>
#include <vector>

namespace convoy::diagnose {

std::optional<bool> walks_backwards(const Node& node) {
  return node.op.visit([]<class O>(const O& op) -> std::optional<bool> {
    if constexpr (std::is_same_v<O, Lstm> || std::is_same_v<O, Gru> || std::is_same_v<O, SimpleRnn>)
      return op.backwards;
    return std::nullopt;
  });
}

namespace {

// The layer's cells, as the form has them: a layer of both directions has two.
std::vector<const Node*> cells_of(const Graph& form, const std::string& layer) {
  std::vector<const Node*> cells;
  for (const Node& node : form.nodes)
    if (node.layer == layer && walks_backwards(node)) cells.push_back(&node);
  return cells;
}

Fix of_sequence_end(const Graph& form, const std::string& layer, std::string_view says) {
  const auto cells = cells_of(form, layer);
  if (cells.size() != 1 && says == "the steps in reverse order")
    return {"backward = backward.flip(1)  # in the order of time, before both directions are put side by side",
            "backward = backward[:, ::-1]  # in the order of time, before both directions are put side by side"};
  if (cells.size() != 1)
    return {"y = torch.cat([y[:, -1, :units], y[:, 0, units:]], 1)  # the backward half ends at position 0",
            "return_sequences=False, which takes each direction's own end"};
  const bool backwards = *walks_backwards(*cells[0]);
  if (says == "walked the other way")
    return backwards ? Fix{"x = x.flip(1)  # in front: the original walks from the end", "go_backwards=True"}
                     : Fix{"no x.flip(1) in front: the original walks from the beginning", "go_backwards=False"};
  if (says == "the steps in reverse order") return {"y = y.flip(1)", "y = y[:, ::-1]"};
  return {"y = y[:, -1]  # the state after the last step",
          "return_sequences=False, which gives the state after the last step"};
}

// Keras has one bias, PyTorch two that it adds.
Fix of_bias_twice(const Graph& form, const std::string& layer) {
  if (cells_of(form, layer).empty()) return {};
  return {"bias_ih_l0 = bias, and zeros in bias_hh_l0: the two are added", "bias = bias_ih_l0 + bias_hh_l0"};
}

Fix of_sequence_axis(const Graph& form, const std::string& layer) {
  const auto cells = cells_of(form, layer);
  const std::string_view name = cells.empty()                           ? "LSTM"
                                : holds_alternative<Gru>(cells[0]->op)  ? "GRU"
                                : holds_alternative<Lstm>(cells[0]->op) ? "LSTM"
                                                                        : "RNN";
  return {fmt::format("nn.{}(..., batch_first=True)  # x is [batch, steps, features]", name),
          "x is [batch, steps, features]: ops.transpose(x, (1, 0, 2)) where the steps come first"};
}

}  // namespace

Fix fix_of_sequence(const Graph& form, const Finding& finding) {
  if (finding.cause == "sequence_end") return of_sequence_end(form, finding.a, finding.says);
  if (finding.cause == "bias_doubled") return of_bias_twice(form, finding.a);
  if (finding.cause == "sequence_axis") return of_sequence_axis(form, finding.a);
  return {};
}

}  // namespace convoy::diagnose
