// A document in the words of the reader, for the checker that both share.
#include "formats/onnx/model.h"
#include "formats/onnx/write/document.h"

namespace convoy::onnx {
namespace {

AttributeKind kind_of(const AttributeValue& value) {
  constexpr AttributeKind kinds[] = {AttributeKind::Integer,  AttributeKind::Float,  AttributeKind::Text,
                                     AttributeKind::Integers, AttributeKind::Floats, AttributeKind::Texts};
  return kinds[value.index()];
}

ValueInfo info_of(const DocumentValue& value) {
  ValueInfo info{value.name, data_type_of(value.type.dtype), std::vector<NamedDim>{}};
  for (std::size_t i = 0; i < value.type.shape.size(); ++i)
    info.shape->push_back({value.type.shape[i].size(), value.unknown[i]});
  return info;
}

}  // namespace

Model model_of(const Document& document) {
  Model model;
  model.opsets[""] = document.opset;
  for (const DocumentNode& node : document.nodes) {
    ModelNode& made = model.graph.nodes.emplace_back(node.name, node.op, "", node.inputs, node.outputs);
    for (const DocumentAttribute& attribute : node.attributes)
      made.attributes.push_back({.name = std::string(attribute.name), .kind = kind_of(attribute.value)});
  }
  for (const DocumentTensor& tensor : document.initializers)
    model.graph.initializers.push_back(
        {.name = tensor.name, .dims = tensor.tensor.shape(), .type = data_type_of(tensor.tensor.dtype())});
  for (const DocumentValue& value : document.inputs) model.graph.inputs.push_back(info_of(value));
  for (const DocumentValue& value : document.outputs) model.graph.outputs.push_back(info_of(value));
  return model;
}

}  // namespace convoy::onnx
