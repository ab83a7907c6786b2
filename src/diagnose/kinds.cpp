#include "diagnose/kinds.h"

#include "diagnose/align.h"

#include <algorithm>

namespace convoy::diagnose {

namespace {

using Number = std::uint64_t;

// Source: the finaliser of splitmix64.
Number mixed(Number x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}
Number joined(Number a, Number b) { return mixed(a ^ mixed(b)); }

// A batch norm may be folded into the layer before it, a constant may be added in front or behind: neither tells much.
bool counts(const Graph& graph, const Node& node) {
  const Family family = family_of(node.op);
  if (family == Family::None || family == Family::Norm) return false;
  if (family != Family::Sum && family != Family::Factor) return true;
  return std::ranges::none_of(node.inputs, [&](ValueId v) { return v && graph[v].constant; });
}

bool tells_inputs_apart(const Node& node) {
  if (holds_alternative<convoy::Concat>(node.op)) return true;
  const auto* binary = get_if<Binary>(&node.op);
  return binary && binary->function != BinaryFunction::Add && binary->function != BinaryFunction::Multiply;
}

Number first_kind(const Graph& graph, const Node& node) {
  Family family = family_of(node.op);
  if (family == Family::Product) family = Family::Convolution;  // a product is a convolution of one cell
  Number kind = joined(1, static_cast<Number>(family));
  if (family == Family::Norm) return kind;  // its vectors may be left out where they would change nothing
  if (node.inputs.size() > 1 && node.inputs[1] && graph[node.inputs[1]].constant) {
    Sizes sizes;
    for (const Size n : graph[node.inputs[1]].constant->shape())
      if (n != 1) sizes.push_back(n);
    std::ranges::sort(sizes);
    for (const Size n : sizes) kind = joined(kind, static_cast<Number>(n));
  }
  return kind;
}

struct Edge {
  std::size_t to;
  Number place;  // the input that is read, where that matters
};

// From each node that counts to those that read it, through all that does not.
std::vector<std::vector<Edge>> edges_of(const Graph& graph, std::vector<Number>& kinds) {
  std::vector<std::vector<Edge>> sources(graph.values.size()), edges(graph.nodes.size());
  for (std::size_t i = 0; i < graph.inputs.size(); ++i)
    sources[graph.inputs[i].slot()].push_back({graph.nodes.size() + i, 0});
  edges.resize(graph.nodes.size() + graph.inputs.size());
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) kinds.push_back(joined(3, i));
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    std::vector<Edge> met;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i]) continue;
      for (Edge edge : sources[node.inputs[i].slot()]) {
        if (tells_inputs_apart(node)) edge.place = joined(edge.place, i + 1);
        met.push_back(edge);
      }
    }
    if (counts(graph, node)) {
      for (const Edge& edge : met) edges[edge.to].push_back({n, edge.place});
      met.assign(1, {n, 0});
    }
    for (const ValueId v : node.outputs) sources[v.slot()] = met;
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i)
    for (const Edge& edge : sources[graph.outputs[i].slot()])
      if (edge.to < kinds.size()) kinds[edge.to] = joined(kinds[edge.to], joined(2, joined(edge.place, i)));
  return edges;
}

}  // namespace

std::vector<std::uint64_t> kinds_of(const Graph& graph) {
  std::vector<Number> kinds;
  for (const Node& node : graph.nodes) kinds.push_back(first_kind(graph, node));
  const auto edges = edges_of(graph, kinds);
  // Enough rounds for any two that differ within that distance; differences further away are rare among siblings.
  constexpr int rounds = 24;
  for (int round = 0; round < rounds; ++round) {
    std::vector<Number> before(kinds.size(), 0), behind(kinds.size(), 0);
    for (std::size_t from = 0; from < edges.size(); ++from)
      for (const Edge& edge : edges[from]) {
        behind[from] += joined(joined(kinds[edge.to], edge.place), 5);
        before[edge.to] += joined(joined(kinds[from], edge.place), 7);
      }
    for (std::size_t i = 0; i < kinds.size(); ++i) kinds[i] = joined(joined(kinds[i], before[i]), behind[i]);
  }
  kinds.resize(graph.nodes.size());
  return kinds;
}

}  // namespace convoy::diagnose
