#include "run/quantized/node.h"

#include "base/budget.h"
#include "ops/expect.h"
#include "run/quantized/quantized.h"
#include "run/run.h"
#include "run/work.h"

#include <algorithm>

namespace convoy::quantized {

bool is_quantized(const Graph& graph, const Node& node) {
  const auto is = [&](ValueId v) { return v && graph[v].quantization; };
  return std::ranges::any_of(node.inputs, is) || std::ranges::any_of(node.outputs, is);
}

Result<std::vector<Tensor>> run_quantized_node(const Graph& graph, const Node& node,
                                               const std::vector<const Tensor*>& inputs, int threads) {
  std::vector<Held> held;
  TensorTypes types(inputs.size());
  std::vector<Input> seen(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ValueId v = node.inputs[i];
    held.push_back({inputs[i], v ? graph[v].quantization.get() : nullptr});
    if (!inputs[i]) continue;
    types[i] = type_of(*inputs[i]);
    if (held.back().quantization) types[i].dtype = DType::F32;
    seen[i] = {&types[i], held.back().quantization ? nullptr : inputs[i]};
  }
  const auto results = infer(node.op, Inputs(seen));
  if (!results) return std::unexpected(results.error());
  if (auto paid = budget::spend(4 * work_of(node.op, inputs, *results), std::string(name_of(node.op))); !paid)
    return pass(paid);
  Size bytes = 0;
  for (const TensorTypes* all : {&std::as_const(types), &*results})
    for (const TensorType& type : *all) {
      const auto shape = sizes_of(type.shape);
      const auto count = shape ? checked_count(*shape) : std::nullopt;
      bytes += count ? *count * 16 : 0;
    }
  if (auto afforded = budget::afford(bytes, name_of(node.op)); !afforded) return pass(afforded);
  std::vector<const Quantization*> out;
  for (const ValueId v : node.outputs) out.push_back(graph[v].quantization.get());
  const auto plain = [&](const Op& op, const std::vector<const Tensor*>& in) {
    return run_node({op, {}, {}, node.layer, node.kind, {}}, in, Precision::Double, threads, graph.rules);
  };
  return run_quantized(node.op, {held, out, *results, threads, plain});
}

Status check_held(const Value& value, const Tensor& given) {
  if (!value.quantization || given.dtype() == value.quantization->dtype) return {};
  const Quantization& q = *value.quantization;
  return fail(Fault::Usage, "input '" + value.name + "' holds " + std::string(name_of(given.dtype())) + ", expected " +
                                std::string(name_of(q.dtype)) + ", of which q stands for " +
                                std::to_string(q.scales.front()) + " * (q - " + std::to_string(q.zero_points.front()) +
                                ")");
}

}  // namespace convoy::quantized
