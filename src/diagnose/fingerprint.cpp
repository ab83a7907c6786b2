#include "diagnose/fingerprint.h"

#include <bit>

namespace convoy::diagnose {

namespace {

// Source: the finaliser of splitmix64.
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

}  // namespace

const Tensor* kernel_of(const Graph& graph, const Node& node) {
  const bool has_kernel = holds_alternative<Conv>(node.op) || holds_alternative<ConvTranspose>(node.op) ||
                          holds_alternative<Linear>(node.op);
  if (!has_kernel || !node.inputs[1] || !graph[node.inputs[1]].constant) return nullptr;
  return &*graph[node.inputs[1]].constant;
}

std::uint64_t fingerprint(const Tensor& tensor) {
  const auto sum_of = [](std::span<const float> values) {
    std::uint64_t sum = 0;
    for (const float value : values) {
      const auto bits = std::bit_cast<std::uint32_t>(value);
      sum += mixed((bits == 0x80000000 ? 0 : bits) + 1ULL);  // both zeros are one
    }
    return sum;
  };
  const std::uint64_t count = static_cast<std::uint64_t>(tensor.count()) * 0x9E3779B97F4A7C15;
  return count +
         (tensor.dtype() == DType::F32 && tensor.aligned() ? sum_of(tensor.raw<float>()) : sum_of(tensor.floats()));
}

namespace {

bool holds_reals(const Graph& graph, ValueId v) { return v && graph[v].constant && graph[v].type.dtype < DType::I8; }

}  // namespace

bool has_fingerprint(const Graph& graph, const Node& node) {
  if (kernel_of(graph, node)) return true;
  Size numbers = 0;
  for (const ValueId v : node.inputs)
    if (holds_reals(graph, v)) numbers += graph[v].constant->count();
  return numbers >= 2;
}

std::optional<std::uint64_t> fingerprint(const Graph& graph, const Node& node) {
  if (!has_fingerprint(graph, node)) return std::nullopt;
  if (const Tensor* kernel = kernel_of(graph, node)) return fingerprint(*kernel);
  std::uint64_t sum = 0;
  for (const ValueId v : node.inputs)
    if (holds_reals(graph, v)) sum += mixed(fingerprint(*graph[v].constant));
  return sum;
}

}  // namespace convoy::diagnose
