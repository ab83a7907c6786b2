#include "port/element_types.h"

#include "base/budget.h"
#include "convoy/settings.h"
#include "graph/element_types.h"
#include "ops/expect.h"
#include "run/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace convoy {

std::optional<DType> real_type_named(std::string_view name) {
  const auto found = std::ranges::find_if(real_types, [&](DType type) { return name_of(type) == name; });
  return found == real_types.end() ? std::nullopt : std::optional(*found);
}

namespace {

// How far two tensors are apart: the largest difference, and the power of the one against that of what it lost.
struct Loss {
  double largest = 0, signal = 0, noise = 0;
  bool is_finite = true;

  void add(const Tensor& before, const Tensor& after) {
    const auto a = before.doubles(), b = after.doubles();
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) {
        signal += std::isfinite(a[i]) ? a[i] * a[i] : 0;
        continue;
      }
      const double off = std::abs(a[i] - b[i]);
      if (!std::isfinite(off)) is_finite = false;
      else largest = std::max(largest, off), signal += a[i] * a[i], noise += off * off;
    }
  }
  bool any() const { return noise > 0 || !is_finite; }
  double decibels() const { return 10 * std::log10(signal / noise); }
};

struct LayerLoss {
  std::string layer;
  Loss loss;
};

Result<std::vector<LayerLoss>> losses(const Graph& before, const Graph& after, const ProofOptions& options,
                                      Loss& outputs) {
  auto inputs = probing_inputs(before, 0, options.seed);
  if (!inputs) return pass(inputs);
  auto sized_before = with_input_shapes(before, shapes_of(*inputs));
  if (!sized_before) return pass(sized_before);
  auto sized_after = with_input_shapes(after, shapes_of(*inputs));
  if (!sized_after) return pass(sized_after);
  RunOptions all;
  all.threads = options.threads;
  all.memory_limit = options.memory_limit / 2;
  all.keeps_all = true;
  const budget::Computing computing;
  const auto a = run(*sized_before, *inputs, all);
  if (!a) return std::unexpected(a.error());
  const auto b = run(*sized_after, *inputs, all);
  if (!b) return std::unexpected(b.error());
  for (std::size_t i = 0; i < before.outputs.size(); ++i)
    outputs.add(a->at(before.outputs[i]), b->at(after.outputs[i]));
  std::vector<LayerLoss> layers;
  for (const Node& node : before.nodes) {
    // Of several steps of one layer the last stands for it.
    Loss loss;
    for (const ValueId v : node.outputs)
      if (is_floating(before[v].type.dtype)) loss.add(a->at(v), b->at(v));
    std::erase_if(layers, [&](const LayerLoss& one) { return one.layer == node.layer; });
    if (loss.any()) layers.push_back({node.layer, loss});
  }
  return layers;
}

// "float16 becomes float32 in 3 values and 4 weights"
std::string what_changes(const Graph& graph, DType to) {
  std::map<DType, std::pair<int, int>> found;
  for (const Value& value : graph.values) {
    if (!is_floating(value.type.dtype) || value.type.dtype == to) continue;
    auto& [values, weights] = found[value.type.dtype];
    ++(value.constant ? weights : values);
  }
  std::string text;
  for (const auto& [from, count] : found)
    text += fmt::format("{}{} becomes {} in {} values and {} constants", text.empty() ? "" : ", ", name_of(from),
                        name_of(to), count.first, count.second);
  return text;
}

std::string amount(const Loss& loss) {
  if (!loss.is_finite) return "some numbers leave the range";
  return fmt::format("{:.2g} at most, {:.0f} dB below the numbers themselves", loss.largest, loss.decibels());
}

std::vector<std::string> sentences(const Loss& outputs, std::vector<LayerLoss> layers) {
  std::vector<std::string> said{
      outputs.any() ? "the outputs move by " + amount(outputs)
                    : std::string("the outputs are the same to the last bit on the input that was tried")};
  std::ranges::stable_sort(layers, {},
                           [](const LayerLoss& one) { return one.loss.is_finite ? one.loss.decibels() : -INFINITY; });
  constexpr std::size_t most = 5;
  std::string worst;
  for (std::size_t i = 0; i < std::min(layers.size(), most); ++i)
    worst += fmt::format("{}'{}' ({})", i == 0 ? "" : ", ", layers[i].layer, amount(layers[i].loss));
  if (!worst.empty()) said.push_back("layers that lose most: " + worst);
  return said;
}

}  // namespace

Result<std::vector<std::string>> carry_reals_as(Graph& graph, DType to, const ProofOptions& options) {
  const std::string changes = what_changes(graph, to);
  if (changes.empty()) return std::vector{fmt::format("all real numbers are of {} already", name_of(to))};
  const Graph before = graph;
  if (auto changed = change_reals(graph, to); !changed) return pass(changed);
  std::vector<std::string> said{changes + "; the proof holds the model as it is then"};
  auto moved = losses_said(before, graph, options);
  if (!moved) return moved;
  said.insert(said.end(), moved->begin(), moved->end());
  return said;
}

Result<std::vector<std::string>> losses_said(const Graph& before, const Graph& after, const ProofOptions& options) {
  Loss outputs;
  auto layers = losses(before, after, options, outputs);
  if (!layers && layers.error().fault == Fault::Budget) return std::vector<std::string>{};
  if (!layers) return pass(layers);
  return sentences(outputs, std::move(*layers));
}

std::vector<std::string> losses_said(const std::vector<GivenByBoth>& outputs, const std::vector<GivenByBoth>& layers) {
  Loss all;
  for (const GivenByBoth& one : outputs) all.add(one.before, one.after);
  std::vector<LayerLoss> each;
  for (const GivenByBoth& one : layers) {
    LayerLoss loss{one.layer, {}};
    loss.loss.add(one.before, one.after);
    if (loss.loss.any()) each.push_back(std::move(loss));
  }
  return sentences(all, std::move(each));
}

}  // namespace convoy
