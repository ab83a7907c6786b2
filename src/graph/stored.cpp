#include "graph/stored.h"

#include "base/permute.h"
#include "ops/axes.h"

#include <numeric>

namespace convoy {

const std::string& stored_name(const Value& constant) {
  return constant.origin ? constant.origin->source : constant.name;
}

Sizes stored_shape(const Value& constant) {
  return constant.origin ? constant.origin->split : constant.constant->shape();
}

Tensor as_stored(const Value& constant, const Tensor& numbers) {
  if (!constant.origin) return numbers;
  const auto& [source, shape, permutation] = *constant.origin;
  return numbers.reshaped(in_order(shape, permutation)).permuted(inverse(permutation));
}

Tensor as_read(const Value& constant, const Tensor& stored) {
  if (!constant.origin) return stored.reshaped(constant.constant->shape());
  return stored.reshaped(constant.origin->split)
      .permuted(constant.origin->permutation)
      .reshaped(constant.constant->shape());
}

std::string learnt_weight(const Graph& graph, ValueId constant) {
  const std::string& format = graph.source_format;
  const bool has_objects =
      format.starts_with("PyTorch") || format.starts_with("TorchScript") || format.starts_with("Keras");
  if (!has_objects || !graph[constant].constant || !graph[constant].trainable) return {};
  const std::string& own = stored_name(graph[constant]);
  const auto of = graph.tied.find(own);
  return of == graph.tied.end() ? own : of->second;
}

bool only_reshapes(const Op& op) {
  return holds_alternative<Reshape>(op) || holds_alternative<Flatten>(op) || holds_alternative<Unsqueeze>(op) ||
         holds_alternative<Squeeze>(op) || holds_alternative<Identity>(op);
}

Origin stored_origin(const Value& constant) {
  if (constant.origin) return *constant.origin;
  Sizes own(constant.constant->shape().size());
  std::iota(own.begin(), own.end(), Size{0});
  return {constant.name, constant.constant->shape(), std::move(own)};
}

}  // namespace convoy
