#include "run/cost.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace convoy {
namespace {

constexpr Size most = Size{1} << 60;

template <class Op, class... Families>
constexpr bool is_of = ((one_of<Families>::template kind<Op> < std::tuple_size_v<Families>) || ...);

bool sums(const Op& op) {
  return op.visit(
      []<class O>(const O&) { return is_of<O, Convolution, Pooling, LinearFamily, Normalization, Recurrent>; });
}

Size count_of(const Value& value) {
  const auto sizes = value.constant ? std::optional(value.constant->shape()) : sizes_of(value.type.shape);
  return sizes ? checked_count(*sizes).value_or(most) : 0;
}

// How many products stand in a sum: about the longest line of a square input.
Size line_of(const Graph& graph, const Node& node) {
  Size longest = 1;
  for (const ValueId v : node.inputs)
    if (v) longest = std::max(longest, count_of(graph[v]));
  return static_cast<Size>(std::sqrt(static_cast<double>(longest)));
}

}  // namespace

Cost cost_of(const Graph& graph, std::size_t first) {
  Cost cost;
  std::vector<bool> known;  // from `first` on
  const auto is_known = [&](ValueId v) {
    const auto at = v.slot();
    return at < first ? graph[v].constant.has_value() : static_cast<bool>(known[at - first]);
  };
  for (std::size_t i = first; i < graph.values.size(); ++i) {
    const Value& value = graph.values[i];
    const Node* node = value.producer ? &graph[value.producer] : nullptr;
    known.push_back(value.constant ||
                    (node && std::ranges::all_of(node->inputs, [&](ValueId v) { return !v || is_known(v); })));
    if (!known.back()) continue;
    const Size count = count_of(value);
    cost.numbers = std::min(most, cost.numbers + count);
    if (!node || !sums(node->op)) continue;
    cost.products = std::min(most, cost.products + checked_multiply(count, line_of(graph, *node)).value_or(most));
  }
  return cost;
}

Cost made_constants(const Graph& graph, std::size_t first) {
  Cost cost;
  for (std::size_t i = first; i < graph.values.size(); ++i)
    if (graph.values[i].constant) cost.numbers = std::min(most, cost.numbers + graph.values[i].constant->count());
  return cost;
}

Status Allowance::spend(const Cost& cost) {
  const Size wanted = cost.numbers + cost.products / 16;
  if (wanted > numbers)
    return fail(Fault::Budget, "makes " + std::to_string(wanted) + " numbers before the model runs, of which " +
                                   std::to_string(numbers) + " are left to a file that holds so few");
  numbers -= wanted;
  return {};
}

}  // namespace convoy
