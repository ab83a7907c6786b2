#include "prove/unlucky.h"

#include "graph/element_types.h"
#include "ops/expect.h"
#include "prove/bound.h"
#include "prove/reference.h"
#include "run/held.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <random>

namespace convoy {

namespace {

bool is_product(const Op& op) { return traits_of(op).is_product(); }

// The order of a long sum is anybody's: K + 1 roundings of everything is what none exceeds.
double worst_order(const Op& op, const NodeBound& bound) {
  const bool sums = holds_alternative<Reduce>(op) || holds_alternative<Accumulate>(op) ||
                    holds_alternative<AveragePool>(op) || holds_alternative<AdaptivePool>(op);
  if (!sums || bound.terms == 0 || bound.limit == 0) return 1;
  return std::max(1.0, static_cast<double>(bound.terms + 1) / bound.limit);
}

Tensor moved(const Tensor& tensor, const Tensor& error, double factor, std::mt19937_64& random) {
  auto values = tensor.floats();
  const float* const bounds = error.raw<float>().data();
  constexpr std::size_t at_once = 64;  // as many as one draw tells
  constexpr std::array<double, 2> either{-1, 1};
  for (std::size_t first = 0; first < values.size(); first += at_once) {
    std::uint64_t signs = random();
    for (std::size_t i = first; i < std::min(values.size(), first + at_once); ++i, signs >>= 1) {
      const auto off = static_cast<double>(bounds[i]) * factor;
      if (!std::isfinite(off)) continue;
      values[i] = static_cast<float>(static_cast<double>(values[i]) + off * either[signs & 1]);
    }
  }
  return Tensor::of(tensor.shape(), std::move(values));
}

}  // namespace

Result<std::vector<Tensor>> run_unluckily(const Graph& graph, const std::vector<Tensor>& inputs, std::uint64_t seed,
                                          const ProofOptions& options) {
  std::mt19937_64 random(seed);
  Budget budget(options.memory_limit);
  std::vector<std::optional<Tensor>> held(graph.values.size());
  std::vector<int> uses(graph.values.size(), 0);
  const auto at = [](ValueId v) { return v.slot(); };
  for (const Node& node : graph.nodes)
    for (const ValueId v : node.inputs)
      if (v) ++uses[at(v)];
  for (const ValueId v : graph.outputs) ++uses[at(v)];
  for (std::size_t i = 0; i < held.size(); ++i) held[i] = graph.values[i].constant;
  for (std::size_t i = 0; i < inputs.size(); ++i) held[at(graph.inputs[i])] = inputs[i];
  for (const Node& node : graph.nodes) {
    std::vector<const Tensor*> read;
    for (const ValueId v : node.inputs) read.push_back(v ? &*held[at(v)] : nullptr);
    for (const ValueId v : node.outputs)
      if (auto taken = budget.take(bytes_of(graph[v].type, 8), "a run with rounding"); !taken) return pass(taken);
    auto outputs = run_node_of(graph, node, read, Precision::Single, options.threads);
    if (!outputs) return pass(outputs);
    // The sums of products are covered by what every answer may be off; what a type of 16 bits rounds behind them is not.
    const auto types = types_of(graph, node.outputs);
    if (!is_product(node.op) || std::ranges::any_of(types, is_half)) {
      const std::vector<const Tensor*> exact(read.size(), nullptr);
      auto bound = bound_of({node, read, exact, *outputs, options.threads, types});
      if (!bound) return pass(bound);
      const double factor = worst_order(node.op, *bound);
      for (std::size_t i = 0; i < std::min(outputs->size(), bound->errors.size()); ++i)
        if (bound->errors[i] && (*outputs)[i].dtype() == DType::F32)
          (*outputs)[i] = rounded_to_half(moved((*outputs)[i], *bound->errors[i], factor, random), types[i]);
    }
    for (std::size_t i = 0; i < outputs->size(); ++i) held[at(node.outputs[i])] = std::move((*outputs)[i]);
    for (const ValueId v : node.inputs) {
      if (!v || --uses[at(v)] > 0) continue;
      if (graph[v].constant) {
        graph[v].constant->let_go();
        continue;
      }
      budget.give(graph[v].producer ? bytes_of(graph[v].type, 8) : 0);
      held[at(v)].reset();
    }
  }
  std::vector<Tensor> results;
  for (const ValueId v : graph.outputs) results.push_back(*held[at(v)]);
  return results;
}

}  // namespace convoy
