// The nodes of an exported program's operators, with the values that they read and give.
#include "formats/torch/exported/builder.h"

#include "formats/torch/declared_type.h"
#include "formats/torch/exported/nodes.h"
#include "graph/stored.h"
#include "run/cost.h"
#include "run/run.h"

#include <algorithm>
#include <utility>

namespace convoy::torch {

void ExportedBuilder::remark(std::string what) const {
  if (options.remarks) options.remarks->push_back(std::move(what));
}

const Json* ExportedBuilder::meta_of(const std::string& name) const { return values ? member(*values, name) : nullptr; }

Result<TensorType> ExportedBuilder::declared(const std::string& name) const {
  const Json* meta = meta_of(name);
  const Json* number = meta ? member(*meta, "dtype") : nullptr;
  if (!number) return fail(Fault::Format, "has no dtype");
  const auto dtype = exported_dtype(*number);
  if (!dtype) return std::unexpected(dtype.error());
  TensorType type{*dtype, {}};
  for (const auto& said : Symbols::sizes_of(meta)) {
    const auto size = symbols.worked_out(said);  // an input before it may have told the number
    type.shape.push_back(size.known ? Dim(*size.known) : Dim::unknown());
  }
  return type;
}

void ExportedBuilder::own_sizes(const std::string& name) {
  const auto sizes = Symbols::sizes_of(meta_of(name));
  const ValueId value = tensors[name];
  for (std::size_t axis = 0; value && axis < sizes.size(); ++axis)
    if (!sizes[axis].known) symbols.add_owner(sizes[axis].expression, {value, static_cast<Size>(axis)});
}

Result<std::vector<ValueId>> ExportedBuilder::add(const Json& node, const std::string& overload, Json arguments,
                                                  TensorArguments given, std::size_t wanted) {
  return add(node, aten_row(overload, std::move(arguments)), std::move(given), wanted);
}

Result<std::vector<ValueId>> ExportedBuilder::add(const Json& node, const AtenRow& meant, TensorArguments given,
                                                  std::size_t wanted) {
  const auto& [row, plain] = meant;
  if (!row) return fail(Fault::Unsupported, "is an operator that is not carried");
  const Module module = module_of(node);
  const std::string name = text_member(node, "name");
  // What a module computes between the modules inside it stands beside them.
  const bool is_between = module.path.empty() || around.contains(module.path);
  const std::string layer = !is_between ? module.path : module.path.empty() ? name : module.path + "." + name;
  const std::size_t first = graph.nodes.size(), first_value = graph.values.size();
  const bool is_number = asks_number_along_axis(*row, plain, given);
  if (is_number) {
    const auto list = graph.add(Reshape{{1}}, {given.at("input")}, layer);
    if (!list) return std::unexpected(list.error());
    given["input"] = list->front();
  }
  std::vector<std::pair<ValueId, ValueId>> with_weights;  // parameters that are given, or what is made of them
  for (const auto& [word, id] : given) {
    if (parameters.contains(id)) with_weights.emplace_back(id, id);
    else if (const auto of = reordered.find(id.index); of != reordered.end()) with_weights.emplace_back(id, of->second);
  }
  FunctionCall made(graph, std::string(row->name), plain, std::move(given), layer,
                    {0, std::max<std::size_t>(1, wanted), free_sizes});
  auto results = row->read(made);
  if (auto s = made.done(); !s) return pass(s);
  find_reordered(graph, first_value, with_weights, reordered);
  if (results.empty() && wanted > 0) return fail(Fault::Internal, "gives nothing and does not say why");
  for (ValueId& result : results)
    if (is_number && result && graph[result].type.shape == Shape{1}) {
      const auto number = graph.add(Squeeze{{0}}, {result}, layer);
      if (!number) return std::unexpected(number.error());
      result = number->front();
    }
  if (auto s = allowance.spend(made_constants(graph, first_value)); !s) return pass(s);
  for (std::size_t i = first; i < graph.nodes.size(); ++i) {
    Node& added = graph.nodes[i];
    added.kind = is_between ? name : module.type;
    for (const std::string& outer : outer_paths(layer)) added.scopes.push_back({outer, 0});
  }
  if (auto s = fold(first, first_value); !s) return pass(s);
  return results;
}

// PyTorch lets a tensor of no axes be asked along axis 0, as if it were a list of one cell.
bool ExportedBuilder::asks_number_along_axis(const FunctionRow& row, const Json& plain,
                                             const TensorArguments& given) const {
  const auto input = given.find("input");
  const Json* dim = member(plain, "dim");
  return given.size() == 1 && input != given.end() && input->second && dim && !dim->is_null() &&
         graph[input->second].type.rank() == 0 && !row.name.ends_with("unsqueeze");
}

// Nodes of known numbers alone become known numbers, as long as no weight of the model is among them and they are few.
Status ExportedBuilder::fold(std::size_t first, std::size_t first_value) {
  for (std::size_t i = first; i < graph.nodes.size(); ++i)
    for (const ValueId v : graph.nodes[i].inputs) {
      if (!v) continue;
      const bool inner = graph[v].producer && graph[v].producer.slot() >= first;
      const Value& value = graph[v];
      if (!inner && (!value.constant || value.trainable || parameters.contains(v))) return {};
    }
  if (!allowance.spend(cost_of(graph, first_value))) return {};  // they are made when the model runs
  for (std::size_t i = first; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.inputs.empty()) return {};
    std::vector<const Tensor*> inputs;
    for (const ValueId v : node.inputs) inputs.push_back(v ? &*graph[v].constant : nullptr);
    const bool literal = std::ranges::all_of(node.inputs, [&](ValueId v) { return !v || graph[v].literal; });
    auto results = within(place_of(node), run_node_of(graph, node, inputs, Precision::Single));
    if (!results) return pass(results);
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      Value& value = graph[node.outputs[k]];
      value.constant = as_declared((*results)[k], value.type.dtype);
      value.trainable = false;
      value.literal = literal;
      value.producer = {};
    }
    if (only_reshapes(node.op)) graph[node.outputs[0]].origin = stored_origin(graph[node.inputs[0]]);
  }
  graph.nodes.resize(first);
  return {};
}

}  // namespace convoy::torch
