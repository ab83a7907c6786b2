#include "formats/known_results.h"

#include "formats/numbers.h"
#include "ops/expect.h"
#include "run/run.h"

#include <algorithm>
#include <string>

namespace convoy {

namespace {

// Jumps somewhere: a number that float64 puts on one side may lie on the other in the type that the model has.
bool rounds_to_steps(const Graph& graph, const Node& node) {
  const auto is_fraction = [&](std::size_t i) { return is_floating(graph[node.inputs[i]].type.dtype); };
  if (const auto* unary = get_if<Unary>(&node.op)) return rounds(unary->function);
  if (const auto* cast = get_if<Cast>(&node.op)) return is_fraction(0) && !is_floating(cast->to);
  const auto* binary = get_if<Binary>(&node.op);
  return binary && is_fraction(0) && (divides_whole(binary->function) || gives_truth(binary->function));
}

}  // namespace

Result<std::vector<Tensor>> known_results(Graph& graph, std::size_t given, const std::vector<ValueId>& outputs,
                                          Allowance& allowance) {
  if (auto s = allowance.spend(cost_of(graph, given)); !s) return pass(s);
  graph.outputs = outputs;
  for (std::size_t i = 0; i < outputs.size(); ++i) graph.output_names.push_back(std::to_string(i));
  const bool steps = std::ranges::any_of(graph.nodes, [&](const Node& node) { return rounds_to_steps(graph, node); });
  auto values =
      run(graph, {}, {.precision = steps ? Precision::Single : Precision::Double, .kernels = KernelChoice::Plain});
  if (!values) return pass(values);
  std::vector<Tensor> results;
  for (const ValueId v : outputs) {
    const Tensor& value = values->at(v);
    const DType wanted = graph[v].type.dtype;
    if (is_floating(wanted)) results.push_back(value.converted(wanted));
    else results.push_back(whole_tensor(wanted, value.shape(), value.integers()));
  }
  return results;
}

}  // namespace convoy
