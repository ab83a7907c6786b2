#include "diagnose/steps_causes.h"

#include "diagnose/fix_parts.h"
#include "graph/quantized_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace convoy::diagnose {

namespace {

struct Steps {
  bool rounds = false;
  DType held = DType::I8;
  std::vector<float> scales;
  std::vector<std::int64_t> zeros;
  std::string rounded_in;  // of a widening: the layer that rounds; else empty
};
using StepsOfLayers = std::map<std::string, Steps, std::less<>>;

StepsOfLayers steps_of_layers(const Graph& graph) {
  StepsOfLayers all;
  for (const auto& [last, stretch] : quantized_stretches(graph).by_last) {
    Steps steps{stretch.rounds, stretch.held, graph[stretch.scale].constant->floats(), stretch.zeros, {}};
    if (const NodeId made_by = graph[stretch.x].producer; made_by && !stretch.rounds)
      steps.rounded_in = graph[made_by].layer;
    all.emplace(graph[last].layer, std::move(steps));
  }
  return all;
}

struct Range {
  double least = 0, most = 0;
};
Range range_of(const Steps& steps) {
  const auto bounds = *whole_bounds(steps.held);
  const auto scale = static_cast<double>(steps.scales.front()), zero = static_cast<double>(steps.zeros.front());
  return {(bounds.least - zero) * scale, (bounds.most - zero) * scale};
}

bool is_symmetric(const Steps& steps) {
  const std::int64_t middle = whole_bounds(steps.held)->least < 0 ? 0 : 128;
  return std::ranges::all_of(steps.zeros, [&](std::int64_t z) { return z == middle; });
}

std::string text_of(const Steps& steps) {
  return fmt::format("scale {:.6g} and zero point {}", steps.scales.front(), steps.zeros.front());
}

struct Named {
  std::string cause, says;
};

// A scale or a zero point that another tensor rounds with. `layer`: whose steps these are, which are in `all` as well.
std::optional<Named> steps_of_another(const StepsOfLayers& all, const std::string& layer, const std::string& rounded_in,
                                      const Steps& a, const Steps& b, const std::string& says) {
  const bool same_scale = a.scales == b.scales, same_zero = a.zeros == b.zeros;
  for (const auto& [other, steps] : all) {
    if (other == layer || other == rounded_in || steps.rounded_in == layer) continue;
    if (!same_scale && steps.scales == b.scales && (steps.zeros == b.zeros || same_zero))
      return Named{"quant_steps_of_another", says + ", those of '" + other + "'"};
    if (same_scale && steps.zeros == b.zeros && steps.zeros != a.zeros)
      return Named{"quant_steps_of_another", says + ", the zero point of '" + other + "'"};
  }
  return std::nullopt;
}

// Whether another tensor has these very steps, as what a pool or a reshape hands on does.
bool is_shared(const StepsOfLayers& all, const std::string& layer, const Steps& own) {
  return std::ranges::any_of(all, [&](const auto& other) {
    return other.first != layer && other.first != own.rounded_in && other.second.rounded_in != layer &&
           other.second.scales == own.scales && other.second.zeros == own.zeros;
  });
}

struct Rounding {
  const StepsOfLayers& all;  // of the model
  const std::string& layer;
  const Steps& steps;
};

// Nothing: the two round alike.
std::optional<Named> difference(const Rounding& of_a, const Rounding& of_b) {
  const Steps &a = of_a.steps, &b = of_b.steps;
  const bool same_scale = a.scales == b.scales, same_zero = a.zeros == b.zeros;
  if (same_scale && same_zero && a.held == b.held) return std::nullopt;
  const std::string says = text_of(b) + " in place of " + text_of(a);
  // Tensors that share their steps share them in both models, whatever these are.
  const bool is_of_many = is_shared(of_a.all, of_a.layer, a) && is_shared(of_b.all, of_b.layer, b);
  for (const Rounding* one : {&of_a, &of_b}) {
    if (one == &of_b && is_of_many) continue;
    if (auto named = steps_of_another(one->all, one->layer, one->steps.rounded_in, a, b, says)) return named;
  }
  if (same_scale) return Named{"quant_zero_point", says};  // what is made symmetric has another scale as well
  if (!same_zero && is_symmetric(a) != is_symmetric(b)) return Named{"quant_symmetric", says};
  const Range was = range_of(a), now = range_of(b);
  if (now.most - now.least < 0.9 * (was.most - was.least))
    return Named{"quant_saturates", fmt::format("{}: {:.4g} to {:.4g} in place of {:.4g} to {:.4g}", says, now.least,
                                                now.most, was.least, was.most)};
  return Named{"quant_scale", says};
}

bool rounds_otherwise(const Graph& b, const std::string& layer) {
  return std::ranges::any_of(b.nodes, [&](const Node& node) {
    const auto* unary = node.layer == layer ? std::get_if<Unary>(&node.op) : nullptr;
    return unary && rounds(unary->function) && unary->function != Function::Round;
  });
}

// ---- weights --------------------------------------------------------------------------------------------------------

const Tensor* weight_of(const Graph& graph, const std::string& layer) {
  for (const Node& node : graph.nodes)
    if (node.layer == layer && traits_of(node.op).is_product() && node.inputs.size() > 1 && node.inputs[1] &&
        graph[node.inputs[1]].constant && graph[node.inputs[1]].constant->dtype() == DType::F32)
      return &*graph[node.inputs[1]].constant;
  return nullptr;
}

// Whether all numbers are whole ones times `step`, which is first made to fit the largest.
std::optional<double> fitted(const std::vector<double>& numbers, double largest, double step) {
  constexpr double most = 256;
  const double steps = std::round(largest / step);
  if (!(steps >= 1 && steps <= most)) return std::nullopt;
  const double fit = largest / steps;
  for (const double x : numbers)
    if (!(std::abs(x / fit - std::round(x / fit)) <= 1e-3)) return std::nullopt;
  return fit;
}

// The largest step that all numbers are whole multiples of, of which 8 bits tell as many. Nothing: there is none.
std::optional<double> step_of(std::vector<double> numbers) {
  std::ranges::sort(numbers);
  numbers.erase(std::ranges::unique(numbers).begin(), numbers.end());
  if (numbers.size() < 2 || numbers.size() > 256) return std::nullopt;
  const double largest = std::max(std::abs(numbers.front()), std::abs(numbers.back()));
  double apart = INFINITY;
  for (std::size_t i = 1; i < numbers.size(); ++i)
    if (const double one = numbers[i] - numbers[i - 1]; one > 1e-5 * largest) apart = std::min(apart, one);
  for (int parts = 1; parts <= 128; ++parts)
    if (const auto fit = fitted(numbers, largest, apart / parts)) return fit;
  return std::nullopt;
}

std::vector<std::vector<double>> along(const Tensor& tensor, std::size_t axis) {
  const auto numbers = tensor.doubles();
  const auto count = static_cast<std::size_t>(tensor.shape()[axis]);
  std::size_t inner = 1;
  for (std::size_t i = axis + 1; i < tensor.shape().size(); ++i) inner *= static_cast<std::size_t>(tensor.shape()[i]);
  std::vector<std::vector<double>> parts(count);
  for (std::size_t i = 0; i < numbers.size(); ++i) parts[i / inner % count].push_back(numbers[i]);
  return parts;
}

// The largest step of the channels along some axis, which lie on steps of their own. Zeros alone lie on any.
std::optional<double> step_by_channel(const Tensor& tensor) {
  for (std::size_t axis = 0; axis < tensor.shape().size(); ++axis) {
    const auto parts = along(tensor, axis);
    if (parts.size() < 2 || parts.front().size() < 4) continue;
    double largest = 0;
    const bool all = std::ranges::all_of(parts, [&](const std::vector<double>& part) {
      const auto step = step_of(part);
      largest = std::max(largest, step.value_or(0));
      return step || std::ranges::all_of(part, [](double x) { return x == 0; });
    });
    if (all && largest > 0) return largest;
  }
  return std::nullopt;
}

std::optional<Named> weights_difference(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.count() < 4) return std::nullopt;
  const auto x = a.doubles(), y = b.doubles();
  double largest = 0, apart = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    largest = std::max(largest, std::abs(x[i])), apart = std::max(apart, std::abs(x[i] - y[i]));
  if (!(apart <= 0.05 * largest)) return std::nullopt;  // other numbers, whatever they lie on
  const auto one_a = step_of(x), one_b = step_of(y);
  const bool many_a = !one_a && step_by_channel(a), many_b = !one_b && step_by_channel(b);
  if (many_a && one_b)
    return Named{"quant_per_tensor", fmt::format("steps of {:.4g} for all in place of one for each channel", *one_b)};
  if (one_a && many_b)
    return Named{"quant_per_tensor", fmt::format("a step for each channel in place of {:.4g} for all", *one_a)};
  if ((one_a || many_a) && (one_b || many_b))
    return Named{"weights_rounded_twice", fmt::format("weights on other steps, up to {:.3g} away", apart)};
  return std::nullopt;
}

}  // namespace

std::optional<double> largest_step(const Tensor& weights) {
  const auto one = step_of(weights.doubles());
  return one ? one : step_by_channel(weights);
}

void name_steps(const Graph& a, const Graph& b, std::vector<Finding>& findings) {
  const StepsOfLayers of_a = steps_of_layers(a), of_b = steps_of_layers(b);
  std::set<std::string> said;  // roundings of a that have a finding
  std::vector<Finding> kept;
  for (Finding& finding : findings) {
    const auto ours = of_a.find(finding.a), theirs = of_b.find(finding.b);
    if (ours != of_a.end() && said.contains(ours->second.rounded_in)) continue;
    std::optional<Named> named;
    if (ours != of_a.end() && theirs != of_b.end() && ours->second.rounds == theirs->second.rounds) {
      named = difference({of_a, finding.a, ours->second}, {of_b, finding.b, theirs->second});
      if (said.contains(finding.a)) continue;
    } else if (ours != of_a.end() && ours->second.rounds && rounds_otherwise(b, finding.b)) {
      named = Named{"quant_rounding", finding.says};
    } else if (finding.cause == "weights_differ" || finding.cause == "unknown") {
      const Tensor *w = weight_of(a, finding.a), *v = weight_of(b, finding.b);
      if (w && v) named = weights_difference(*w, *v);
    }
    if (named) {
      if (ours != of_a.end()) said.insert(finding.a);
      finding.cause = named->cause, finding.says = named->says;
      finding.also.clear();
      finding.certain = true;
      finding.fix = fix_of_cause(named->cause);
    }
    kept.push_back(std::move(finding));
  }
  findings = std::move(kept);
}

}  // namespace convoy::diagnose
