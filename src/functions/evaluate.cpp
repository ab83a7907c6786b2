// One call, as a graph: the first array is its input, the others are constants, which rows may look at.
#include "functions/evaluate.h"

#include "run/run.h"

namespace convoy {

Result<OneCall> one_call(std::span<const FunctionRow> rows, const std::string& function,
                         const std::vector<ArrayArgument>& arrays, const Json& arguments, CallSetting setting) {
  OneCall call;
  Graph& graph = call.graph;
  TensorArguments tensors;
  for (const auto& [name, array] : arrays) {
    if (!array) continue;
    if (!array->tensor()) return within(function, Result<OneCall>(std::unexpected(array->tensor().error())));
    const Tensor& tensor = *array->tensor();
    if (call.inputs.empty()) {
      call.inputs.push_back(tensor);
      tensors.emplace(name, graph.input(std::string(name), type_of(tensor)));
    } else {
      tensors.emplace(name, graph.constant(std::string(name), tensor));
    }
  }
  auto outputs =
      within(function, call_function(rows, graph, function, arguments, std::move(tensors), function, setting));
  if (!outputs) return pass(outputs);
  graph.outputs = *outputs;
  for (std::size_t i = 0; i < outputs->size(); ++i) graph.output_names.push_back("result" + std::to_string(i));
  return call;
}

Result<std::vector<Tensor>> evaluate(std::span<const FunctionRow> rows, const std::string& function,
                                     const std::vector<ArrayArgument>& arrays, const Json& arguments,
                                     CallSetting setting) {
  const auto call = one_call(rows, function, arrays, arguments, setting);
  if (!call) return std::unexpected(call.error());
  auto values = within(function, run(call->graph, call->inputs));
  if (!values) return pass(values);
  std::vector<Tensor> results;
  for (const ValueId v : call->graph.outputs) results.push_back(values->at(v));
  return results;
}

Result<Tensor> evaluate_one(std::span<const FunctionRow> rows, const std::string& function,
                            const std::vector<ArrayArgument>& arrays, const Json& arguments, CallSetting setting) {
  auto results = evaluate(rows, function, arrays, arguments, setting);
  if (!results) return pass(results);
  if (results->size() != 1) return fail(Fault::Internal, function + " has several results");
  return std::move(results->front());
}

Json json_of(const PerAxis& numbers) {
  if (numbers.one()) return numbers.numbers().front();
  return numbers.numbers();
}

}  // namespace convoy
