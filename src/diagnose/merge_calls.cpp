#include "diagnose/merge_calls.h"

#include "diagnose/fingerprint.h"
#include "diagnose/tensor_difference.h"
#include "graph/patch.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <vector>

namespace convoy::diagnose {

namespace {

using Calls = std::map<std::uint64_t, std::vector<NodeId>>;  // by the numbers that they hold

// How many numbers a layer's fingerprint is made of.
Size numbers_told_by(const Graph& graph, const Node& node) {
  if (const Tensor* kernel = kernel_of(graph, node)) return kernel->count();
  Size all = 0;
  for (const ValueId v : node.inputs)
    if (v && graph[v].constant) all += graph[v].constant->count();
  return all;
}

// Of layers that may hold the same numbers as another one of their model, by how these begin: large models are not read
// whole for it.
std::set<Size> lengths_held_twice(const Graph& graph) {
  constexpr std::size_t few = 64;  // bytes
  std::set<Size> lengths;
  std::set<std::vector<std::byte>> seen;
  for (const Node& node : graph.nodes) {
    if (!has_fingerprint(graph, node)) continue;
    std::vector<std::byte> beginnings;
    for (const ValueId v : node.inputs) {
      if (!v || !graph[v].constant) continue;
      const auto bytes = graph[v].constant->bytes();
      const auto begin = bytes.first(std::min(few, bytes.size()));
      beginnings.insert(beginnings.end(), begin.begin(), begin.end());
    }
    if (!seen.insert(std::move(beginnings)).second) lengths.insert(numbers_told_by(graph, node));
  }
  return lengths;
}

Calls calls_in(const Graph& graph, const std::set<Size>& lengths) {
  Calls calls;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (!lengths.contains(numbers_told_by(graph, node))) continue;
    if (const auto print = fingerprint(graph, node)) calls[*print].push_back({static_cast<std::int32_t>(i)});
  }
  return calls;
}

Status merge(Graph& graph, const Calls& calls, const std::set<std::uint64_t>& uneven) {
  Patch patch(graph);
  std::map<ValueId, ValueId> now;
  const auto is_same = [&](ValueId x, ValueId y) {
    const auto of = [&](ValueId v) { return now.contains(v) ? now.at(v) : v; };
    if (of(x) == of(y)) return true;
    if (!x || !y || !graph[x].constant || !graph[y].constant) return false;
    const Tensor &p = *graph[x].constant, &q = *graph[y].constant;
    return p.dtype() == q.dtype() && p.shape() == q.shape() && difference_of(p, q).equal();
  };
  for (const std::uint64_t print : uneven) {
    std::vector<const Node*> kept;
    for (const NodeId n : calls.at(print)) {
      const Node& node = graph[n];
      const auto first = std::ranges::find_if(kept, [&](const Node* other) {
        return other->op == node.op && other->outputs.size() == node.outputs.size() &&
               std::ranges::equal(other->inputs, node.inputs, is_same);
      });
      if (first == kept.end()) {
        kept.push_back(&node);
        continue;
      }
      patch.remove(n);
      for (std::size_t o = 0; o < node.outputs.size(); ++o) {
        if (!node.outputs[o]) continue;
        now[node.outputs[o]] = (*first)->outputs[o];
        patch.replace(node.outputs[o], (*first)->outputs[o]);
      }
    }
  }
  return now.empty() ? Status() : apply(graph, std::move(patch));
}

// A step, and the first one that reads the same: `x - mean` in `(x - mean) / std` and within std.
using Repeats = std::map<NodeId, NodeId>;
enum class Holding : std::uint8_t { Nothing, Anything };  // the steps that are looked at

// Constants that hold what an earlier one does.
std::map<ValueId, ValueId> constants_twice(const Graph& graph) {
  std::map<ValueId, ValueId> twice;
  std::map<std::uint64_t, std::vector<ValueId>> kept;
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    const ValueId v{static_cast<std::int32_t>(i)};
    if (!graph[v].constant) continue;
    const Tensor& own = *graph[v].constant;
    std::vector<ValueId>& alike = kept[fingerprint(own)];
    const auto first = std::ranges::find_if(alike, [&](ValueId other) {
      const Tensor& tensor = *graph[other].constant;
      return tensor.dtype() == own.dtype() && tensor.shape() == own.shape() && same_bytes(tensor, own);
    });
    if (first == alike.end()) alike.push_back(v);
    else twice.emplace(v, *first);
  }
  return twice;
}

Repeats repeats_in(const Graph& graph, Holding holding) {
  Repeats repeats;
  std::map<ValueId, ValueId> now;
  if (holding == Holding::Anything) now = constants_twice(graph);
  std::map<std::vector<ValueId>, std::vector<NodeId>> kept;  // by what they read
  const auto is_output = [&](ValueId v) { return std::ranges::find(graph.outputs, v) != graph.outputs.end(); };
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const bool is_left_out = holding == Holding::Nothing && has_fingerprint(graph, node);
    if (is_left_out || std::ranges::any_of(node.outputs, is_output)) continue;
    std::vector<ValueId> reads = node.inputs;
    for (ValueId& v : reads)
      if (const auto other = now.find(v); other != now.end()) v = other->second;
    std::vector<NodeId>& alike = kept[reads];
    const NodeId n{static_cast<std::int32_t>(i)};
    const auto first = std::ranges::find_if(alike, [&](NodeId other) {
      return graph[other].op == node.op && graph[other].outputs.size() == node.outputs.size();
    });
    if (first == alike.end()) {
      alike.push_back(n);
      continue;
    }
    repeats.emplace(n, *first);
    for (std::size_t o = 0; o < node.outputs.size(); ++o) now[node.outputs[o]] = graph[*first].outputs[o];
  }
  return repeats;
}

// How many repeats there are of each operator.
std::map<std::string_view, std::size_t> counted(const Graph& graph, const Repeats& repeats) {
  std::map<std::string_view, std::size_t> counts;
  for (const auto& [again, first] : repeats) ++counts[name_of(graph[again].op)];
  return counts;
}

Status merge(Graph& graph, const Repeats& repeats) {
  if (repeats.empty()) return {};
  Patch patch(graph);
  for (const auto& [again, first] : repeats) {
    patch.remove(again);
    for (std::size_t o = 0; o < graph[again].outputs.size(); ++o)
      if (graph[again].outputs[o]) patch.replace(graph[again].outputs[o], graph[first].outputs[o]);
  }
  return apply(graph, std::move(patch));
}

// Where one of the models has more of them, a mistake may have made two steps alike.
Status merge_repeated_steps(Graph& a, Graph& b) {
  const Repeats of_a = repeats_in(a, Holding::Nothing), of_b = repeats_in(b, Holding::Nothing);
  if (counted(a, of_a) != counted(b, of_b)) return {};
  if (auto done = merge(a, of_a); !done) return done;
  return merge(b, of_b);
}

}  // namespace

Result<bool> merge_repeats(Graph& graph) {
  const Repeats repeats = repeats_in(graph, Holding::Anything);
  if (auto done = merge(graph, repeats); !done) return pass(done);
  return !repeats.empty();
}

Status merge_repeated_calls(Graph& a, Graph& b) {
  if (auto done = merge_repeated_steps(a, b); !done) return done;
  std::set<Size> lengths = lengths_held_twice(a);
  lengths.merge(lengths_held_twice(b));
  const Calls of_a = calls_in(a, lengths), of_b = calls_in(b, lengths);
  std::set<std::uint64_t> uneven;
  for (const auto& [print, calls] : of_a) {
    const auto other = of_b.find(print);
    if (other == of_b.end() || other->second.size() == calls.size()) continue;
    uneven.insert(print);
  }
  if (auto done = merge(a, of_a, uneven); !done) return done;
  return merge(b, of_b, uneven);
}

}  // namespace convoy::diagnose
