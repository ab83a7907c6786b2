// Nodes as calls of rows, and nodes of known numbers as known numbers.
#include "formats/onnx/constants.h"

#include "base/words.h"
#include "formats/free_reshape.h"
#include "formats/known_results.h"
#include "formats/shortest.h"
#include "ops/expect.h"

#include <algorithm>

namespace convoy::onnx {
namespace {

Result<Json> value_of(const Attribute& attribute) {
  switch (attribute.kind) {
    case AttributeKind::Float: return Json(shortest(attribute.number));
    case AttributeKind::Integer: return Json(attribute.integer);
    case AttributeKind::Text: return Json(attribute.text);
    case AttributeKind::Integers: return Json(attribute.integers);
    case AttributeKind::Texts: return Json(attribute.texts);
    case AttributeKind::Floats: {
      Json all = Json::array();
      for (const float number : attribute.floats) all.push_back(shortest(number));
      return all;
    }
    default: break;
  }
  return fail(Fault::Unsupported, "attribute '" + attribute.name + "' holds no number and no word");
}

}  // namespace

Result<RowCall> row_call(const ModelNode& node, Size opset, std::size_t results) {
  RowCall call{row_of(functions(), node.type), Json::object(), {}, {.opset = opset, .results = results}};
  if (!call.row) return fail(Fault::Unsupported, "is an operator that this version does not read");
  for (const Attribute& attribute : node.attributes) {
    if (!attribute.refers_to.empty())
      return fail(Fault::Unsupported, "attribute '" + attribute.name + "' refers to one of a function");
    if (std::ranges::find(words_of_free_reshape, attribute.name) != words_of_free_reshape.end())
      return fail(Fault::Unsupported, "attribute '" + attribute.name + "' is not understood");
    auto value = value_of(attribute);
    if (!value) return pass(value);
    call.attributes[attribute.name] = std::move(*value);
  }
  const auto parameters = words_in(call.row->parameters);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const bool left = !parameters.empty() && parameters.back().ends_with("...");
    if (left && i + 1 >= parameters.size()) {
      const std::string_view last = parameters.back();
      call.inputs.push_back(std::string(last.substr(0, last.size() - 3)) + "." +
                            std::to_string(i + 1 - parameters.size()));
    } else if (i < parameters.size()) {
      call.inputs.emplace_back(parameters[i]);
    } else if (node.inputs[i].empty()) {
      call.inputs.emplace_back();
    } else {
      return fail(Fault::Unsupported, "input " + std::to_string(i + 1) + " is not understood");
    }
  }
  return call;
}

Result<std::vector<Tensor>> compute(const ModelNode& node, Size opset, const std::vector<std::optional<Tensor>>& inputs,
                                    Allowance& allowance) {
  const auto call = row_call(node, opset, node.outputs.size());
  if (!call) return std::unexpected(call.error());
  Graph graph;
  TensorArguments tensors;
  for (std::size_t i = 0; i < inputs.size() && i < call->inputs.size(); ++i)
    if (inputs[i]) tensors.emplace(call->inputs[i], graph.constant(call->inputs[i], *inputs[i]));
  const std::size_t given = graph.values.size();
  auto outputs =
      call_function(functions(), graph, node.type, call->attributes, std::move(tensors), node.type, call->setting);
  if (!outputs) return pass(outputs);
  return known_results(graph, given, *outputs, allowance);
}

}  // namespace convoy::onnx
