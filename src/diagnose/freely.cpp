#include "diagnose/freely.h"

#include "diagnose/piece.h"
#include "graph/text.h"
#include "ops/expect.h"
#include "prove/drawn_numbers.h"
#include "run/run.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace convoy::diagnose {

namespace {

// Calls with each output of a, brought into b's order of axes, and with b's.
using Each = std::function<void(const Match& match, const Tensor& ours, const Tensor& theirs, bool has_its_sizes)>;
bool for_each_output(const Sized& at, const Alignment& alignment, const RunOptions& options, const Each& each) {
  std::vector<Tensor> inputs_b;
  for (std::size_t i = 0; i < at.inputs.size(); ++i)
    inputs_b.push_back(arranged(at.inputs[i], {}, sizes_of(at.b[at.b.inputs[i]].type.shape).value_or(Sizes{})));
  const auto a = run(at.a, at.inputs, options), b = run(at.b, inputs_b, options);
  if (!a || !b) return false;
  for (const Match& match : alignment.matches) {
    if (match.how != How::Output) continue;
    const Tensor &ours = a->at(match.a), &theirs = b->at(match.b);
    each(match, arranged(ours, match.permutation, theirs.shape()), theirs,
         have_same_sizes(ours.shape(), theirs.shape()));
  }
  return true;
}

struct Apart {
  double largest = 0, scale = 0;
};
Apart apart(const Tensor& ours, const Tensor& theirs) {
  const auto x = ours.doubles(), y = theirs.doubles();
  Apart found;
  for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    if (!std::isfinite(x[i]) || !std::isfinite(y[i])) continue;  // compared by itself
    found.largest = std::max(found.largest, std::abs(x[i] - y[i]));
    found.scale = std::max(found.scale, std::abs(x[i]));
  }
  return found;
}

// Every weight one float32 further, to either side: what is written otherwise (a norm taken into a kernel) is rounded so.
Graph with_other_last_digits(Graph graph) {
  Draws draws(1);
  constexpr float end = std::numeric_limits<float>::infinity();
  for (Value& value : graph.values) {
    if (!value.constant || value.literal || value.constant->dtype() != DType::F32) continue;
    std::vector<float> numbers = value.constant->floats();
    for (float& x : numbers) x = std::nextafter(x, draws.next() & 1 ? end : -end);
    value.constant = Tensor::of(value.constant->shape(), std::move(numbers));
  }
  return graph;
}

// How far that moves an output of a.
double moved_by_last_digits(const Sized& at, ValueId output, const RunOptions& options) {
  const auto as_is = run(at.a, at.inputs, options), moved = run(with_other_last_digits(at.a), at.inputs, options);
  return as_is && moved ? apart(as_is->at(output), moved->at(output)).largest : 0;
}

// Whole numbers and truths, which nothing rounds, jump only where fractions became them.
bool jumps_somewhere(const Graph& graph) {
  const auto reads = [&](const Node& node, bool fractions) {
    return std::ranges::any_of(node.inputs, [&](ValueId v) {
      return v && !graph[v].constant && is_floating(graph[v].type.dtype) == fractions;
    });
  };
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    if (!reads(node, true)) return false;
    if (const auto* cast = get_if<Cast>(&node.op)) return cast->to != DType::F32 && cast->to != DType::F64;
    if (const auto* unary = get_if<Unary>(&node.op)) return jumps(unary->function);
    if (const auto* binary = get_if<Binary>(&node.op)) return jumps(binary->function);
    const Traits& traits = traits_of(node.op);
    return traits.contents == Contents::Ranked || traits.contents == Contents::Picked ||
           (traits.indices != Indices::None && !reads(node, false));
  });
}

std::string layer_of(const Graph& graph, ValueId v) {
  const Value& value = graph[v];
  return value.producer ? graph[value.producer].layer : value.name;
}
std::string what_makes(const Graph& graph, ValueId v) {
  return graph[v].producer ? text_of(graph[graph[v].producer].op) : std::string();
}

}  // namespace

void run_freely(const Sized& at, const Alignment& alignment, Diagnosis& into, int threads) {
  RunOptions options;
  options.threads = threads;
  const auto note = [&](const Match&, const Tensor& ours, const Tensor& theirs, bool has_its_sizes) {
    if (!has_its_sizes) into.outputs_largest = std::numeric_limits<double>::infinity();
    const Apart found = apart(ours, theirs);
    into.outputs_largest = std::max(into.outputs_largest, found.largest);
    into.outputs_scale = std::max(into.outputs_scale, found.scale);
    if (found.largest > (is_floating(theirs.dtype()) ? 0x1p-20 * found.scale : 0)) into.outputs_agree = false;
  };
  into.outputs_agree = true;
  into.outputs_agree = for_each_output(at, alignment, options, note) && into.outputs_agree;
}

std::optional<Finding> outputs_apart(const Sized& at, const Alignment& alignment, Diagnosis& noted, int threads) {
  constexpr double much = 0x1p-10, alike_in_size = 16;
  if (noted.outputs_agree || !std::isfinite(noted.outputs_largest)) return std::nullopt;
  if (jumps_somewhere(at.a) || jumps_somewhere(at.b)) return std::nullopt;
  RunOptions options;
  options.threads = threads;
  options.precision = Precision::Double;
  std::optional<Finding> finding;
  for_each_output(at, alignment, options, [&](const Match& match, const Tensor& ours, const Tensor& theirs, bool) {
    if (finding || ours.count() != theirs.count()) return;
    const Apart found = apart(ours, theirs);
    if (found.largest <= much * found.scale) return;
    const double moved = moved_by_last_digits(at, match.a, options);
    if (moved * alike_in_size >= found.largest) {
      noted.outputs_moved = std::max(noted.outputs_moved, moved);
      return;
    }
    finding.emplace();
    finding->a = layer_of(at.a, match.a), finding->b = layer_of(at.b, match.b);
    finding->what_a = what_makes(at.a, match.a), finding->what_b = what_makes(at.b, match.b);
    finding->cause = "unknown";
    finding->says = "the models as a whole differ in float64, though each of their stretches agrees";
    finding->ratio = std::numeric_limits<double>::infinity();
    finding->largest = found.largest;
    finding->certain = false;
    finding->size = at.size;
  });
  return finding;
}

}  // namespace convoy::diagnose
