#include "diagnose/twin_weights.h"

#include "diagnose/affine_form.h"
#include "diagnose/align.h"
#include "diagnose/fingerprint.h"
#include "diagnose/piece.h"
#include "diagnose/steps_of_weights.h"
#include "diagnose/within_steps.h"
#include "graph/quantized_steps.h"
#include "ops/expect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace convoy::diagnose {

namespace {

constexpr std::size_t fewest_of_channel = 4;  // numbers by which a channel tells a factor
constexpr double least_off = 5e-3;  // of a factor: nearer to 1 the two may have taken a norm in by other epsilons

struct Layers {
  AffineForm real, stepped;
  std::vector<StepChannel> channels;
  std::vector<double> steps;  // of each channel
};

// What is off, in which channels; all of them where the list is empty.
struct Off {
  double factor = 1, shift = 0;  // of the numbers that should be: times, and plus so many steps
  std::vector<std::size_t> channels;
  bool has(std::size_t c) const { return channels.empty() || std::ranges::find(channels, c) != channels.end(); }
};

bool all_zero(const std::vector<double>& numbers) {
  return std::ranges::all_of(numbers, [](double x) { return x == 0; });
}

// The step of each channel, 0 where all its numbers are 0. Nothing: some lie on no steps.
std::optional<std::vector<double>> steps_of(const std::vector<std::vector<double>>& channels) {
  std::vector<double> steps;
  for (const auto& channel : channels) {
    const auto step = step_of(channel);
    if (!step && !all_zero(channel)) return std::nullopt;
    steps.push_back(step.value_or(0));
  }
  return steps;
}

// A kernel that lies on steps: of all its channels, or of each.
struct Stepped {
  AffineForm form;
  std::vector<std::vector<double>> channels;
  std::vector<double> steps;  // of each channel
  bool has_one_step = false;
};
std::optional<Stepped> on_steps(AffineForm form) {
  const auto one = step_of(form.kernel);
  auto channels = kernels_of_channels(form);
  auto steps = one ? std::optional(std::vector(channels.size(), *one)) : steps_of(channels);
  if (!steps) return std::nullopt;
  return Stepped{std::move(form), std::move(channels), *std::move(steps), one.has_value()};
}

// Nothing: the numbers tell nothing.
std::optional<Layers> layers_of(AffineForm real, Stepped stepped) {
  if (real.bias.size() != stepped.form.bias.size() || real.kernel.size() != stepped.form.kernel.size())
    return std::nullopt;
  auto of_real = kernels_of_channels(real);
  Layers layers{std::move(real), std::move(stepped.form), {}, std::move(stepped.steps)};
  const auto [least, most] = std::ranges::minmax(layers.stepped.kernel);
  for (std::size_t c = 0; c < of_real.size(); ++c) {
    std::vector<double>&own = of_real[c], &rounded = stepped.channels[c];
    if (own.size() != rounded.size()) return std::nullopt;
    std::ranges::sort(own), std::ranges::sort(rounded);
    StepChannel channel{std::move(own), std::move(rounded), layers.steps[c] / 2, least, most};
    if (!stepped.has_one_step && !channel.stepped.empty())
      channel.least = channel.stepped.front(), channel.most = channel.stepped.back();
    layers.channels.push_back(std::move(channel));
  }
  return layers;
}

// The channels that `fits` says no to. Nothing: none, or fewer numbers than tell anything.
template <class Fits>
std::vector<std::size_t> channels_off(const Layers& layers, Fits fits) {
  std::vector<std::size_t> off;
  for (std::size_t c = 0; c < layers.channels.size(); ++c)
    if (!fits(layers.channels[c])) off.push_back(c);
  return off;
}

// Whether what fits the channels that are off fits the others as well: then it may have been done to all.
template <class Fits>
std::vector<std::size_t> or_all(const Layers& layers, std::vector<std::size_t> off, Fits fits) {
  if (off.size() > 1 && channels_off(layers, fits).empty()) off.clear();
  return off;
}

std::optional<Off> kernel_off(const Layers& layers) {
  const auto is_honest = [](const StepChannel& channel) {
    return channel.reach == 0 || shifts_within(channel).holds(0) || factors_within(channel).holds(1);
  };
  const auto off = channels_off(layers, is_honest);
  if (off.empty()) return std::nullopt;
  Between factors, shifts;
  std::size_t numbers = 0;
  for (const std::size_t c : off) {
    const StepChannel& channel = layers.channels[c];
    numbers += channel.real.size();
    factors.narrow(factors_within(channel));
    auto shift = shifts_within(channel);
    shifts.narrow({shift.least / layers.steps[c], shift.most / layers.steps[c]});
  }
  if (numbers < fewest_of_channel) return std::nullopt;
  if (!factors.is_empty() && std::isfinite(factors.most)) {
    const double factor = simplest_in(factors);
    if (!(std::abs(factor - 1) >= least_off)) return std::nullopt;
    return Off{factor, 0, or_all(layers, off, [&](const StepChannel& channel) {
                 return channel.reach == 0 || factors_within(channel).holds(factor);
               })};
  }
  const double shift = std::round(std::clamp((shifts.least + shifts.most) / 2, -512.0, 512.0));
  if (shifts.is_empty() || shift == 0 || !shifts.holds(shift)) return std::nullopt;
  return Off{1, shift, or_all(layers, off, [&](const StepChannel& channel) {
               return channel.reach == 0 || shifts_within(channel).holds(2 * shift * channel.reach);
             })};
}

std::string channels_text(const Off& off, std::size_t all) {
  if (off.channels.empty()) return {};
  if (off.channels.size() == 1) return fmt::format(" in channel {}", off.channels.front());
  return fmt::format(" in {} of {} channels, first {}", off.channels.size(), all, off.channels.front());
}

// ---- biases ---------------------------------------------------------------------------------------------------------

// How far rounding may bring each number of the bias: half of the input's step times that of the kernel, or half a step of 8 bits.
std::vector<std::vector<double>> reaches_of_bias(const Layers& layers, std::optional<double> scale_of_input,
                                                 const std::optional<Off>& kernel) {
  std::vector<std::vector<double>> all;
  const std::size_t count = layers.stepped.bias.size();
  if (scale_of_input) {
    std::vector<double> reaches(count);
    for (std::size_t c = 0; c < count; ++c) {
      const double found = layers.steps[c], meant = kernel && kernel->has(c) ? found / kernel->factor : found;
      reaches[c] = *scale_of_input * std::max(found, meant) / 2;
    }
    all.push_back(std::move(reaches));
  }
  if (const auto step = step_of(layers.stepped.bias)) all.emplace_back(count, *step / 2);
  return all;
}

// Whole numbers of 32 bits end there.
bool is_cut_off(double number, double reach) { return std::abs(number) >= 0x1.fffp30 * 2 * reach; }

// Either may be off by as much.
Between factors_of_bias(double real, double stepped, double reach) {
  const bool is_turned = real * stepped < 0;
  const double x = std::abs(real), y = is_turned ? -std::abs(stepped) : std::abs(stepped);
  if (x <= reach) return std::abs(stepped - real) <= 2 * reach ? Between{} : Between{1, 0};
  return {(y - reach) / (x + reach), (y + reach) / (x - reach)};
}

// Nothing: no channel is off, or several by unlike factors.
std::optional<Off> bias_off(const std::vector<double>& real, const std::vector<double>& stepped,
                            const std::vector<double>& reaches) {
  const auto of_channel = [&](std::size_t c) { return factors_of_bias(real[c], stepped[c], reaches[c]); };
  Off off;
  Between factors;
  bool fits_all = true;
  for (std::size_t c = 0; c < real.size(); ++c) {
    if (of_channel(c).holds(1) || is_cut_off(stepped[c], reaches[c])) continue;
    off.channels.push_back(c);
    factors.narrow(of_channel(c));
  }
  const bool is_missing = all_zero(stepped);
  if (off.channels.empty() || factors.is_empty() || !(is_missing || factors.least > 0)) return std::nullopt;
  off.factor = is_missing ? 0 : simplest_in(factors);
  if (!(std::abs(off.factor - 1) >= least_off)) return std::nullopt;
  for (std::size_t c = 0; c < real.size(); ++c) fits_all = fits_all && of_channel(c).holds(off.factor);
  if (is_missing || (fits_all && real.size() > 1)) off.channels.clear();
  return off;
}

std::optional<Off> bias_off(const Layers& layers, std::optional<double> scale_of_input,
                            const std::optional<Off>& kernel) {
  // A bias of whole numbers whose scale is the input's times the kernel's moves with that of the kernel.
  auto moved = layers.real.bias;
  for (std::size_t c = 0; kernel && c < moved.size(); ++c)
    if (kernel->has(c)) moved[c] *= kernel->factor;
  std::optional<Off> found;
  for (const auto& reaches : reaches_of_bias(layers, scale_of_input, kernel)) {
    for (const auto* real : {&layers.real.bias, &std::as_const(moved)}) {
      const auto& stepped = layers.stepped.bias;
      bool is_honest = true;
      for (std::size_t c = 0; c < real->size(); ++c)
        is_honest =
            is_honest && (std::abs(stepped[c] - (*real)[c]) <= 1.01 * reaches[c] + 1e-6 * std::abs((*real)[c]) ||
                          is_cut_off(stepped[c], reaches[c]));
      if (is_honest) return std::nullopt;
      if (!found) found = bias_off(*real, stepped, reaches);
    }
  }
  return found;
}

// ---- findings -------------------------------------------------------------------------------------------------------

void measure(const std::vector<double>& real, const std::vector<double>& stepped, double reach, double factor,
             double shift, Finding& into) {
  std::size_t beyond = 0;
  for (std::size_t i = 0; i < real.size(); ++i) {
    const double apart = std::abs(stepped[i] - real[i]);
    const double mended = factor == 0 ? 0 : std::abs((stepped[i] - shift) / factor - real[i]);
    into.largest = std::max(into.largest, apart);
    into.ratio = std::max(into.ratio, apart / reach);
    into.ratio_after_fix = std::max(into.ratio_after_fix, std::min(mended / reach, into.limit));
    beyond += apart > reach;
  }
  into.share =
      std::max(into.share, static_cast<double>(beyond) / static_cast<double>(std::max<std::size_t>(real.size(), 1)));
}

Finding of_layers(const Layers& layers, bool of_a) {
  Finding finding;
  finding.a = (of_a ? layers.stepped : layers.real).layer, finding.b = (of_a ? layers.real : layers.stepped).layer;
  finding.limit = 1;
  finding.ratio_next = std::numeric_limits<double>::infinity();
  return finding;
}

std::string mend_text(const Off& off, const std::string& what, std::string_view channel) {
  const std::string at =
      off.channels.size() == 1 ? fmt::format("[{}{}]", channel, off.channels.front()) : std::string();
  return fmt::format("{0}{1} = {0}{1} / {2:.6g}{3}", what, at, off.factor,
                     off.channels.size() > 1 ? "  # of the channels that are named" : "");
}

Finding about_kernel(const Layers& layers, const Off& off, bool of_a) {
  Finding finding = of_layers(layers, of_a);
  const std::size_t first = off.channels.empty() ? 0 : off.channels.front();
  const std::string where = channels_text(off, layers.channels.size());
  const std::string whose = of_a ? "a's weights" : "weights";
  if (off.shift != 0) {
    finding.cause = "quant_zero_point";
    finding.says = fmt::format("{} moved by {} steps{}: a zero point of {} {} mends them", whose, off.shift, where,
                               std::abs(off.shift), off.shift > 0 ? "more" : "less");
    finding.fix = {"the original's zero point of the weights", "the original's zero point of the weights"};
  } else {
    finding.cause = "quant_scale";
    const double found = layers.steps[first];
    finding.says = fmt::format("{} of {:.6g} times the scale{}: {:.6g} is found, {:.6g} mends it", whose, off.factor,
                               where, found, found / off.factor);
    finding.fix = {mend_text(off, "weight", ""), mend_text(off, "kernel", "..., ")};
  }
  for (std::size_t c = 0; c < layers.channels.size(); ++c) {
    const StepChannel& one = layers.channels[c];
    if (off.has(c) && one.reach > 0)
      measure(one.real, one.stepped, one.reach, off.factor, off.shift * layers.steps[c], finding);
  }
  return finding;
}

Finding about_bias(const Layers& layers, const Off& off, bool of_a) {
  Finding finding = of_layers(layers, of_a);
  const std::size_t first = off.channels.empty() ? 0 : off.channels.front();
  finding.cause = off.factor == 0 ? "bias_missing" : "quant_scale";
  finding.says = fmt::format(
      "a bias{} of {:.6g} times the scale{}, which is the input's times that of the weights: {:.6g} is found, {:.6g} "
      "mends it",
      of_a ? " of a" : "", off.factor, channels_text(off, layers.channels.size()), layers.stepped.bias[first],
      layers.stepped.bias[first] / off.factor);
  if (off.factor == 0) finding.says = of_a ? "no bias in a" : "no bias";
  else finding.fix = {mend_text(off, "bias", ""), mend_text(off, "bias", "")};
  double largest = 0;
  for (const double x : layers.real.bias) largest = std::max(largest, std::abs(x));
  measure(layers.real.bias, layers.stepped.bias, std::max(largest, 1e-30) / 255, off.factor, 0, finding);
  return finding;
}

std::optional<AffineForm> form_at(const Graph& graph, ValueId value, NodeId node, const std::vector<bool>& matched) {
  if (auto form = affine_form_of(cut(graph, value, boundary_of(graph, value, matched)).graph)) return form;
  if (!node || graph[node].inputs.empty() || !graph[node].inputs[0]) return std::nullopt;
  return affine_form_of(cut(graph, graph[node].outputs[0], {graph[node].inputs[0]}).graph);
}

// Widened numbers that are moved or ranked on the way to the layer that reads them.
const QuantizedStretch* widening_in_front(const Graph& graph, const QuantizedStretches& stretches, ValueId v) {
  constexpr int most_moves = 8;
  for (int i = 0; i < most_moves && v; ++i) {
    const NodeId maker = graph[v].producer;
    if (!maker) return nullptr;
    if (const auto found = stretches.by_last.find(maker); found != stretches.by_last.end())
      return found->second.rounds ? nullptr : &found->second;
    const Op& op = graph[maker].op;
    if (!traits_of(op).moves_numbers() && !holds_alternative<MaxPool>(op)) return nullptr;
    v = graph[maker].inputs[0];
  }
  return nullptr;
}

}  // namespace

ScalesOfInputs scales_of_inputs(const Graph& stepped) {
  const QuantizedStretches stretches = quantized_stretches(stepped);
  ScalesOfInputs all;
  for (const Node& node : stepped.nodes) {
    if (!traits_of(node.op).is_product() || node.inputs.empty()) continue;
    const auto* widening = widening_in_front(stepped, stretches, node.inputs[0]);
    if (widening && !widening->axis) all.emplace(node.layer, stepped[widening->scale].constant->doubles().front());
  }
  return all;
}

std::vector<Finding> weights_off_their_steps(const Sized& at, const ScalesOfInputs& inputs, bool of_a) {
  const Alignment alignment = align(at.a, at.b);
  std::vector<bool> matched_a(at.a.values.size()), matched_b(at.b.values.size());
  for (const Match& match : alignment.matches) matched_a[match.a.slot()] = true, matched_b[match.b.slot()] = true;
  std::vector<Finding> all;
  for (const Match& match : alignment.matches) {
    const auto form_of = [&](bool in_a) {
      return in_a ? form_at(at.a, match.a, match.node_a, matched_a) : form_at(at.b, match.b, match.node_b, matched_b);
    };
    auto form = form_of(of_a);
    auto stepped = form ? on_steps(*std::move(form)) : std::nullopt;  // most are not, which is seen at once
    auto real = stepped ? form_of(!of_a) : std::nullopt;
    const auto layers = real ? layers_of(*std::move(real), *std::move(stepped)) : std::nullopt;
    if (!layers) continue;
    const auto kernel = kernel_off(*layers);
    if (kernel) all.push_back(about_kernel(*layers, *kernel, of_a));
    const auto scale = inputs.find(layers->stepped.layer);
    const auto known = scale == inputs.end() ? std::nullopt : std::optional(scale->second);
    if (const auto bias = bias_off(*layers, known, kernel)) all.push_back(about_bias(*layers, *bias, of_a));
    for (Finding& finding : all)
      if (finding.size.empty()) finding.size = at.size, finding.what_a = at.a[match.a].name;
  }
  return all;
}

std::vector<Finding> weights_alone_off_their_steps(const Sized& at, const std::vector<Finding>& said) {
  constexpr std::size_t fewest_numbers_alone = 64;
  std::vector<Finding> all;
  for (const bool of_a : {false, true}) {
    const Graph& real = of_a ? at.b : at.a;
    for (Finding& finding : weights_off_their_steps(at, {}, of_a)) {
      const bool is_said = std::ranges::any_of(said, [&](const Finding& one) {
        return one.a == finding.a && one.b == finding.b && one.cause == "weights_differ";
      });
      const std::string& layer = of_a ? finding.b : finding.a;
      const bool is_real = std::ranges::any_of(real.nodes, [&](const Node& node) {
        const Tensor* kernel = node.layer == layer ? kernel_of(real, node) : nullptr;
        return kernel && kernel->doubles().size() >= fewest_numbers_alone && !largest_step(*kernel);
      });
      if (is_said && is_real) all.push_back(std::move(finding));
    }
  }
  return all;
}

void put_in_place(std::vector<Finding> named, Diagnosis& into) {
  if (named.empty()) return;
  for (Finding& finding : named) {
    const std::string value = std::exchange(finding.what_a, {});
    std::erase_if(into.findings, [&](const Finding& said) {
      return said.a == finding.a && !said.other_shape && !said.cause.starts_with("quant_");
    });
    const auto row = std::ranges::find(into.layers, value, &Layer::value_a);
    finding.shows_in = static_cast<std::size_t>(row - into.layers.begin());
    into.findings.push_back(std::move(finding));
  }
  std::ranges::stable_sort(into.findings, {}, &Finding::shows_in);
}

}  // namespace convoy::diagnose
