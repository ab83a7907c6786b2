// Names of nodes and values, each once.
#include "formats/onnx/write/sink.h"

#include "ops/expect.h"

#include <algorithm>

namespace convoy::onnx {

std::vector<std::string> names_of_values(const Graph& graph) {
  std::vector<std::string> names(graph.values.size());
  std::set<std::string> taken;
  const auto give = [&](std::size_t value, const std::string& name) {
    if (names[value].empty() && taken.insert(name).second) names[value] = name;
  };
  for (std::size_t i = 0; i < names.size(); ++i)
    if (!graph.values[i].producer) give(i, graph.values[i].name);
  for (std::size_t i = 0; i < graph.outputs.size(); ++i)
    if (graph[graph.outputs[i]].producer) give(graph.outputs[i].slot(), graph.output_names[i]);
  for (std::size_t i = 0; i < names.size(); ++i) {
    give(i, graph.values[i].name);
    for (int number = 1; names[i].empty(); ++number) give(i, graph.values[i].name + "." + std::to_string(number));
  }
  return names;
}

Sink::Sink(const Graph& graph, Document& document)
    : graph_(graph),
      document_(document),
      uses_(graph.values.size()),
      value_names_(names_of_values(graph)),
      names_({value_names_.begin(), value_names_.end()}),
      cells_(time_first(graph)),
      in_stretch_(graph.nodes.size()) {
  for (const Node& each : graph.nodes)
    for (const ValueId v : each.inputs)
      if (v) ++uses_[v.slot()];
  for (const ValueId v : graph.outputs) ++uses_[v.slot()];
}

const std::string& Sink::name_of(ValueId value) const { return value_names_[value.slot()]; }

void Sink::begin(const Node& node) {
  node_ = &node;
  waiting_.clear();
  const std::string kind(convoy::name_of(node.op)), wanted = node.layer.empty() ? kind : node.layer;
  main_ = node_names_.take(node_names_.free(wanted) ? wanted : wanted + "/" + kind, "");
}

const TimeFirst::Cell& Sink::cell() const {
  return cells_.cells.at({static_cast<std::int32_t>(node_ - graph_.nodes.data())});
}

const Tensor* Sink::constant(std::size_t i) const {
  return has(i) && graph_[node_->inputs[i]].constant ? &*graph_[node_->inputs[i]].constant : nullptr;
}

std::string Sink::wait_for(Waiting constant) {
  std::string token = "\x01" + std::to_string(waiting_.size());
  while (!names_.free(token) || waiting_.contains(token)) token += "\x01";
  waiting_.emplace(token, std::move(constant));
  return token;
}

std::string Sink::stored(std::string_view word, Tensor tensor) {
  return wait_for({std::string(word), std::move(tensor), {}});
}

std::string Sink::number(double value) {
  const DType dtype = type().dtype;
  if (is_floating(dtype)) return stored("number", Tensor::of({}, std::vector<double>{value}).converted(dtype));
  // The low bytes of a whole number are the number in every narrower type.
  const Tensor whole = Tensor::of({}, std::vector<std::int64_t>{static_cast<std::int64_t>(value)});
  const auto bytes = whole.bytes().first(static_cast<std::size_t>(convoy::bytes_of(dtype)));
  return stored("number", *Tensor::owning(dtype, {}, {bytes.begin(), bytes.end()}));
}

std::string Sink::numbers(const Sizes& values) {
  return stored("sizes", Tensor::of({static_cast<Size>(values.size())}, values));
}

std::string Sink::made_of(std::size_t i, Tensor tensor) {
  const ValueId v = node_->inputs[i];
  const bool alone = uses_[v.slot()] == 1;
  return wait_for({{}, std::move(tensor), alone ? graph_[v].name : unique(graph_[v].name)});
}

std::string Sink::named_after(const std::string& node, const Waiting& constant, std::vector<DocumentTensor>& of_node) {
  if (!constant.name.empty()) {
    made_.insert_or_assign(constant.name, constant.tensor);
    return constant.name;
  }
  const std::string wanted = node + "/" + constant.word;
  for (const DocumentTensor& known : of_node)
    if (known.name.starts_with(wanted) && same_bytes(known.tensor, constant.tensor)) return known.name;
  std::string name = unique(wanted);
  of_node.push_back({name, constant.tensor});
  made_.emplace(name, constant.tensor);
  return name;
}

void Sink::add(std::string name, std::string op, std::vector<std::string> inputs, std::vector<std::string> outputs,
               Attributes attributes) {
  while (!inputs.empty() && inputs.back().empty()) inputs.pop_back();
  if (name != main_) name = node_names_.take(name, "");
  std::vector<DocumentTensor> of_node;
  for (std::string& input : inputs)
    if (const auto found = waiting_.find(input); found != waiting_.end())
      input = named_after(name, found->second, of_node);
  document_.nodes.push_back(
      {std::move(op), std::move(name), std::move(inputs), std::move(outputs), std::move(attributes), node_});
}

void Sink::is(Tensor result) { made_.insert_or_assign(this->result(), std::move(result)); }

std::string Sink::output(std::size_t place) {
  const ValueId v = graph_.outputs[place];
  const auto end = graph_.outputs.begin() + static_cast<std::ptrdiff_t>(place);
  if (const auto known = made_.find(name_of(v)); known != made_.end()) {
    // No input reaches it: its numbers are stored under another name, and a node gives the output.
    const std::string name = known->first, stored = unique(name + "/known");
    for (DocumentNode& each : document_.nodes) std::ranges::replace(each.inputs, name, stored);
    made_.emplace(stored, std::move(known->second));
    made_.erase(known);
    document_.nodes.push_back({"Identity", unique(name + "/output"), {stored}, {name}, {}});
  }
  if (graph_[v].producer && std::find(graph_.outputs.begin(), end, v) == end) return name_of(v);
  const std::string name = unique(graph_.output_names[place]);
  document_.nodes.push_back({"Identity", node_names_.take(name, ""), {name_of(v)}, {name}, {}});
  return name;
}

void Sink::place_initializers() {
  std::map<std::string_view, const Tensor*> constants;
  for (const Value& value : graph_.values)
    if (value.constant && !held_.contains(value.name)) constants.emplace(value.name, &*value.constant);
  for (const auto& [name, tensor] : made_) constants.insert_or_assign(name, &tensor);
  std::set<std::string_view> placed;
  for (const DocumentNode& each : document_.nodes)
    for (const std::string& input : each.inputs)
      if (const auto found = constants.find(input); found != constants.end() && placed.insert(found->first).second)
        document_.initializers.push_back({input, *found->second});
}

std::string Sink::step(std::string op, std::vector<std::string> inputs, Attributes attributes) {
  const std::string name = main_ + "/" + op;
  std::string output = unique(name);
  add(name, std::move(op), std::move(inputs), {output}, std::move(attributes));
  return output;
}

std::vector<std::string> Sink::steps_of(const std::vector<bool>& wanted, std::string op,
                                        std::vector<std::string> inputs, Attributes attributes) {
  const std::string name = main_ + "/" + op;
  std::vector<std::string> outputs;
  for (const bool one : wanted) outputs.push_back(one ? unique(name) : "");
  auto named = outputs;
  while (named.back().empty()) named.pop_back();
  add(name, std::move(op), std::move(inputs), std::move(named), std::move(attributes));
  return outputs;
}

void Sink::gives(std::size_t place, std::string op, std::vector<std::string> inputs, Attributes attributes) {
  const std::string name = main_ + "/" + op;
  add(name, std::move(op), std::move(inputs), {result(place)}, std::move(attributes));
}

bool Sink::knows(std::string_view op) const {
  const Signature* signature = signature_of(op);
  return signature && signature->row->versions.has(opset());
}

bool Sink::takes_input(std::string_view op, std::string_view name) const {
  const Parameter* input = signature_of(op)->input(name);
  return input && input->versions.has(opset());
}

bool Sink::takes(std::string_view op, std::string_view name) const {
  const Parameter* attribute = signature_of(op)->attribute(name);
  return (attribute && attribute->versions.has(opset())) || takes_input(op, name);
}

std::unexpected<Error> Sink::too_old(std::string what, std::string_view op, std::string_view parameter) const {
  const Signature* signature = signature_of(op);
  const Parameter* attribute = signature->attribute(parameter);
  return too_old(std::move(what), attribute ? attribute->versions.since : signature->row->versions.since);
}

std::vector<std::string> Sink::inputs_with(const std::string& op, std::string x, std::string_view name,
                                           const Sizes& values, Attributes& attributes) {
  if (takes_input(op, name)) return {std::move(x), numbers(values)};
  const auto behind = std::ranges::find_if(attributes, [&](const auto& a) { return a.name > name; });
  attributes.insert(behind, {name, values});
  return {std::move(x)};
}

std::string Sink::typed(std::size_t i, DType dtype) {
  return type(i).dtype == dtype ? name(i) : step("Cast", {name(i)}, {{"to", data_type_of(dtype)}});
}

std::string Sink::step_with(std::string op, std::string x, std::string_view name, const Sizes& values,
                            Attributes attributes) {
  auto inputs = inputs_with(op, std::move(x), name, values, attributes);
  return step(std::move(op), std::move(inputs), std::move(attributes));
}

void Sink::gives_with(std::size_t place, std::string op, std::string x, std::string_view name, const Sizes& values,
                      Attributes attributes) {
  auto inputs = inputs_with(op, std::move(x), name, values, attributes);
  gives(place, std::move(op), std::move(inputs), std::move(attributes));
}

void Sink::last_with(std::string op, std::string x, std::string_view name, const Sizes& values, Attributes attributes) {
  auto inputs = inputs_with(op, std::move(x), name, values, attributes);
  last(std::move(op), std::move(inputs), std::move(attributes));
}

void Sink::last(std::string op, std::vector<std::string> inputs, Attributes attributes) {
  add(main_, std::move(op), std::move(inputs), {result()}, std::move(attributes));
}

void Sink::named(std::string op, std::vector<std::string> inputs, std::vector<std::string> outputs,
                 Attributes attributes) {
  while (outputs.back().empty()) outputs.pop_back();
  add(main_, std::move(op), std::move(inputs), std::move(outputs), std::move(attributes));
}

void Sink::last_of_many(std::string op, std::vector<std::string> inputs, Attributes attributes) {
  std::vector<std::string> outputs;
  for (std::size_t i = 0; i < node_->outputs.size(); ++i) outputs.push_back(result(i));
  add(main_, std::move(op), std::move(inputs), std::move(outputs), std::move(attributes));
}

Sizes begins_then_ends(const Sizes& before, const Sizes& after) {
  Sizes all = before;
  all.insert(all.end(), after.begin(), after.end());
  return all;
}

}  // namespace convoy::onnx
