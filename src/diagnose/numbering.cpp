#include "diagnose/numbering.h"

#include "graph/stored.h"

#include <algorithm>
#include <bit>
#include <set>

namespace convoy::diagnose {

namespace {

// Every finite positive float has bits of its own, from 1 on; they survive each copy and each conversion to double.
constexpr std::uint32_t most_places = 0x7f7fffff;

bool only_moves(const Op& op) { return only_reshapes(op) || holds_alternative<Transpose>(op); }

// The constant that is read as `v`, perhaps under another shape or in another order.
ValueId moved_constant(const Graph& graph, ValueId v) {
  while (v && graph[v].producer && only_moves(graph[graph[v].producer].op)) v = graph[graph[v].producer].inputs[0];
  return v;
}

}  // namespace

Numbering::Numbering(const Graph& graph) : graph_(graph) {
  std::set<ValueId> chosen;
  for (const Node& node : graph.nodes) {
    const bool is_layer = traits_of(node.op).learnt == Learnt::Weights, is_sum = holds_alternative<Binary>(node.op);
    if (!is_layer && !is_sum) continue;
    for (const ValueId input : node.inputs) {
      const ValueId v = moved_constant(graph, input);
      if (!v || !graph[v].constant || graph[v].constant->dtype() != DType::F32) continue;
      if (is_layer || graph[v].constant->count() > 1) chosen.insert(v);
    }
  }
  for (const ValueId v : chosen) {
    const Size count = graph[v].constant->count();
    if (count_ + count > static_cast<Size>(most_places)) break;
    std::vector<float> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = std::bit_cast<float>(static_cast<std::uint32_t>(count_ + static_cast<Size>(i)) + 1U);
    graph_[v].constant = Tensor::of(graph[v].constant->shape(), std::move(values));
    weights_.push_back(v);
    starts_.push_back(count_);
    count_ += count;
  }
}

std::optional<Size> Numbering::place(float number) const {
  const auto bits = std::bit_cast<std::uint32_t>(number);
  if (bits == 0 || static_cast<Size>(bits) > count_) return std::nullopt;
  return static_cast<Size>(bits) - 1;
}

Numbering::Cell Numbering::cell(Size place) const {
  const auto next = std::ranges::upper_bound(starts_, place);
  const auto i = static_cast<std::size_t>(next - starts_.begin()) - 1;
  return {weights_[i], place - starts_[i]};
}

Size Numbering::first(ValueId weight) const {
  const auto at = std::ranges::find(weights_, weight);
  return at == weights_.end() ? -1 : starts_[static_cast<std::size_t>(at - weights_.begin())];
}

}  // namespace convoy::diagnose
