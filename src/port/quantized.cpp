#include "port/quantized.h"

#include "graph/quantized_steps.h"
#include "port/element_types.h"

#include <fmt/format.h>

#include <cmath>

namespace convoy {

std::optional<Quantized> quantized_named(std::string_view word) {
  if (word == "keep") return Quantized::Keep;
  if (word == "fake") return Quantized::Fake;
  if (word == "float") return Quantized::Float;
  return std::nullopt;
}

namespace {

// A product that is rounded, and the scale that its factor is the inverse of.
struct InverseScale {
  NodeId product;
  ValueId scale;
};

bool are_inverse(const Tensor& a, const Tensor& b) {
  if (a.dtype() != DType::F32 || a.shape() != b.shape()) return false;
  const auto x = a.doubles(), y = b.doubles();
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!(std::abs(x[i] * y[i] - 1) <= 0x1p-22)) return false;
  return true;
}

// In front of whole numbers: a cast, a clip, perhaps a sum, a rounding and the product.
std::vector<InverseScale> inverse_scales_in(const Graph& graph) {
  std::vector<InverseScale> all;
  const auto before = [&](NodeId node) {
    const bool reads = node && !graph[node].inputs.empty() && graph[node].inputs[0];
    return reads ? graph[graph[node].inputs[0]].producer : NodeId{};
  };
  const auto binary = [&](NodeId node, BinaryFunction function) {
    const auto* op = node ? std::get_if<Binary>(&graph[node].op) : nullptr;
    return op && op->function == function;
  };
  for (const auto& [last, stretch] : quantized_stretches(graph).by_last) {
    if (stretch.rounds) continue;
    const NodeId cast = graph[stretch.x].producer, clip = before(cast);
    if (!clip || !std::holds_alternative<Cast>(graph[cast].op) || !std::holds_alternative<Clip>(graph[clip].op))
      continue;
    const NodeId sum = before(clip), round = binary(sum, BinaryFunction::Add) ? before(sum) : sum;
    const auto* rounded = round ? std::get_if<Unary>(&graph[round].op) : nullptr;
    const NodeId product = rounded && rounded->function == Function::Round ? before(round) : NodeId{};
    if (!binary(product, BinaryFunction::Multiply)) continue;
    const auto& factor = graph[graph[product].inputs[1]].constant;
    if (factor && are_inverse(*factor, *graph[stretch.scale].constant)) all.push_back({product, stretch.scale});
  }
  return all;
}

}  // namespace

std::size_t inverse_scales(const Graph& graph) { return inverse_scales_in(graph).size(); }

Result<std::vector<std::string>> divide_by_scales(Graph& graph, const ProofOptions& options) {
  const auto found = inverse_scales_in(graph);
  if (found.empty()) return std::vector<std::string>{};
  const Graph before = graph;
  for (const InverseScale& one : found) {
    graph[one.product].op = Binary{BinaryFunction::Divide};
    graph[one.product].inputs[1] = one.scale;
  }
  std::vector<std::string> said{
      fmt::format("{} roundings divide by their scale, as QuantizeLinear does, where the model multiplies by its "
                  "rounded inverse: what lies at "
                  "the middle of two steps may go to the other one; the proof holds the model that divides",
                  found.size())};
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
