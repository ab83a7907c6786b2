// Origins followed forwards and backwards, written apart from the proof's own code so that one can catch the other.
#include "support/through.h"

#include "passes/passes.h"
#include "run/held.h"
#include "run/plan/engine.h"

#include <algorithm>
#include <cmath>
#include <memory>

namespace convoy::testing {

Result<Tensor> carried(const Tensor& source, const std::optional<Origin>& origin, const Sizes& shape) {
  Tensor tensor = source;
  if (origin && !origin->split.empty()) {
    Sizes split = origin->split;
    Size known = 1;
    for (const Size n : split) known *= n < 0 ? 1 : n;
    for (Size& n : split)
      if (n < 0 && known != 0) n = tensor.count() / known;
    if (checked_count(split) != tensor.count()) return fail(Fault::Internal, "an origin splits into another count");
    tensor = tensor.reshaped(split);
  }
  if (origin && !origin->permutation.empty()) {
    if (static_cast<Size>(origin->permutation.size()) != tensor.rank())
      return fail(Fault::Internal, "an origin permutes another rank");
    tensor = tensor.permuted(origin->permutation);
  }
  if (shape.empty() || tensor.shape() == shape) return tensor;
  if (checked_count(shape) != tensor.count())
    return fail(Fault::Internal, "an origin leads to another number of elements than the value has");
  return tensor.reshaped(shape);
}

Result<Tensor> restored(const Tensor& value, const std::optional<Origin>& origin, const Shape& source_shape) {
  if (!origin) return value;
  Sizes source;
  Size known = 1, unknown = 0;
  for (const Dim d : source_shape) {
    source.push_back(d.known() ? *d : -1);
    if (d.known()) known *= *d;
    else ++unknown;
  }
  // Follow the indices: element i of the source ends up where the origin says.
  Sizes split = origin->split.empty() ? Sizes{} : origin->split;
  const auto& order = origin->permutation;
  Tensor tensor = value;
  if (!order.empty()) {
    if (!split.empty()) {
      Sizes moved(split.size());
      for (std::size_t i = 0; i < order.size(); ++i) moved[i] = split[static_cast<std::size_t>(order[i])];
      Size product = 1;
      for (const Size n : moved) product *= n < 0 ? 1 : n;
      for (Size& n : moved)
        if (n < 0 && product != 0) n = tensor.count() / product;
      if (checked_count(moved) != tensor.count()) return fail(Fault::Internal, "an origin splits into another count");
      tensor = tensor.reshaped(moved);
    }
    if (tensor.rank() != static_cast<Size>(order.size()))
      return fail(Fault::Internal, "an origin permutes another rank");
    Sizes back(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) back[static_cast<std::size_t>(order[i])] = static_cast<Size>(i);
    tensor = tensor.permuted(back);
  }
  if (unknown > 1) return tensor;
  for (Size& n : source)
    if (n < 0 && known != 0) n = tensor.count() / known;
  if (checked_count(source) != tensor.count())
    return fail(Fault::Internal, "an output has another count than its origin");
  return tensor.reshaped(source);
}

namespace {

// What users run, a plan, must answer as the nodes one by one do: the same whole numbers, the same infinities and what is no
// number, and otherwise up to the order of sums.
Status expect_plan_agrees(const Graph& graph, const std::vector<Tensor>& fed, const Values& values,
                          const RunOptions& options) {
  const Engine engine(std::make_shared<const Graph>(graph));
  const auto planned = engine.run(fed, options);
  if (!planned) return within("the plan", Status(std::unexpected(planned.error())));
  const auto again = engine.run(fed, options);
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const ValueId v = graph.outputs[i];
    const Tensor wanted = handed_out(values.at(v), graph[v].type.dtype, options.precision);
    const Tensor& got = (*planned)[i];
    if (wanted.shape() != got.shape() || wanted.dtype() != got.dtype())
      return fail(Fault::Internal, "the plan gives another shape or type");
    if (!again || !std::ranges::equal((*again)[i].bytes(), got.bytes()))
      return fail(Fault::Internal, "the plan gives other bits when it is run again");
    const auto want = wanted.doubles(), has = got.doubles();
    double most = 1;
    for (const double v : want)
      if (std::isfinite(v)) most = std::max(most, std::abs(v));
    for (std::size_t k = 0; k < want.size(); ++k) {
      const bool same = want[k] == has[k] || (std::isnan(want[k]) && std::isnan(has[k]));
      if (!same && !(std::abs(want[k] - has[k]) <= 2e-5 * most))
        return fail(Fault::Internal,
                    "the plan gives " + std::to_string(has[k]) + " where the nodes give " + std::to_string(want[k]));
    }
  }
  return {};
}

}  // namespace

Result<std::vector<Tensor>> run_through(Graph graph, const std::vector<Tensor>& inputs, Through through) {
  const Graph source = graph;
  if (inputs.size() != graph.inputs.size()) return fail(Fault::Usage, "another number of inputs than the graph has");
  if (through != Through::Nothing) {
    name_origins(graph);
    const bool keras = through == Through::Keras;
    auto report =
        within(keras ? "toward Keras" : "toward PyTorch", run_passes(graph, keras ? keras_target() : torch_target()));
    if (!report) return pass(report);
    if (graph.inputs.size() != inputs.size() || graph.outputs.size() != source.outputs.size())
      return fail(Fault::Internal, "the passes changed the number of inputs or outputs");
  }
  std::vector<Tensor> fed;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    auto input = carried(inputs[i], graph[graph.inputs[i]].origin, {});
    if (!input) return pass(input);
    fed.push_back(std::move(*input));
  }
  RunOptions options;
  options.threads = 1;
  options.kernels = KernelChoice::Plain;
  auto values = run(graph, fed, options);
  if (!values) return pass(values);
  options.kernels = KernelChoice::Fast;
  if (auto agrees = expect_plan_agrees(graph, fed, *values, options); !agrees) return pass(agrees);
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const auto found = values->find(graph.outputs[i]);
    if (found == values->end()) return fail(Fault::Internal, "the run gave no value for an output");
    auto output = restored(found->second, graph[graph.outputs[i]].origin, source[source.outputs[i]].type.shape);
    if (!output) return pass(output);
    outputs.push_back(std::move(*output));
  }
  return outputs;
}

}  // namespace convoy::testing
