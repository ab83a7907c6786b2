#include "diagnose/steps_causes.h"

#include "diagnose/fix_parts.h"
#include "diagnose/steps_of_weights.h"
#include "diagnose/twin_weights.h"
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
  std::string made_by;  // the layer in front of a rounding; empty: an input
};
using StepsOfLayers = std::map<std::string, Steps, std::less<>>;

// `order`: gains the layers as they are computed.
StepsOfLayers steps_of_layers(const Graph& graph, std::vector<std::string>& order) {
  StepsOfLayers all;
  for (const auto& [last, stretch] : quantized_stretches(graph).by_last) {
    Steps steps{stretch.rounds, stretch.held, graph[stretch.scale].constant->floats(), stretch.zeros, {}, {}};
    if (const NodeId made_by = graph[stretch.x].producer)
      (stretch.rounds ? steps.made_by : steps.rounded_in) = graph[made_by].layer;
    order.push_back(graph[last].layer);
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

// As uint8 around 128 and int8 around 0 have.
bool have_same_range(const Steps& a, const Steps& b) {
  const Range x = range_of(a), y = range_of(b);
  return x.least == y.least && x.most == y.most;
}

bool is_symmetric(const Steps& steps) {
  const std::int64_t middle = whole_bounds(steps.held)->least < 0 ? 0 : 128;
  return std::ranges::all_of(steps.zeros, [&](std::int64_t z) { return z == middle; });
}

std::string text_of(const Steps& steps) {
  return fmt::format("scale {:.6g} and zero point {}", steps.scales.front(), steps.zeros.front());
}
std::string text_with_type(const Steps& steps) {
  return fmt::format("{} with {}", name_of(steps.held), text_of(steps));
}

// The rounding as both sources say it.
Fix fix_of_steps(const Steps& steps) {
  if (steps.scales.size() != 1) return {};
  const auto bounds = *whole_bounds(steps.held);
  const double scale = static_cast<double>(steps.scales.front());
  return {fmt::format("x = torch.fake_quantize_per_tensor_affine(x, {:.9g}, {}, {}, {})", scale, steps.zeros.front(),
                      bounds.least, bounds.most),
          fmt::format("x = (ops.clip(ops.round(x / {0:.9g}) + {1}, {2}, {3}) - {1}) * {0:.9g}", scale,
                      steps.zeros.front(), bounds.least, bounds.most)};
}

struct Named {
  std::string cause, says;
  Fix fix = {};
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
  if (a.held != b.held) {
    if (same_scale && have_same_range(a, b)) return std::nullopt;
    return Named{"quant_type", text_with_type(b) + " in place of " + text_with_type(a)};
  }
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
    const auto* unary = node.layer == layer ? get_if<Unary>(&node.op) : nullptr;
    return unary && rounds(unary->function) && unary->function != Function::Round;
  });
}

// ---- weights --------------------------------------------------------------------------------------------------------

const Node* product_in(const Graph& graph, const std::string& layer) {
  const auto is_product = [&](const Node& node) {
    return node.layer == layer && traits_of(node.op).is_product() && node.inputs.size() > 1;
  };
  const auto found = std::ranges::find_if(graph.nodes, is_product);
  return found == graph.nodes.end() ? nullptr : &*found;
}
const Tensor* real_constant(const Graph& graph, const Node* node, std::size_t input) {
  const bool is_known =
      node && node->inputs.size() > input && node->inputs[input] && graph[node->inputs[input]].constant;
  if (!is_known || graph[node->inputs[input]].constant->dtype() != DType::F32) return nullptr;
  return &*graph[node->inputs[input]].constant;
}

// How many times as large all numbers of y are as those of x. Nothing: not all of them as many times.
std::optional<double> ratio_between(const std::vector<double>& x, const std::vector<double>& y) {
  double most_x = 0, most_y = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (std::abs(x[i]) > std::abs(most_x)) most_x = x[i], most_y = y[i];
  const double ratio = most_x == 0 ? 0 : most_y / most_x;
  if (!(ratio > 0)) return std::nullopt;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!(std::abs(y[i] - ratio * x[i]) <= 1e-5 * std::abs(most_y))) return std::nullopt;
  return ratio;
}
// By how much all numbers of y are larger.
std::optional<double> shift_between(const std::vector<double>& x, const std::vector<double>& y) {
  double most = 0;
  for (const double one : y) most = std::max(most, std::abs(one));
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!(std::abs(y[i] - x[i] - (y[0] - x[0])) <= 1e-5 * most)) return std::nullopt;
  return y[0] - x[0];
}

// Times 1.5, or by channel those that are not as they were.
std::string text_of_ratios(const std::vector<double>& ratios) {
  const auto changed = [](double ratio) { return std::abs(ratio - 1) > 1e-6; };
  const auto first = std::ranges::find_if(ratios, changed);
  if (std::ranges::all_of(ratios, [&](double ratio) { return std::abs(ratio - *first) <= 1e-5 * *first; }))
    return fmt::format("{:.6g} times the scale", *first);
  return fmt::format("{:.6g} times the scale in channel {}{}", *first, first - ratios.begin(),
                     std::ranges::count_if(ratios, changed) > 1 ? ", and others" : "");
}

// The same whole numbers behind another scale, or another zero point. `axis`: each place along it has its own; nothing: all have one.
std::optional<Named> other_scale_of_weights(const Tensor& a, const Tensor& b, std::optional<std::size_t> axis) {
  const auto of_a = axis ? along(a, *axis) : std::vector<std::vector<double>>{a.doubles()};
  const auto of_b = axis ? along(b, *axis) : std::vector<std::vector<double>>{b.doubles()};
  std::vector<double> ratios;
  double most_steps = 0;
  bool is_scaled = true, is_shifted = true;
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    const bool is_empty = std::ranges::all_of(of_a[i], [](double x) { return x == 0; }) && of_a[i] == of_b[i];
    const auto ratio = is_empty ? 1.0 : ratio_between(of_a[i], of_b[i]);
    is_scaled = is_scaled && ratio;
    ratios.push_back(ratio.value_or(1));
    const auto step = is_empty || of_a[i].size() < 4 ? std::nullopt : step_of(of_a[i]);
    const auto shift = is_empty ? 0.0 : shift_between(of_a[i], of_b[i]);
    const double steps = shift && step ? *shift / *step : shift == 0.0 ? 0 : NAN;
    is_shifted = is_shifted && std::abs(steps - std::round(steps)) <= 1e-2;
    if (std::abs(steps) > std::abs(most_steps)) most_steps = std::round(steps);
  }
  const bool moves = std::ranges::any_of(ratios, [](double ratio) { return std::abs(ratio - 1) > 1e-6; });
  if (is_scaled && moves)
    return Named{"quant_scale",
                 "weights of " + text_of_ratios(ratios),
                 {"the original's scale of the weights", "the original's scale of the weights"}};
  if (is_shifted && most_steps != 0)
    return Named{"quant_zero_point",
                 fmt::format("weights moved by {} steps", most_steps),
                 {"the original's zero point of the weights", "the original's zero point of the weights"}};
  return std::nullopt;
}

// Whole numbers of a bias are steps of the input's scale times that of the weights.
std::optional<Named> bias_difference(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.count() < 2) return std::nullopt;
  const auto ratio = ratio_between(a.doubles(), b.doubles());
  if (!ratio || std::abs(*ratio - 1) <= 1e-6) return std::nullopt;
  return Named{"quant_scale",
               fmt::format("a bias of {:.6g} times the scale, which is the input's times that of the weights", *ratio),
               {fmt::format("bias = bias * {:.6g}", 1 / *ratio), fmt::format("bias = bias * {:.6g}", 1 / *ratio)}};
}

// `reads_steps`: what the layers read lies on steps, so that their weights do, however few numbers there are to tell it.
std::optional<Named> weights_difference(const Tensor& a, const Tensor& b, bool reads_steps) {
  if (a.shape() != b.shape() || a.count() < 4) return std::nullopt;
  if (reads_steps || largest_step(a) || largest_step(b)) {
    if (auto named = other_scale_of_weights(a, b, std::nullopt)) return named;
    for (std::size_t axis = 0; axis < a.shape().size(); ++axis)
      if (a.shape()[axis] > 1 && a.count() / a.shape()[axis] >= 2)
        if (auto named = other_scale_of_weights(a, b, axis)) return named;
  }
  const auto x = a.doubles(), y = b.doubles();
  double largest = 0, apart = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    largest = std::max(largest, std::abs(x[i])), apart = std::max(apart, std::abs(x[i] - y[i]));
  if (!(apart <= 0.05 * largest) || apart == 0) return std::nullopt;  // other numbers, whatever they lie on
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

bool same_numbers(const Tensor& a, const Tensor& b) { return a.shape() == b.shape() && a.floats() == b.floats(); }

// Whether two biases are rounded from one: to steps of the input's scale times the weights', where the inputs' scales are not the same.
bool are_rounded_from_one(const Tensor& a, const Tensor& b, const Tensor& weights, double scale_a, double scale_b) {
  const auto step = largest_step(weights);
  if (!step || scale_a == scale_b || a.shape() != b.shape()) return false;
  const auto x = a.doubles(), y = b.doubles();
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!(std::abs(x[i] - y[i]) <= 0.501 * *step * (scale_a + scale_b) + 1e-6 * std::abs(x[i]))) return false;
  return true;
}

// A rounding that the files say otherwise: by its name, or by its place where both round as often.
struct ChangedSteps {
  Named named;
  Fix fix;
};
using ChangedOfLayers = std::map<std::string, ChangedSteps, std::less<>>;  // by the layers of a

ChangedOfLayers changed_steps(const StepsOfLayers& of_a, const std::vector<std::string>& order_a,
                              const StepsOfLayers& of_b, const std::vector<std::string>& order_b) {
  bool by_place = order_a.size() == order_b.size();
  for (std::size_t i = 0; by_place && i < order_a.size(); ++i)
    by_place = of_a.at(order_a[i]).rounds == of_b.at(order_b[i]).rounds;
  ChangedOfLayers all;
  for (std::size_t i = 0; i < order_a.size(); ++i) {
    auto theirs = of_b.find(order_a[i]);
    if (theirs == of_b.end() && by_place) theirs = of_b.find(order_b[i]);
    const Steps& own = of_a.at(order_a[i]);
    if (theirs == of_b.end() || own.rounds != theirs->second.rounds) continue;
    if (auto named = difference({of_a, order_a[i], own}, {of_b, theirs->first, theirs->second}))
      all.emplace(order_a[i], ChangedSteps{*std::move(named), fix_of_steps(own)});
  }
  return all;
}

// Causes that numbers suggest where a rounding beside the layer is another.
bool is_by_numbers_alone(const std::string& cause) {
  return cause == "unknown" || cause == "number" || cause.starts_with("activation_") || cause.starts_with("layer_") ||
         cause.starts_with("bias_") || cause == "reads_another" || cause == "parameter";
}

// The changed rounding right behind or in front of a layer. Nothing: none is.
std::string changed_beside(const ChangedOfLayers& changed, const StepsOfLayers& of_a, const Graph& a,
                           const std::string& layer) {
  for (const auto& [name, unused] : changed)
    if (of_a.at(name).made_by == layer) return name;
  for (const Node& node : a.nodes) {
    if (node.layer != layer) continue;
    for (const ValueId v : node.inputs) {
      const NodeId maker = v ? a[v].producer : NodeId{};
      if (maker && changed.contains(a[maker].layer)) return a[maker].layer;
    }
  }
  return {};
}

}  // namespace

void name_steps(const Graph& a, const Graph& b, std::vector<Finding>& findings) {
  std::vector<std::string> order_a, order_b;
  const StepsOfLayers of_a = steps_of_layers(a, order_a), of_b = steps_of_layers(b, order_b);
  const ChangedOfLayers changed = changed_steps(of_a, order_a, of_b, order_b);
  const ScalesOfInputs scales_a = scales_of_inputs(a), scales_b = scales_of_inputs(b);
  std::set<std::string> said;  // roundings of a that have a finding
  std::vector<Finding> kept;
  for (Finding& finding : findings) {
    const auto ours = of_a.find(finding.a), theirs = of_b.find(finding.b);
    if (ours != of_a.end() && said.contains(ours->second.rounded_in)) continue;
    std::optional<Named> named;
    if (ours != of_a.end() && theirs != of_b.end() && ours->second.rounds == theirs->second.rounds) {
      named = difference({of_a, finding.a, ours->second}, {of_b, finding.b, theirs->second});
      if (said.contains(finding.a)) continue;
      if (named) named->fix = fix_of_steps(ours->second);
    } else if (ours != of_a.end() && ours->second.rounds && rounds_otherwise(b, finding.b)) {
      named = Named{"quant_rounding", finding.says};
    } else if (finding.cause == "weights_differ" || is_by_numbers_alone(finding.cause)) {
      const Node *x = product_in(a, finding.a), *y = product_in(b, finding.b);
      const Tensor *w = real_constant(a, x, 1), *v = real_constant(b, y, 1);
      const Tensor *c = real_constant(a, x, 2), *d = real_constant(b, y, 2);
      const auto scale_a = scales_a.find(finding.a), scale_b = scales_b.find(finding.b);
      const bool reads_steps = scale_a != scales_a.end() && scale_b != scales_b.end();
      if (w && v && c && d && reads_steps && same_numbers(*w, *v) &&
          are_rounded_from_one(*c, *d, *w, scale_a->second, scale_b->second))
        continue;
      if (w && v && !finding.cause.starts_with("bias_")) named = weights_difference(*w, *v, reads_steps);
      if (!named && w && c && d && (reads_steps || largest_step(*w))) named = bias_difference(*c, *d);
      // A bias of whole numbers lies on steps of the input, which are said.
      if (named && w && v && same_numbers(*w, *v) && changed.contains(finding.a + "_0")) continue;
    }
    if (!named && is_by_numbers_alone(finding.cause)) {
      const std::string beside = changed.contains(finding.a) ? finding.a : changed_beside(changed, of_a, a, finding.a);
      if (!beside.empty()) {
        if (said.contains(beside) || said.contains(of_a.at(beside).rounded_in)) continue;
        named = changed.at(beside).named;
        named->fix = changed.at(beside).fix;
        finding.a = beside;
        if (of_b.contains(beside)) finding.b = beside;
        said.insert(beside);
      }
    }
    if (named) {
      if (ours != of_a.end()) said.insert(finding.a);
      finding.cause = named->cause, finding.says = named->says;
      finding.also.clear();
      finding.certain = true;
      finding.fix = named->fix.torch.empty() ? fix_of_cause(named->cause) : named->fix;
      // What hands numbers on shares their steps: one cause is said once.
      const auto first = std::ranges::find_if(kept, [&](const Finding& one) {
        return changed.contains(finding.a) && one.cause == finding.cause && one.says.starts_with(finding.says);
      });
      if (first != kept.end()) {
        first->says += ", and in '" + finding.a + "'";
        continue;
      }
    }
    kept.push_back(std::move(finding));
  }
  findings = std::move(kept);
}

}  // namespace convoy::diagnose
