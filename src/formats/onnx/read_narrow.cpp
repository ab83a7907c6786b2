// Nodes over narrow types. What moves numbers about or takes them to a wide type answers alike on the wider type that carries
// them; whatever would round in the narrow one is refused, but steps of whole numbers, which end at the type's bounds.
#include "formats/onnx/model_reader.h"
#include "formats/onnx/narrow_types.h"
#include "formats/onnx/spelling.h"
#include "formats/onnx/types.h"

namespace convoy::onnx {
namespace {

bool only_moves(const ModelNode& node) {
  const Signature* signature = signature_of(node.type);
  return signature && std::holds_alternative<Moved>(signature->row->meaning);
}

bool may_read(const ModelNode& node, std::size_t input) {
  if (node.type == "DequantizeLinear") return input != 1;
  if (node.type == "QuantizeLinear") return input == 2;
  return node.type == "Cast" || node.type == "Shape" || node.type == "Size" || only_moves(node);
}

// What an attribute asks for: a type, or the type of a tensor.
Size narrow_asked(const ModelNode& node, std::string_view name) {
  const Attribute* attribute = node.attribute(name);
  if (!attribute) return 0;
  const Size code = attribute->tensor ? attribute->tensor->type : attribute->integer;
  return wide_type_of(code) ? code : 0;
}

Attribute bound(const std::string& name, Size type, int number) {
  StoredTensor tensor{.name = name, .type = type, .integers = {number}};
  return {.name = "value", .kind = AttributeKind::Tensor, .tensor = std::move(tensor)};
}

}  // namespace

Result<Size> ModelReader::narrow_result(const ModelNode& node, const std::vector<Known*>& inputs) {
  Size read = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i] || inputs[i]->narrow == 0) continue;
    read = inputs[i]->narrow;
    if (!may_read(node, i))
      return fail(Fault::Unsupported, "reads '" + node.inputs[i] + "' of element type " + name_of_type(read) +
                                          ", which is carried where DequantizeLinear or Cast reads it");
  }
  if (only_moves(node)) return read;
  if (node.type == "ConstantOfShape") return narrow_asked(node, "value");
  if (node.type != "QuantizeLinear") return 0;
  const Size type = read != 0 ? read : narrow_asked(node, "output_dtype");
  if (type != 0 && !bounds_of(type))
    return fail(Fault::Unsupported, "rounds to element type " + name_of_type(type) + ", which is not carried");
  return type;
}

// To the wider type, then within the bounds of the narrow one.
Status ModelReader::add_narrow_quantize(const ModelNode& node, const std::string& name, Size type,
                                        const std::vector<Known*>& inputs, Names& names) {
  const NarrowBounds bounds = *bounds_of(type);
  const Size wide = wide_type_of(type) == DType::I8 ? 3 : 2;
  Spelling spell(node);
  std::vector<Attribute> attributes;
  for (const Attribute& one : node.attributes)
    attributes.push_back(one.name == "output_dtype" ? Spelling::whole("output_dtype", wide) : one);
  const std::string least = spell.add("Constant", {}, "least", {bound("least", wide, bounds.least)});
  const std::string most = spell.add("Constant", {}, "most", {bound("most", wide, bounds.most)});
  const std::string steps = spell.add("QuantizeLinear", node.inputs, "steps", std::move(attributes));
  spell.add("Clip", {steps, least, most}, "");
  for (const ModelNode& one : spell.nodes) names_read(one, read_);
  for (const ModelNode& one : spell.nodes) {
    auto added = one.type == "QuantizeLinear" ? add_in_its_way(one, name, inputs, names)
                                              : add_own_node(one, one.name.empty() ? name : one.name, names);
    if (!added) return added;
  }
  if (Known* known = names.find(spell.result())) known->narrow = type;
  return {};
}

}  // namespace convoy::onnx
