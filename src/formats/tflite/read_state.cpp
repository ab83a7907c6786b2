// Variables that a model keeps from call to call.
#include "formats/tflite/reader.h"
#include "formats/tflite/types.h"

#include <algorithm>
#include <set>

namespace convoy::tflite {
namespace {

std::string name_of_variable(const StoredOperator& op) {
  return op.options && op.options_kind == 111 ? op.options->text(1) : std::string();
}

}  // namespace

bool ModelReader::changes_state(const StoredOperator& op) const {
  return model_.codes[op.code].builtin == assign_variable && model_.codes[op.code].custom.empty();
}

Status ModelReader::add_state(const StoredOperator& op, int code) {
  const bool sound = code == var_handle      ? op.outputs.size() == 1
                     : code == read_variable ? op.inputs.size() == 1 && op.outputs.size() == 1
                                             : op.inputs.size() == 2 && op.inputs[1] >= 0;
  if (!sound) return fail(Fault::Format, "has another number of tensors than a variable's operator");
  if (code == var_handle) {
    known_[static_cast<std::size_t>(op.outputs[0])].variable = name_of_variable(op);
    return {};
  }
  const std::string name = op.inputs[0] < 0 ? std::string() : known_[static_cast<std::size_t>(op.inputs[0])].variable;
  if (name.empty()) return fail(Fault::Format, "reads or sets no variable that has a name");
  if (code == assign_variable) {
    auto value = passed_on(op.inputs[1]);
    if (!value) return pass(value);
    next_states_[name] = std::move(*value);
    return {};
  }
  Known& known = known_[static_cast<std::size_t>(op.outputs[0])];
  for (const auto* states : {&next_states_, &begun_states_}) {
    const auto set = states->find(name);
    if (set == states->end()) continue;
    known = set->second;
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

Status ModelReader::begin_states() {
  std::vector<std::int64_t> beginnings;
  for (const StoredOperator& op : subgraph_->operators)
    if (model_.codes[op.code].builtin == call_once && model_.codes[op.code].custom.empty())
      beginnings.push_back(op.options && op.options_kind == 103 ? op.options->number<std::int32_t>(0) : 0);
  for (const std::int64_t subgraph : beginnings) {
    if (auto made = within("what is called once", results_of(subgraph, {}, "once/")); !made) return pass(made);
  }
  // Others are assigned to in each call: they are inputs.
  std::set<std::string> changing;
  for (std::size_t i = 0; i < model_.subgraphs.size() && !next_states_.empty(); ++i) {
    if (std::ranges::count(beginnings, static_cast<std::int64_t>(i)) > 0) continue;
    const SubGraph& graph = model_.subgraphs[i];
    const bool is_other = std::ranges::any_of(
        model_.signatures, [&](const Signature& s) { return s.subgraph == i && &graph != subgraph_; });
    if (is_other) continue;
    for (const StoredOperator& op : graph.operators) {
      if (!item(model_.codes, op.code) || !changes_state(op) || op.inputs.empty()) continue;
      const auto handle = std::ranges::find_if(graph.operators, [&](const StoredOperator& other) {
        return item(model_.codes, other.code) && model_.codes[other.code].builtin == var_handle &&
               other.outputs == std::vector{op.inputs[0]};
      });
      if (handle != graph.operators.end()) changing.insert(name_of_variable(*handle));
      else
        for (const auto& [name, known] : next_states_) changing.insert(name);  // which one, its callers say
    }
  }
  for (auto& [name, known] : next_states_)
    if (!changing.contains(name)) begun_states_.emplace(name, std::move(known));
  next_states_.clear();
  return {};
}

Status ModelReader::add_states_to_outputs() {
  for (auto& [name, known] : next_states_) {
    if (known.tensor && !known.value) known.value = add_constant(graph_, name, *known.tensor, nullptr);
    if (!known.value)
      return within("variable '" + name + "'", Status(fail(Fault::Unsupported,
                                                           "is assigned sizes that are not known beforehand; give them "
                                                           "with --shape")));
    graph_.outputs.push_back(known.value);
    graph_.output_names.push_back(name + ":next");
  }
  return {};
}

}  // namespace convoy::tflite
