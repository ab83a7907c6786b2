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

namespace {

bool same_steps(const Graph& graph, const QuantizedStretch& a, const QuantizedStretch& b) {
  return a.held == b.held && a.axis == b.axis && a.zeros == b.zeros &&
         graph[a.scale].constant->doubles() == graph[b.scale].constant->doubles();
}

Clip range_of(const Graph& graph, const QuantizedStretch& stretch) {
  const float scale = graph[stretch.scale].constant->floats().front();
  const WholeBounds bounds = *whole_bounds(stretch.held);
  const auto real = [&](double whole) {
    return static_cast<double>(static_cast<float>(whole - static_cast<double>(stretch.zeros.front())) * scale);
  };
  return {real(bounds.least), real(bounds.most)};
}

}  // namespace

Result<std::vector<std::string>> leave_out_rounding(Graph& graph, const ProofOptions& options) {
  const QuantizedStretches found = quantized_stretches(graph);
  if (found.by_last.empty()) return std::vector<std::string>{};
  const Graph before = graph;
  std::size_t left_out = 0, stay = 0;
  for (const auto& [last, stretch] : found.by_last) {
    if (stretch.rounds) continue;
    const NodeId made_by = graph[stretch.x].producer;
    const auto rounding = made_by ? found.by_last.find(made_by) : found.by_last.end();
    const bool pair = rounding != found.by_last.end() && rounding->second.rounds && !stretch.axis &&
                      same_steps(before, rounding->second, stretch);
    if (!pair) {
      ++stay;
      continue;
    }
    // The ends of the range may be the only ReLU that there is.
    graph[last].op = range_of(before, stretch);
    graph[last].inputs = {rounding->second.x};
    ++left_out;
  }
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
