#include "graph/element_types.h"

#include "ops/expect.h"

#include <algorithm>

namespace convoy {

std::vector<DType> types_of(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<DType> types;
  for (const ValueId v : values) types.push_back(v ? graph[v].type.dtype : DType::F32);
  return types;
}

bool computes_in(const Graph& graph, DType dtype) {
  return std::ranges::all_of(graph.values, [&](const Value& value) {
    return value.constant || !is_floating(value.type.dtype) || value.type.dtype == dtype;
  });
}

Status change_reals(Graph& graph, DType to) {
  const auto changes = [&](DType dtype) { return is_floating(dtype) && dtype != to; };
  for (Value& value : graph.values) {
    if (!changes(value.type.dtype)) continue;
    value.type.dtype = to;
    if (value.constant && changes(value.constant->dtype())) value.constant = value.constant->converted(to);
  }
  for (Node& node : graph.nodes)
    if (auto* cast = get_if<Cast>(&node.op); cast && changes(cast->to)) cast->to = to;
  for (Node& node : graph.nodes)
    node.op.visit([&](auto& op) {
      if constexpr (requires { op.rounds; })
        if (is_half(op.rounds)) op.rounds = is_half(to) ? to : DType::F32;
    });
  return infer_all(graph);
}

}  // namespace convoy
