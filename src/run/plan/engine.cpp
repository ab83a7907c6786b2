#include "run/plan/engine.h"

#include "base/budget.h"
#include "graph/element_types.h"
#include "ops/expect.h"
#include "run/held.h"

#include <algorithm>

namespace convoy {

namespace {

constexpr std::size_t most_kept = 8;

// Inputs that a plan takes; what is wrong with others is told by the run node by node.
bool fits(const Graph& graph, const std::vector<Tensor>& inputs) {
  if (inputs.size() != graph.inputs.size()) return false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorType& wanted = graph[graph.inputs[i]].type;
    const TensorType given = type_of(inputs[i]);
    if (is_floating(given.dtype) != is_floating(wanted.dtype) || !agree(given.shape, wanted.shape)) return false;
  }
  return true;
}

}  // namespace

Engine::Engine(std::shared_ptr<const Graph> graph)
    : graph_(std::move(graph)),
      in_single_(computes_in(*graph_, DType::F32)) {}

Result<std::shared_ptr<const plan::Plan>> Engine::plan_for(const std::vector<Tensor>& inputs, const RunOptions& options,
                                                           bool winograd) const {
  const bool plain = options.kernels == KernelChoice::Plain || options.precision == Precision::Double;
  if (plain || !in_single_ || options.keeps_all || fast::kernels<float>().lanes == 1 || !fits(*graph_, inputs))
    return nullptr;
  std::vector<Sizes> shapes;
  for (const Tensor& input : inputs) shapes.push_back(input.shape());
  const std::lock_guard lock(guard_);
  const auto is_this = [&](const Kept& kept) { return kept.winograd == winograd && kept.shapes == shapes; };
  if (const auto found = std::ranges::find_if(kept_, is_this); found != kept_.end()) {
    std::rotate(found, found + 1, kept_.end());
    return kept_.back().plan;
  }
  auto made = plan::Plan::make(*graph_, inputs, winograd);
  if (!made) return std::unexpected(made.error());
  std::shared_ptr<const plan::Plan> plan = *std::move(made);
  if (plan && plan->arena_bytes() > options.memory_limit) plan = nullptr;
  if (kept_.size() == most_kept) kept_.erase(kept_.begin());
  kept_.push_back({std::move(shapes), winograd, plan});
  return plan;
}

Result<std::vector<Tensor>> Engine::run(const std::vector<Tensor>& given, const RunOptions& options,
                                        bool winograd) const {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < given.size(); ++i) {
    auto input = i < graph_->inputs.size() ? handed_in(given[i], (*graph_)[graph_->inputs[i]]) : given[i];
    if (!input) return std::unexpected(input.error());
    inputs.push_back(*std::move(input));
  }
  const auto plan = plan_for(inputs, options, winograd);
  if (!plan) return std::unexpected(plan.error());
  std::vector<Tensor> outputs;
  if (*plan) {
    if (auto held = budget::afford((*plan)->arena_bytes(), "the values of the network"); !held)
      return std::unexpected(held.error());
    auto computed = (*plan)->run(inputs, options.threads);
    if (!computed) return computed;
    outputs = *std::move(computed);
  } else {
    const auto values = convoy::run(*graph_, inputs, options);
    if (!values) return std::unexpected(values.error());
    for (const ValueId v : graph_->outputs) outputs.push_back(values->at(v));
  }
  for (std::size_t i = 0; i < outputs.size(); ++i)
    outputs[i] = handed_out(outputs[i], (*graph_)[graph_->outputs[i]].type.dtype, options.precision);
  return outputs;
}

}  // namespace convoy
