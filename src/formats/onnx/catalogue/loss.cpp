// Losses, which exporters of training leave in models: the logarithm of what the target names, weighted and folded.
#include "formats/onnx/composed.h"

#include "ops/expect.h"

#include <array>

namespace convoy::onnx {
namespace {

using enum BinaryFunction;

// -x[n, target[n, ...], ...] * weight[target], folded as `reduction` says; what is ignored weighs nothing.
ValueId likelihood(FunctionCall& call, ValueId x, ValueId target, ValueId weight) {
  const bool ignores = call.attrs.has("ignore_index");
  const Size ignored = ignores ? call.attrs.integer("ignore_index") : 0;
  const std::string reduction = call.attrs.word("reduction", "mean");
  if (reduction != "none" && reduction != "sum" && reduction != "mean")
    call.refuse(Fault::Format, "attribute 'reduction' is '" + reduction + "', expected none, sum or mean");
  if (call.failed()) return {};
  const DType type = call.type(x).dtype, places = call.type(target).dtype;
  ValueId skipped;
  if (ignores) {
    skipped = both(call, Equal, target, number(call, "ignored", static_cast<double>(ignored), places));
    target = call.add(Where{}, {skipped, number(call, "first", 0, places), target});
  }
  const ValueId found = call.add(GatherElements{1}, {x, call.add(Unsqueeze{{1}}, {target})});
  ValueId loss = each(call, Function::Negate, call.add(Squeeze{{1}}, {found}));
  ValueId weights = weight ? call.add(Gather{0}, {weight, target}) : ValueId{};
  if (skipped) {
    const ValueId usual = weights ? weights : number(call, "one", 1, type);
    weights = call.add(Where{}, {skipped, number(call, "nothing", 0, type), usual});
  }
  if (weights) loss = both(call, Multiply, loss, weights);
  if (reduction == "none") return loss;
  const Sizes axes = all_axes(call.rank(loss));
  if (reduction == "mean" && !weights) return call.add(Reduce{Reduction::Mean, axes, false}, {loss});
  const ValueId sum = call.add(Reduce{Reduction::Sum, axes, false}, {loss});
  if (reduction == "sum") return sum;
  return both(call, Divide, sum, call.add(Reduce{Reduction::Sum, axes, false}, {weights}));
}

std::vector<ValueId> negative_log_likelihood(FunctionCall& call) {
  const ValueId x = call.tensor("input"), target = call.tensor("target");
  return {likelihood(call, x, target, call.optional("weight"))};
}

std::vector<ValueId> softmax_cross_entropy(FunctionCall& call) {
  const ValueId scores = call.tensor("scores"), labels = call.tensor("labels");
  const ValueId x = call.add(Softmax{{1}, true}, {scores});
  const ValueId loss = likelihood(call, x, labels, call.optional("weights"));
  if (call.results == 1) return {loss};
  return {loss, x};
}

// clang-format off
constexpr std::array loss_table{
    Operator{"NegativeLogLikelihoodLoss", {12}, "input target weight?", "ignore_index:i reduction:s", negative_log_likelihood},
    Operator{"SoftmaxCrossEntropyLoss", {12}, "scores labels weights?", "ignore_index:i reduction:s", softmax_cross_entropy, {}, {1, 2}}};
// clang-format on

}  // namespace

std::span<const Operator> loss_operators() { return loss_table; }

}  // namespace convoy::onnx
