#include "graph/rounding_steps.h"

#include <algorithm>

namespace convoy {

int rounding_steps_of(const Op& op) {
  if (const auto* binary = get_if<Binary>(&op)) {
    const BinaryFunction f = binary->function;
    return f != BinaryFunction::Maximum && f != BinaryFunction::Minimum && f < BinaryFunction::Equal ? 1 : 0;
  }
  if (const auto* unary = get_if<Unary>(&op)) {
    const Function f = unary->function;
    const bool exact = f == Function::Abs || f == Function::Negate || f == Function::Sign || f == Function::Not;
    return rounds(f) || exact ? 0 : 1;
  }
  if (const auto* reduce = get_if<Reduce>(&op))
    if (reduce->reduction == Reduction::Maximum || reduce->reduction == Reduction::Minimum) return 0;
  const bool chooses = holds_alternative<Cast>(op) || holds_alternative<Clip>(op) || holds_alternative<Where>(op) ||
                       holds_alternative<Relu>(op) || holds_alternative<MaxPool>(op);
  return chooses || traits_of(op).contents != Contents::Computed ? 0 : 1;
}

int rounding_depth(const Graph& graph) {
  std::vector<int> depths(graph.values.size(), 0);
  int most = 0;
  for (const Node& node : graph.nodes) {
    int depth = 0;
    for (const ValueId input : node.inputs)
      if (input) depth = std::max(depth, depths[input.slot()]);
    depth += rounding_steps_of(node.op);
    for (const ValueId output : node.outputs) depths[output.slot()] = depth;
    most = std::max(most, depth);
  }
  return most;
}

}  // namespace convoy
