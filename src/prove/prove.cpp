#include "prove/prove.h"

#include "base/budget.h"
#include "ops/expect.h"
#include "prove/bound.h"
#include "prove/compare.h"
#include "prove/interface.h"
#include "prove/meeting.h"
#include "prove/structure.h"
#include "prove/trial.h"
#include "prove/unlucky.h"
#include "prove/weights.h"
#include "run/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace convoy {

namespace {

// ---- the whole, run freely -------------------------------------------------------------------------------------------

// Interpolation elsewhere computes its coordinates in float32: off by about 4 roundings of the source length, each cell
// then weighs that much more or less. The share of the largest value that this can move, over all resizes of the graph.
double coordinate_rounding(const Graph& graph) {
  double sum = 0;
  for (const Node& node : graph.nodes) {
    const auto* resize = get_if<Resize>(&node.op);
    if (!resize || resize->interpolation == Interpolation::Nearest) continue;
    const Shape& shape = graph[node.inputs[0]].type.shape;
    for (const Size axis : resize->axes) {
      const Dim length = shape[static_cast<std::size_t>(axis)];
      sum += 4 * (4 + static_cast<double>(length.size().value_or(0))) * 0x1p-24;
    }
  }
  return sum;
}

Tensor as_stored(const Tensor& tensor) {
  const bool whole = tensor.dtype() >= DType::I8;
  return whole ? Tensor::of(tensor.shape(), tensor.integers()) : tensor.converted(DType::F32);
}

// The same numbers under another shape are another output: [N * T, 4] is not [N, 4 * T].
Status same_shape(const Tensor& wanted, const Value& output, const Sizes& got) {
  const Origin origin = origin_of(output);
  if (!origin.split.empty()) return {};  // told by what it is split into
  Sizes shape = wanted.shape();
  if (origin.permutation.size() == shape.size())
    for (std::size_t i = 0; i < shape.size(); ++i)
      shape[i] = wanted.shape()[static_cast<std::size_t>(origin.permutation[i])];
  if (shape == got) return {};
  return fail(Fault::Proof, fmt::format("output '{}' of the port has the shape [{}], the source's is [{}]", output.name,
                                        fmt::join(got, ", "), fmt::join(shape, ", ")));
}

// What another runtime's last operators may add, in parts of the largest number.
constexpr double last_rounding(DType dtype) {
  return dtype == DType::F16 || dtype == DType::BF16 ? 4 * unit_rounding_of(dtype) : 0x1p-20;
}

constexpr std::uint64_t unlucky_runs = 2;  // two errors of one may cancel each other on the way

// By how much each number may be away from the stored one, which may itself be rounded: of float64 what is next to nothing is
// stored as nothing.
Tensor bounds_around(const Tensor& numbers, const Tensor& stored, double allowed) {
  const auto exact = numbers.doubles(), rounded = stored.doubles();
  std::vector<float> bounds(exact.size(), static_cast<float>(allowed));
  for (std::size_t i = 0; i < exact.size() && numbers.dtype() == DType::F64; ++i) {
    if (exact[i] == rounded[i] || !std::isfinite(exact[i])) continue;
    const double apart = allowed + std::abs(exact[i] - rounded[i]);
    bounds[i] = static_cast<float>(apart);
    if (bounds[i] < apart) bounds[i] = std::nextafter(bounds[i], std::numeric_limits<float>::infinity());
  }
  return Tensor::of(numbers.shape(), std::move(bounds));
}

// Runs the target and compares with the source's outputs. Fills `data` when it is given, and returns the largest
// difference.
Result<double> run_freely(const std::vector<Tensor>& wanted, const Graph& target,
                          const std::vector<Tensor>& inputs_of_target, const ProofOptions& options, CheckData* data) {
  auto got = outputs_of(target, inputs_of_target, Precision::Single, options);
  if (!got) return pass(got);
  if (wanted.size() != got->size()) return fail(Fault::Proof, "the port has another number of outputs");
  std::vector<std::vector<Tensor>> unlucky;
  for (std::uint64_t run = 0; data && run < unlucky_runs; ++run) {
    auto one = run_unluckily(target, inputs_of_target, options.seed + run, options);
    if (!one) return pass(one);
    unlucky.push_back(*std::move(one));
  }
  double most = 0;
  for (std::size_t i = 0; i < got->size(); ++i) {
    const Tensor& output = (*got)[i];
    if (auto alike = same_shape(wanted[i], target[target.outputs[i]], output.shape()); !alike) return pass(alike);
    auto brought = carried(wanted[i], origin_of(target[target.outputs[i]]), output.shape());
    if (!brought) return pass(brought);
    const Difference difference = compare(output, *brought, {}, 0);
    most = std::max(most, difference.largest);
    if (!data) continue;
    double size = 0;
    for (const double value : brought->doubles()) size = std::isfinite(value) ? std::max(size, std::abs(value)) : size;
    double spread = 0;  // whole numbers do not move by a little
    for (const auto& outputs : unlucky) {
      if (output.dtype() != DType::F32) continue;
      const double apart = compare(outputs[i], *brought, {}, 0).largest;
      if (std::isfinite(apart)) spread = std::max(spread, apart);
    }
    const double allowed = std::max(64 * difference.largest, 2 * spread) +
                           (last_rounding(target[target.outputs[i]].type.dtype) + coordinate_rounding(target)) * size;
    data->outputs.push_back(as_stored(*brought));
    data->bounds.push_back(bounds_around(*brought, data->outputs.back(), allowed));
  }
  if (data) {
    for (const Tensor& input : inputs_of_target) data->inputs.push_back(as_stored(input));
  }
  return most;
}

// ---- sizes -----------------------------------------------------------------------------------------------------------

bool has_free_sizes(const Graph& graph) {
  for (const ValueId v : graph.inputs) {
    const Shape& shape = graph[v].type.shape;
    for (std::size_t i = 1; i < shape.size(); ++i) {
      if (!shape[i].known()) return true;
    }
  }
  return false;
}

// "64x63": the sizes without the batch and, where the axis of channels is known, without those; "batch 3" where that is all.
std::string size_text(const Graph& graph, const std::vector<Tensor>& inputs) {
  std::string text;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Size channel = -1;
    for (const Node& node : graph.nodes) {
      if (node.inputs.empty() || node.inputs[0] != graph.inputs[i]) continue;
      node.op.visit([&]<class O>(const O& op) {
        if constexpr (requires { op.axes.channel(); }) channel = op.axes.channel();
        else if constexpr (std::is_same_v<O, BatchNorm>) channel = op.axis;
      });
    }
    const Sizes& shape = inputs[i].shape();
    std::string one;
    for (std::size_t axis = 1; axis < shape.size(); ++axis) {
      if (static_cast<Size>(axis) != channel || shape.size() < 3) {
        one += (one.empty() ? "" : "x") + std::to_string(shape[axis]);
      }
    }
    if (one.empty()) one = shape.empty() ? "one number" : "batch " + std::to_string(shape[0]);
    text += (i == 0 ? "" : ", ") + one;
  }
  return text;
}

// The two graphs at the sizes of these inputs.
struct Sized {
  Graph source, target;
  std::vector<Tensor> inputs, inputs_of_target;
};

Result<Sized> sized(const Graph& source, const Graph& target, int trial, const ProofOptions& options) {
  Sized result;
  auto inputs = probing_inputs(source, trial, options.seed);
  if (!inputs) return pass(inputs);
  result.inputs = *std::move(inputs);
  auto for_target = target_inputs(source, target, result.inputs);
  if (!for_target) return pass(for_target);
  result.inputs_of_target = *std::move(for_target);
  auto first = with_input_shapes(source, shapes_of(result.inputs));
  if (!first) return pass(first);
  result.source = *std::move(first);
  auto second = with_input_shapes(target, shapes_of(result.inputs_of_target));
  if (!second) {
    return within("the port at " + size_text(source, result.inputs),
                  Result<Sized>(fail(Fault::Proof, message(second.error()))));
  }
  result.target = *std::move(second);
  return result;
}

// Those of float16 times 64, so that squares leave its range: what sums them in float32 answers, and what rounds on the way does not.
std::vector<Tensor> far_out(const Graph& graph, std::vector<Tensor> inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (graph[graph.inputs[i]].type.dtype != DType::F16 || !is_floating(inputs[i].dtype())) continue;
    const DType dtype = inputs[i].dtype();
    auto numbers = inputs[i].doubles();
    for (double& number : numbers) number *= 64;
    inputs[i] = Tensor::of(inputs[i].shape(), std::move(numbers)).converted(dtype);
  }
  return inputs;
}

Status prove_at(const Graph& source, const Graph& target, const WholeModels& models, int trial, bool is_last,
                const ProofOptions& options, Proof& proof) {
  auto at = sized(source, target, trial, options);
  if (!at) return pass(at);
  proof.sizes.push_back(size_text(source, at->inputs));
  auto& sizes = proof.input_shapes.emplace_back();
  for (const Tensor& input : at->inputs) sizes.insert(sizes.end(), input.shape().begin(), input.shape().end());
  Trial layers(at->source, at->target, Numbers::OfTheSource, options, proof);
  if (auto done = layers.run(at->inputs, at->inputs_of_target); !done) return done;
  if (!proof.reason.empty()) return {};
  auto wanted = layers.source_outputs();
  if (!wanted) return pass(wanted);
  auto whole = run_freely(*wanted, at->target, at->inputs_of_target, options, trial == 0 ? &proof.check : nullptr);
  if (!whole) return pass(whole);
  proof.whole_largest = std::max(proof.whole_largest, *whole);
  if (is_last) {
    Trial fresh(at->source, at->target, Numbers::Fresh, options, proof);
    if (auto done = fresh.run(far_out(at->source, at->inputs), far_out(at->target, at->inputs_of_target));
        !done || !proof.reason.empty())
      return done;
  }
  return prove_structure(models, at->inputs, options, proof);
}

// Where a layer differs, the sizes at which it does not.
void tell_sizes(Proof& proof) {
  for (const LayerProof& layer : proof.layers) {
    if (layer.same || layer.structure.tried.empty()) continue;
    proof.reason += "; the layer by itself is the same " + sizes_where_same(layer.structure);
    return;
  }
}

}  // namespace

Result<Proof> prove(const Graph& source, const Graph& target, const ProofOptions& options) {
  const budget::Computing computing;
  Proof proof;
  const bool free = has_free_sizes(source);
  if (target.outputs.size() != source.outputs.size()) {
    proof.reason = "the port has " + std::to_string(target.outputs.size()) + " outputs, the source has " +
                   std::to_string(source.outputs.size());
    return proof;
  }
  if (options.convention) {
    proof.reason = compare_interface(source, target, expected_orders(source, *options.convention));
    if (proof.reason.empty()) proof.reason = compare_calls(source, target, *options.convention);
    if (!proof.reason.empty()) return proof;
  }
  proof.reason = compare_weights(source, target, proof);
  if (!proof.reason.empty()) return proof;
  const auto models = with_whole_numbers(source, target, options.seed);
  if (!models) return std::unexpected(models.error());
  const int trials = free ? 2 : 1;
  for (int trial = 0; trial < trials && proof.reason.empty(); ++trial) {
    auto done = prove_at(source, target, *models, trial, trial == trials - 1, options, proof);
    if (done) continue;
    if (done.error().fault != Fault::Proof) return pass(done);
    proof.reason = message(done.error());
  }
  if (free) {
    auto done = prove_layers_alone(source, target, *models, options, !proof.reason.empty(), proof);
    if (!done) return pass(done);
    if (!proof.reason.empty()) tell_sizes(proof);
  }
  proof.holds = proof.reason.empty();
  proof.every_size = proof.holds && free && std::ranges::all_of(proof.layers, [](const LayerProof& layer) {
                       return layer.structure.every_size;
                     });
  return proof;
}

}  // namespace convoy
