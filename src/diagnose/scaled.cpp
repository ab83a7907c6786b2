#include "diagnose/scaled.h"

#include "diagnose/channel_order.h"
#include "diagnose/fingerprint.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace convoy::diagnose {

namespace {

// Of a channel's largest number: measured 7e-8 between a kernel and itself with a norm in it, 0.15 and more between others.
constexpr double near = 1e-5, far = 1e-2;
constexpr std::size_t fewest = 4;  // numbers that tell a channel
constexpr Size most_numbers_of_kernel = Size{1} << 24;

using Channels = std::vector<std::vector<float>>;

struct Along {
  std::size_t inner = 1, count = 1;
  Along(const Sizes& shape, std::size_t axis) {
    for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= static_cast<std::size_t>(shape[i]);
    count = static_cast<std::size_t>(shape[axis]);
  }
  std::size_t at(std::size_t number) const { return number / inner % count; }
};

// Per slice the number that is farthest from 0, with its sign; 1 where all are 0.
std::vector<float> largest_of(const std::vector<float>& values, const Along& slices) {
  std::vector<float> largest(slices.count, 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    float& own = largest[slices.at(i)];
    if (std::abs(values[i]) > std::abs(own)) own = values[i];
  }
  for (float& own : largest)
    if (own == 0) own = 1;
  return largest;
}

// Each divided by its largest number. `sorts`: as magnitudes in order, which no order of the inputs changes.
Channels divided(const Tensor& kernel, std::size_t axis, bool sorts) {
  const Along slices(kernel.shape(), axis);
  const auto values = kernel.floats();
  const auto largest = largest_of(values, slices);
  Channels result(slices.count);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float value = values[i] / largest[slices.at(i)];
    result[slices.at(i)].push_back(sorts ? std::abs(value) : value);
  }
  if (sorts)
    for (auto& channel : result) std::ranges::sort(channel);
  return result;
}

// The axis of a kernel's output channels. Nothing: the node has no such kernel, or one too large for its worth.
std::optional<std::size_t> output_axis(const Graph& graph, const Node& node) {
  const Tensor* kernel = kernel_of(graph, node);
  if (!kernel || kernel->count() > most_numbers_of_kernel || kernel->count() == 0) return std::nullopt;
  if (const auto* up = get_if<ConvTranspose>(&node.op))
    return up->groups == 1 ? std::optional<std::size_t>(1) : std::nullopt;
  if (const auto* linear = get_if<Linear>(&node.op)) return linear->order == LinearOrder::OutIn ? 0 : 1;
  return 0;
}

double distance(const std::vector<float>& x, const std::vector<float>& y) {
  if (x.size() != y.size()) return std::numeric_limits<double>::infinity();
  double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) most = std::max(most, static_cast<double>(std::abs(x[i] - y[i])));
  return most;
}

double distance(const Channels& a, const Channels& b) {
  double most = a.size() == b.size() ? 0 : std::numeric_limits<double>::infinity();
  for (std::size_t c = 0; c < std::min(a.size(), b.size()) && most <= far; ++c)
    most = std::max(most, distance(a[c], b[c]));
  return most;
}

double sum_of(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value);
  return sum;
}

// Channel i of b is channel order[i] of a; each stays in its place where it can. Only sums that are near may belong together.
std::optional<Sizes> order_of(const Channels& a, const Channels& b) {
  if (a.size() != b.size() || a.empty() || a[0].size() < fewest || a[0].size() != b[0].size()) return std::nullopt;
  const double apart = near * static_cast<double>(a[0].size());
  std::vector<std::pair<double, std::size_t>> sums;
  std::vector<bool> used(a.size(), false);
  for (std::size_t i = 0; i < a.size(); ++i) {
    used[i] = are_near(a[i], b[i]);
    if (!used[i]) sums.emplace_back(sum_of(a[i]), i);
  }
  std::ranges::sort(sums);
  const std::vector<bool> stay = used;
  Sizes order;
  for (std::size_t i = 0; i < b.size(); ++i) {
    if (stay[i]) {
      order.push_back(static_cast<Size>(i));
      continue;
    }
    const double sum = sum_of(b[i]);
    auto at = std::ranges::lower_bound(sums, std::pair(sum - apart, std::size_t{0}));
    while (at != sums.end() && at->first <= sum + apart && (used[at->second] || !are_near(a[at->second], b[i]))) ++at;
    if (at == sums.end() || at->first > sum + apart) return std::nullopt;
    used[at->second] = true;
    order.push_back(static_cast<Size>(at->second));
  }
  return order;
}

struct Candidate {
  NodeId node;
  Channels channels;
  bool is_taken = false;
};

std::vector<Candidate> candidates_in(const Graph& graph, const std::function<bool(NodeId)>& is_open) {
  std::vector<Candidate> all;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const NodeId n{static_cast<std::int32_t>(i)};
    if (!is_open(n)) continue;
    const auto axis = output_axis(graph, graph.nodes[i]);
    if (!axis) continue;
    Channels channels = divided(*kernel_of(graph, graph.nodes[i]), *axis, true);
    if (channels[0].size() >= fewest) all.push_back({n, std::move(channels)});
  }
  return all;
}

}  // namespace

bool are_near(const std::vector<float>& x, const std::vector<float>& y) { return distance(x, y) < near; }

std::vector<std::pair<NodeId, NodeId>> scaled_pairs(const Graph& a, const Graph& b,
                                                    const std::function<bool(NodeId)>& open_a,
                                                    const std::function<bool(NodeId)>& open_b) {
  auto theirs = candidates_in(b, open_b);
  if (theirs.empty()) return {};
  auto ours = candidates_in(a, open_a);
  std::vector<std::pair<NodeId, NodeId>> pairs;
  // One kernel in two of a's layers, of which b holds another in one: the place must tell which.
  const auto is_one_of_several = [&](const Candidate& one) {
    return std::ranges::any_of(ours, [&](const Candidate& twin) {
      return &twin != &one && !twin.is_taken && distance(twin.channels, one.channels) < near;
    });
  };
  for (Candidate& one : ours) {
    double best = std::numeric_limits<double>::infinity(), next = best;
    Candidate* found = nullptr;
    for (Candidate& other : theirs) {
      if (other.is_taken) continue;
      const double apart = distance(one.channels, other.channels);
      if (apart < best) next = best, best = apart, found = &other;
      else next = std::min(next, apart);
    }
    if (!found || best >= near || next <= far) continue;
    if (is_one_of_several(one)) continue;
    one.is_taken = found->is_taken = true;
    pairs.emplace_back(one.node, found->node);
  }
  for (Candidate& one : ours) {
    Candidate* found = nullptr;
    bool is_alone = true;
    for (Candidate& other : theirs) {
      if (one.is_taken || other.is_taken || !order_of(one.channels, other.channels)) continue;
      is_alone = !found;
      found = &other;
    }
    if (!found || !is_alone || is_one_of_several(one)) continue;
    found->is_taken = true;
    pairs.emplace_back(one.node, found->node);
  }
  std::ranges::sort(pairs);
  return pairs;
}

std::optional<Sizes> scaled_order_between(const Tensor& a, const Tensor& b, std::size_t axis) {
  if (a.shape() != b.shape() || axis >= a.shape().size() || a.count() == 0 || a.count() > most_numbers_of_kernel)
    return std::nullopt;
  const auto order = order_of(divided(a, axis, false), divided(b, axis, false));
  return order && is_order(*order) ? order : std::nullopt;
}

std::vector<std::vector<float>> unscaled_slices(const Tensor& tensor, std::size_t scaled, std::size_t along) {
  const Along factors(tensor.shape(), scaled), slices(tensor.shape(), along);
  const auto values = tensor.floats();
  const auto largest = largest_of(values, factors);
  Channels result(slices.count);
  for (std::size_t i = 0; i < values.size(); ++i) result[slices.at(i)].push_back(values[i] / largest[factors.at(i)]);
  for (auto& slice : result) std::ranges::sort(slice);
  return result;
}

}  // namespace convoy::diagnose
