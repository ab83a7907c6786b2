// The graphs of single calls.
#include "golden/calls.h"

namespace convoy::golden {

Result<Sizes> numbers(const Json& attrs, const std::string& name, std::size_t count, Size otherwise) {
  const auto found = attrs.find(name);
  if (found == attrs.end() || found->is_null()) return Sizes(count, otherwise);
  if (found->is_number_integer()) return Sizes(count, found->get<Size>());
  Sizes all;
  if (found->is_array())
    for (const Json& one : *found)
      if (one.is_number_integer()) all.push_back(one.get<Size>());
  if (all.size() != count || found->size() != count)
    return fail(Fault::Format, "attribute '" + name + "' is not " + std::to_string(count) + " whole numbers");
  return all;
}

bool flag(const Json& attrs, const std::string& name, bool otherwise) {
  const auto found = attrs.find(name);
  return found == attrs.end() || !found->is_boolean() ? otherwise : found->get<bool>();
}

Calls::Calls(const Case& c) : case_(c) {
  graph_.source_format = c.framework;
  const Array* x = c.input("x");
  last_ = graph_.input("x", type_of(x ? x->tensor : Tensor()));
}

ValueId Calls::weight(const std::string& name) {
  const Array* array = case_.input(name);
  return array ? graph_.constant(name, array->tensor) : ValueId{};
}

Status Calls::add(Op op, ValueId kernel, ValueId bias) {
  std::vector<ValueId> inputs{last_};
  if (kernel) inputs.push_back(kernel);
  if (bias) inputs.push_back(bias);
  const std::string name(name_of(op));
  auto outputs = graph_.add(std::move(op), inputs, name, name);
  if (!outputs) return pass(outputs);
  last_ = outputs->front();
  return {};
}

Result<Answer> Calls::run() && {
  graph_.outputs = {last_};
  graph_.output_names = {"y"};
  auto y = answer_of(std::move(graph_), case_.input("x")->tensor, Way::Plain);
  if (!y) return pass(y);
  return Answer{{std::move(*y), case_.want ? case_.want->layout : ""}, {}};
}

}  // namespace convoy::golden
