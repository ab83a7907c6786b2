#include "diagnose/fingerprint.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace convoy::diagnose {

namespace {

// Source: the finaliser of splitmix64.
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

const Tensor* kernel_of(const Graph& graph, const Node& node) {
  const bool has_kernel = std::holds_alternative<Conv>(node.op) || std::holds_alternative<ConvTranspose>(node.op) ||
                          std::holds_alternative<Linear>(node.op);
  if (!has_kernel || !node.inputs[1] || !graph[node.inputs[1]].constant) return nullptr;
  return &*graph[node.inputs[1]].constant;
}

}  // namespace

std::uint64_t fingerprint(const Tensor& tensor) {
  std::uint64_t sum = static_cast<std::uint64_t>(tensor.count()) * 0x9E3779B97F4A7C15;
  const auto add = [&](std::span<const float> values) {
    for (const float value : values) sum += mixed(std::bit_cast<std::uint32_t>(value == 0 ? 0.0F : value) + 1ULL);
  };
  if (tensor.dtype() == DType::F32 && tensor.aligned()) add(tensor.raw<float>());
  else add(tensor.floats());
  return sum;
}

std::optional<std::uint64_t> fingerprint(const Graph& graph, const Node& node) {
  if (const Tensor* kernel = kernel_of(graph, node)) return fingerprint(*kernel);
  std::uint64_t sum = 0;
  Size numbers = 0;
  for (const ValueId v : node.inputs) {
    if (!v || !graph[v].constant || graph[v].type.dtype >= DType::I8) continue;
    sum += mixed(fingerprint(*graph[v].constant));
    numbers += graph[v].constant->count();
  }
  if (numbers < 2) return std::nullopt;
  return sum;
}

std::vector<std::vector<float>> scaled_channels(const Graph& graph, const Node& node) {
  constexpr Size most = Size{1} << 24;
  const Tensor* kernel = kernel_of(graph, node);
  if (!kernel || kernel->count() > most || kernel->count() == 0) return {};
  std::size_t axis = 0;
  std::size_t groups = 1;
  if (const auto* up = std::get_if<ConvTranspose>(&node.op)) axis = 1, groups = static_cast<std::size_t>(up->groups);
  if (const auto* linear = std::get_if<Linear>(&node.op)) axis = linear->order == LinearOrder::OutIn ? 0 : 1;
  if (groups != 1) return {};
  const auto values = kernel->floats();
  const Sizes& shape = kernel->shape();
  std::size_t inner = 1;
  for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= static_cast<std::size_t>(shape[i]);
  const auto channels = static_cast<std::size_t>(shape[axis]);
  std::vector<std::vector<float>> result(channels);
  for (std::size_t i = 0; i < values.size(); ++i) result[i / inner % channels].push_back(std::abs(values[i]));
  for (auto& channel : result) {
    std::ranges::sort(channel);
    const float largest = channel.empty() ? 0 : channel.back();
    for (float& value : channel) value = largest > 0 ? value / largest : 0;
  }
  return result;
}

double scaled_distance(const std::vector<std::vector<float>>& a, const std::vector<std::vector<float>>& b) {
  double most = 0;
  if (a.empty() || a.size() != b.size()) return std::numeric_limits<double>::infinity();
  for (std::size_t c = 0; c < a.size(); ++c) {
    if (a[c].size() != b[c].size()) return std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < a[c].size(); ++i)
      most = std::max(most, static_cast<double>(std::abs(a[c][i] - b[c][i])));
  }
  return most;
}

}  // namespace convoy::diagnose
