// Names of nodes and values, each once.
#include "formats/onnx/write/sink.h"

namespace convoy::onnx {

Sink::Sink(const Graph& graph, Document& document) : graph_(graph), document_(document) {
  for (const Value& value : graph.values) names_.insert(value.name);
}

const Tensor* Sink::constant(std::size_t i) const {
  return has(i) && graph_[node_->inputs[i]].constant ? &*graph_[node_->inputs[i]].constant : nullptr;
}

std::string Sink::unique(const std::string& wanted) {
  std::string name = wanted;
  for (int i = 1; !names_.insert(name).second; ++i) name = wanted + "." + std::to_string(i);
  return name;
}

std::string Sink::stored(std::string_view word, Tensor tensor) {
  const std::string wanted = node_->layer + "/" + std::string(word);
  for (const auto& known : document_.initializers)
    if (known.name.starts_with(wanted) && same_bytes(known.tensor, tensor)) return known.name;
  std::string name = unique(wanted);
  document_.initializers.push_back({name, std::move(tensor)});
  return name;
}

std::string Sink::number(double value) {
  return stored("number", Tensor::of({}, std::vector<double>{value}).converted(fact().dtype));
}

std::string Sink::numbers(const Sizes& values) {
  return stored("sizes", Tensor::of({static_cast<Size>(values.size())}, values));
}

void Sink::add(std::string op, std::vector<std::string> inputs, std::vector<std::string> outputs,
               Attributes attributes) {
  while (!inputs.empty() && inputs.back().empty()) inputs.pop_back();
  const std::string wanted = node_->layer.empty() ? op : node_->layer;
  std::string name = wanted;
  for (int i = 1; !node_names_.insert(name).second; ++i) name = wanted + "/" + op + (i == 1 ? "" : std::to_string(i));
  document_.nodes.push_back(
      {std::move(op), std::move(name), std::move(inputs), std::move(outputs), std::move(attributes)});
}

std::string Sink::step(std::string op, std::vector<std::string> inputs, Attributes attributes) {
  std::string output = unique(node_->layer + "/" + op);
  add(std::move(op), std::move(inputs), {output}, std::move(attributes));
  return output;
}

void Sink::last(std::string op, std::vector<std::string> inputs, Attributes attributes) {
  add(std::move(op), std::move(inputs), {result()}, std::move(attributes));
}

void Sink::last_of_many(std::string op, std::vector<std::string> inputs, Attributes attributes) {
  std::vector<std::string> outputs;
  for (std::size_t i = 0; i < node_->outputs.size(); ++i) outputs.push_back(result(i));
  add(std::move(op), std::move(inputs), std::move(outputs), std::move(attributes));
}

Sizes begins_then_ends(const Sizes& before, const Sizes& after) {
  Sizes all = before;
  all.insert(all.end(), after.begin(), after.end());
  return all;
}

}  // namespace convoy::onnx
