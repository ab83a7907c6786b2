// Variables that a model keeps from call to call.
#include "formats/tflite/reader.h"
#include "formats/tflite/types.h"

namespace convoy::tflite {

bool ModelReader::changes_state(const StoredOperator& op) const {
  return model_.codes[op.code].builtin == assign_variable && model_.codes[op.code].custom.empty();
}

Status ModelReader::add_state(const StoredOperator& op, int code) {
  const bool sound = code == var_handle      ? op.outputs.size() == 1
                     : code == read_variable ? op.inputs.size() == 1 && op.outputs.size() == 1
                                             : op.inputs.size() == 2 && op.inputs[1] >= 0;
  if (!sound) return fail(Fault::Format, "has another number of tensors than a variable's operator");
  if (code == var_handle) {
    states_[op.outputs[0]] = op.options && op.options_kind == 111 ? op.options->text(1) : std::string();
    return {};
  }
  const auto found = states_.find(op.inputs[0]);
  if (found == states_.end() || found->second.empty())
    return fail(Fault::Format, "reads or sets no variable that has a name");
  const std::string& name = found->second;
  if (code == assign_variable) {
    next_states_[name] = op.inputs[1];
    return {};
  }
  Known& known = known_[static_cast<std::size_t>(op.outputs[0])];
  if (const auto set = next_states_.find(name); set != next_states_.end()) {
    const auto value = value_of(set->second);
    if (!value) return std::unexpected(value.error());
    known.value = *value;
    return {};
  }
  const StoredTensor& tensor = subgraph_->tensors[static_cast<std::size_t>(op.outputs[0])];
  const auto dtype = dtype_of(tensor.type);
  if (!dtype)
    return fail(Fault::Unsupported, "a variable of type " + name_of_type(tensor.type) + ", which is not carried");
  auto quantization = quantization_of(op.outputs[0]);
  if (!quantization) return std::unexpected(quantization.error());
  const auto shape = shape_of_input(tensor, name);
  if (!shape) return std::unexpected(shape.error());
  for (const ValueId v : graph_.inputs)
    if (graph_[v].name == name) return known.value = v, Status();
  known.value = graph_.input(name, {tensor.is_quantized() ? DType::F32 : *dtype, *shape});
  graph_[known.value].quantization = std::move(*quantization);
  names_.emplace_back(known.value, name);
  if (options_.remarks)
    options_.remarks->push_back("'" + name +
                                "' is kept from call to call: here it is an input, and what it becomes the output '" +
                                name + ":next'");
  return {};
}

Status ModelReader::add_states_to_outputs() {
  for (const auto& [name, tensor] : next_states_) {
    const auto value = within("variable '" + name + "'", value_of(tensor));
    if (!value) return std::unexpected(value.error());
    graph_.outputs.push_back(*value);
    graph_.output_names.push_back(name + ":next");
  }
  return {};
}

}  // namespace convoy::tflite
