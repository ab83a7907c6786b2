#include "diagnose/twin.h"

#include "diagnose/align.h"
#include "diagnose/comparable.h"
#include "diagnose/steps_of_weights.h"
#include "graph/quantized_steps.h"
#include "ops/expect.h"
#include "run/run.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace convoy::diagnose {

namespace {

std::set<std::string, std::less<>> layers_of_steps(const Graph& graph) {
  std::set<std::string, std::less<>> all;
  for (const auto& [rounding, widening] : stepped_pairs(graph)) {
    all.insert(graph[rounding.nodes.back()].layer);
    all.insert(graph[widening.nodes.back()].layer);
  }
  return all;
}

// `input`: 1 the weights, 2 the bias.
const Tensor* product_weight(const Graph& graph, const std::string& layer, std::size_t input = 1) {
  for (const Node& node : graph.nodes)
    if (node.layer == layer && traits_of(node.op).is_product() && node.inputs.size() > input && node.inputs[input] &&
        graph[node.inputs[input]].constant)
      return &*graph[node.inputs[input]].constant;
  return nullptr;
}

// How far the numbers of two weights are apart, in whatever order of axes, and the largest of them.
struct WeightsApart {
  double most = 0, largest = 0;
  std::size_t differing = 0, not_zero = 0;  // how many
  // Of numbers that are rounded few stay as they were, beside zeros.
  bool may_be_by_rounding() const { return 4 * differing >= not_zero; }
};
std::optional<WeightsApart> apart_of(const Tensor* x, const Tensor* y) {
  if (!x || !y || x->count() != y->count()) return std::nullopt;
  auto a = x->doubles(), b = y->doubles();
  std::ranges::sort(a), std::ranges::sort(b);
  WeightsApart apart;
  for (std::size_t i = 0; i < a.size(); ++i) {
    apart.largest = std::max(apart.largest, std::abs(a[i]));
    apart.most = std::max(apart.most, std::abs(a[i] - b[i]));
    if (a[i] != b[i]) ++apart.differing;
    if (a[i] != 0 || b[i] != 0) ++apart.not_zero;
  }
  return apart;
}

// Within half a step of 8 bits of the largest number.
bool is_near(const Tensor* x, const Tensor* y) {
  const auto apart = apart_of(x, y);
  return apart && apart->most <= apart->largest / 127;
}

bool is_by_numbers(const Finding& finding) {
  return !finding.other_shape && (finding.cause == "unknown" || finding.cause == "number" ||
                                  finding.cause.starts_with("weights_") || finding.cause.starts_with("bias_"));
}

Result<Values> run_all(const Graph& graph, const std::vector<Tensor>& inputs, int threads) {
  RunOptions options;
  options.threads = threads;
  options.keeps_all = true;
  return run(graph, inputs, options);
}

double decibels_of(const Tensor& real, const Tensor& stepped) {
  const auto x = real.doubles(), y = stepped.doubles();
  double signal = 0, noise = 0;
  for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i)
    if (std::isfinite(x[i])) signal += x[i] * x[i], noise += (x[i] - y[i]) * (x[i] - y[i]);
  return noise == 0 ? INFINITY : 10 * std::log10(signal / noise);
}

std::string maker_name(const Graph& graph, ValueId value) {
  const NodeId maker = graph[value].producer;
  return maker ? graph[maker].layer : graph[value].name;
}

// What lies between the steps of one layer, which is said once.
std::set<ValueId> inside_layers(const Graph& graph) {
  const auto readers = readers_of(graph);
  std::set<ValueId> inner;
  for (const Node& node : graph.nodes)
    for (const ValueId v : node.outputs) {
      const auto& next = readers[v.slot()];
      const bool is_read_alone = next.size() == 1 && graph[next[0]].layer == node.layer;
      if (is_read_alone && std::ranges::find(graph.outputs, graph[next[0]].outputs[0]) == graph.outputs.end())
        inner.insert(v);
    }
  return inner;
}

// Who reads one of these values reads an input of these numbers in its place, so that each layer shows its own loss alone.
using Wanted = std::vector<std::pair<ValueId, Tensor>>;
Result<Values> run_forced(Graph graph, std::vector<Tensor> inputs, const Wanted& wanted, int threads) {
  std::map<ValueId, ValueId> now;
  for (const auto& [v, numbers] : wanted) {
    if (now.contains(v)) continue;
    now[v] = graph.input(graph.unique_name(graph[v].name + "/given"), graph[v].type);
    inputs.push_back(numbers);
  }
  for (Node& node : graph.nodes)
    for (ValueId& v : node.inputs)
      if (const auto found = now.find(v); v && found != now.end()) v = found->second;
  return run_all(graph, inputs, threads);
}

void measure_outputs(const Graph& real, const Values& exact, const Graph& stepped, const Values& free,
                     TwinLosses& into) {
  for (std::size_t i = 0; i < std::min(real.outputs.size(), stepped.outputs.size()); ++i) {
    const auto x = exact.at(real.outputs[i]).doubles(), y = free.at(stepped.outputs[i]).doubles();
    for (std::size_t k = 0; k < std::min(x.size(), y.size()); ++k) {
      if (!std::isfinite(x[k]) || !std::isfinite(y[k])) continue;
      into.outputs_largest = std::max(into.outputs_largest, std::abs(x[k] - y[k]));
      into.outputs_scale = std::max(into.outputs_scale, std::abs(x[k]));
    }
  }
}

// Below a range that begins at 0 numbers are cut by the ReLU that it stands for.
void note_beyond_range(const Graph& stepped, const Values& free, TwinLosses& into) {
  for (const auto& [rounding, widening] : stepped_pairs(stepped)) {
    const auto found = free.find(rounding.x);
    if (found == free.end() || found->second.count() == 0) continue;
    const WholeBounds bounds = *whole_bounds(rounding.held);
    const double scale = stepped[rounding.scale].constant->doubles().front();
    const auto zero = static_cast<double>(rounding.zeros.front());
    const auto numbers = found->second.doubles();
    const auto beyond = std::ranges::count_if(numbers, [&](double x) {
      const double whole = x / scale + zero;
      return whole > bounds.most + 0.5 || (whole < bounds.least - 0.5 && zero > bounds.least);
    });
    const double share = static_cast<double>(beyond) / static_cast<double>(numbers.size());
    if (share > into.share_beyond) into.share_beyond = share, into.beyond_range = stepped[rounding.nodes.back()].layer;
  }
}

}  // namespace

bool rounds_to_steps(const Graph& graph) { return !stepped_pairs(graph).empty(); }

bool are_twins(const Graph& a, const Graph& b) {
  const auto rounds = [](const Graph& graph) {
    return std::ranges::any_of(graph.nodes, [](const Node& node) {
      const auto* unary = get_if<Unary>(&node.op);
      return unary && unary->function == Function::Round;
    });
  };
  return rounds_to_steps(a) ? !rounds(b) : rounds_to_steps(b) && !rounds(a);
}

Graph without_steps(const Graph& graph) {
  Graph ranged = graph;
  keep_ranges_alone(ranged);
  for (const auto& [rounding, widening] : stepped_pairs(graph)) {
    Op& op = ranged[widening.nodes.back()].op;
    const auto* range = get_if<Clip>(&op);
    if (!range || !range->least) continue;
    if (*range->least >= 0) op = Relu{};
    else op = Identity{};
  }
  prune(ranged);
  return ranged;
}

void drop_rounded(const Graph& a, const Graph& b, std::vector<Finding>& findings) {
  const auto of_a = layers_of_steps(a), of_b = layers_of_steps(b);
  std::erase_if(findings, [&](const Finding& finding) {
    if (of_a.contains(finding.a) || of_b.contains(finding.b) || finding.cause == "activation_extra") return true;
    const Tensor *bias = product_weight(a, finding.a, 2), *other = product_weight(b, finding.b, 2);
    return is_by_numbers(finding) && is_near(product_weight(a, finding.a), product_weight(b, finding.b)) &&
           (!bias || !other || is_near(bias, other));
  });
}

std::optional<Side> drop_rounded_weights(const Graph& a, const Graph& b, std::vector<Finding>& findings) {
  std::optional<Side> side;
  std::erase_if(findings, [&](const Finding& finding) {
    const Tensor *w = product_weight(a, finding.a), *v = product_weight(b, finding.b);
    const auto apart = is_by_numbers(finding) ? apart_of(w, v) : std::nullopt;
    if (!apart || !apart->may_be_by_rounding()) return false;
    const auto of_a = largest_step(*w), of_b = largest_step(*v);
    if (of_a.has_value() == of_b.has_value()) return false;
    const Side own = of_a ? Side::A : Side::B;
    if (apart->most > 0.501 * of_a.value_or(of_b.value_or(0)) || side.value_or(own) != own) return false;
    side = own;
    return true;
  });
  return side;
}

Result<TwinLosses> losses_of_twins(const Graph& real, const Graph& stepped, const Graph& ranged,
                                   const Options& options) {
  const auto at = at_one_size(real, ranged, 0, options.seed, options.inputs);
  const auto full = at ? at_one_size(real, stepped, 0, options.seed, options.inputs) : at;
  if (!full) return std::unexpected(full.error());
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < at->inputs.size(); ++i)
    inputs.push_back(arranged(at->inputs[i], {}, sizes_of(at->b[at->b.inputs[i]].type.shape).value_or(Sizes{})));
  const auto exact = run_all(at->a, at->inputs, options.threads);
  const auto free = exact ? run_all(full->b, inputs, options.threads) : exact;
  if (!free) return std::unexpected(free.error());
  const auto rounded = layers_of_steps(stepped);
  std::map<std::string, ValueId> by_name, by_layer;  // the last value of each layer
  for (std::size_t i = 0; i < full->b.values.size(); ++i)
    by_name.emplace(full->b.values[i].name, ValueId{static_cast<std::int32_t>(i)});
  for (const Node& node : full->b.nodes) by_layer[node.layer] = node.outputs[0];
  const auto inner_a = inside_layers(at->a), inner_b = inside_layers(at->b);
  Wanted wanted;
  std::vector<LayerLoss> all;
  for (const Match& match : align(at->a, at->b).matches) {
    const std::string layer = maker_name(at->b, match.b);
    const bool is_step = rounded.contains(layer);
    const auto& places = is_step ? by_layer : by_name;
    const auto found = places.find(is_step ? layer : at->b[match.b].name);
    if (match.how == How::Input || found == places.end() || inner_a.contains(match.a) || inner_b.contains(match.b))
      continue;
    if (!exact->contains(match.a) || !free->contains(found->second)) continue;
    const Tensor& theirs = free->at(found->second);
    Tensor ours = arranged(exact->at(match.a), match.permutation, theirs.shape());
    if (ours.count() != theirs.count() || !is_floating(theirs.dtype())) continue;
    all.push_back({maker_name(at->a, match.a), maker_name(at->b, match.b), 0, decibels_of(ours, theirs)});
    wanted.emplace_back(found->second, std::move(ours));
  }
  const auto alone = run_forced(full->b, std::move(inputs), wanted, options.threads);
  if (!alone) return std::unexpected(alone.error());
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i].decibels = decibels_of(wanted[i].second, alone->at(wanted[i].first));
  std::erase_if(all, [](const LayerLoss& loss) { return std::isinf(loss.decibels) && std::isinf(loss.together); });
  std::ranges::stable_sort(all, {}, &LayerLoss::decibels);
  TwinLosses losses{std::move(all), 0, 0, {}, 0};
  measure_outputs(at->a, *exact, full->b, *free, losses);
  note_beyond_range(full->b, *free, losses);
  return losses;
}

}  // namespace convoy::diagnose
