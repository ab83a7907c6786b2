#include "formats/source_text.h"

#include "formats/python.h"

namespace convoy::python {

std::string input_name(const Graph& graph, ValueId input) {
  const Value& value = graph[input];
  return value.origin ? value.origin->source : value.name;
}

std::string output_name(const Graph& graph, std::size_t i) {
  return i < graph.output_names.size() ? graph.output_names[i] : graph[graph.outputs[i]].name;
}

std::string shape_text(const Shape& shape) {
  std::vector<std::string> sizes;
  for (std::size_t i = 0; i < shape.size(); ++i)
    sizes.push_back(shape[i].known() ? std::to_string(*shape[i]) : i == 0 ? "N" : "?");
  return "[" + joined(sizes) + "]";
}

std::string shapes_docstring(const Graph& graph, const std::vector<std::string>& arguments) {
  std::vector<std::string> from, to, read;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const Value& value = graph[graph.inputs[i]];
    const std::string label = graph.inputs.size() == 1 ? "" : arguments[i] + " ";
    from.push_back(label + std::string(name_of(value.fact.dtype)) + " " + shape_text(value.fact.shape));
    if (!value.origin || !value.origin->split.empty() || is_identity(value.origin->permutation)) continue;
    const Sizes back = inverse(value.origin->permutation);
    Shape source(value.fact.shape.size());
    for (std::size_t axis = 0; axis < source.size(); ++axis)
      source[axis] = value.fact.shape[static_cast<std::size_t>(back[axis])];
    read.push_back(label + shape_text(source));
  }
  for (const ValueId v : graph.outputs)
    to.push_back(std::string(name_of(graph[v].fact.dtype)) + " " + shape_text(graph[v].fact.shape));
  std::string text = "\"\"\"" + joined(from) + " -> " + joined(to) + ".";
  const std::string framework = prose(graph.source_format.substr(0, graph.source_format.find(' ')));
  if (!read.empty() && !framework.empty()) text += "  " + framework + " read " + joined(read) + ".";
  text += "\"\"\"";
  if (text.size() <= 96) return "    " + text + "\n\n";
  const auto list = [](const std::vector<std::string>& parts) {
    const std::string line = joined(parts);
    return line.size() <= 86 ? line : joined(parts, ",\n    ");
  };
  std::string lines = "    \"\"\"" + list(from) + "\n    -> " + list(to) + ".\n";
  if (!read.empty() && !framework.empty()) lines += "\n    " + framework + " read " + list(read) + ".\n";
  return lines + "    \"\"\"\n\n";
}

std::string beside(const std::string& file, const std::string& module_name) {
  if (file.starts_with(module_name + ".")) return "HERE.with_suffix(" + quoted(file.substr(module_name.size())) + ")";
  return "HERE.with_name(" + quoted(file) + ")";
}

}  // namespace convoy::python
