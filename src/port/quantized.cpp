#include "port/quantized.h"

#include "graph/quantized_steps.h"
#include "port/element_types.h"

#include <fmt/format.h>

namespace convoy {

std::optional<Quantized> quantized_named(std::string_view word) {
  if (word == "keep") return Quantized::Keep;
  if (word == "fake") return Quantized::Fake;
  if (word == "float") return Quantized::Float;
  return std::nullopt;
}

Result<std::vector<std::string>> divide_by_scales(Graph& graph, const ProofOptions& options) {
  if (inverse_scales(graph) == 0) return std::vector<std::string>{};
  const Graph before = graph;
  const std::size_t found = divide_by_scales(graph);
  std::vector<std::string> said{
      fmt::format("{} roundings divide by their scale, as QuantizeLinear does, where the model multiplies by its "
                  "rounded inverse: what lies at "
                  "the middle of two steps may go to the other one; the proof holds the model that divides",
                  found)};
  auto moved = losses_said(before, graph, options);
  if (!moved) return pass(moved);
  said.insert(said.end(), moved->begin(), moved->end());
  prune(graph);
  return said;
}

Result<std::vector<std::string>> leave_out_rounding(Graph& graph, const ProofOptions& options) {
  const Graph before = graph;
  const auto [left_out, stay] = keep_ranges_alone(graph);
  if (left_out + stay == 0) return std::vector<std::string>{};
  std::vector<std::string> said{fmt::format(
      "{} roundings to steps are left out, their ranges stay; weights are the numbers that their steps stand for",
      left_out)};
  if (stay > 0)
    said.front() +=
        fmt::format("; {} stay: of whole numbers that layers compute, or with a scale for each channel", stay);
  if (left_out == 0) return said;
  auto moved = losses_said(before, graph, options);
  if (!moved) return pass(moved);
  said.insert(said.end(), moved->begin(), moved->end());
  prune(graph);
  return said;
}

}  // namespace convoy
