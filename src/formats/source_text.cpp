#include "formats/source_text.h"

#include "base/fresh_names.h"
#include "formats/python.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace convoy::python {

std::string input_name(const Graph& graph, ValueId input) {
  const convoy::Value& value = graph[input];
  return value.origin ? value.origin->source : value.name;
}

std::string output_name(const Graph& graph, std::size_t i) {
  return i < graph.output_names.size() ? graph.output_names[i] : graph[graph.outputs[i]].name;
}

std::vector<std::string> stored_names(const std::vector<std::string>& names) {
  FreshNames all;
  std::vector<std::string> stored;
  for (const std::string& name : names) stored.push_back(all.take(name, "."));
  return stored;
}

std::string shape_text(const Shape& shape) {
  std::vector<std::string> sizes;
  for (std::size_t i = 0; i < shape.size(); ++i)
    sizes.push_back(shape[i].known() ? std::to_string(*shape[i]) : i == 0 ? "N" : "?");
  return "[" + joined(sizes) + "]";
}

namespace {

bool has_moved(const convoy::Value& value) {
  return value.origin && value.origin->split.empty() && !is_identity(value.origin->permutation);
}

// "[N, 8, 8, 3], permuted (0, 3, 1, 2)": the axes of the source, and how they came to lie as they do.
std::string moved_text(const convoy::Value& value) {
  const Sizes& permutation = value.origin->permutation;
  const Sizes back = inverse(permutation);
  Shape source;
  for (const Size axis : back) source.push_back(value.type.shape[static_cast<std::size_t>(axis)]);
  return fmt::format("{}, permuted ({})", shape_text(source), fmt::join(permutation, ", "));
}

}  // namespace

std::string lying_text(const convoy::Value& value) {
  const std::string here = std::string(name_of(value.type.dtype)) + " " + shape_text(value.type.shape);
  return here + (has_moved(value) ? ": of the source's " + moved_text(value) : ": axes as in the source");
}

std::string shapes_docstring(const Graph& graph, const std::vector<std::string>& arguments) {
  std::vector<std::string> from, to, read, gave;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const convoy::Value& value = graph[graph.inputs[i]];
    const std::string label = graph.inputs.size() == 1 ? "" : arguments[i] + " ";
    from.push_back(label + std::string(name_of(value.type.dtype)) + " " + shape_text(value.type.shape));
    if (has_moved(value)) read.push_back(label + moved_text(value));
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const convoy::Value& value = graph[graph.outputs[i]];
    to.push_back(std::string(name_of(value.type.dtype)) + " " + shape_text(value.type.shape));
    if (has_moved(value))
      gave.push_back((graph.outputs.size() == 1 ? "" : prose(output_name(graph, i)) + " ") + moved_text(value));
  }
  const auto list = [](const std::vector<std::string>& parts) {
    const std::string line = joined(parts);
    return line.size() <= 86 ? line : joined(parts, ",\n    ");
  };
  std::string text = "\"\"\"" + joined(from) + " -> " + joined(to) + ".";
  const std::string said = graph.source_format.substr(0, graph.source_format.find(' '));
  const std::string framework = said.empty() ? "The source" : prose(said);
  if (gave.empty() && !read.empty()) text += "  " + framework + " read " + joined(read) + ".";
  text += "\"\"\"";
  if (text.size() <= 96 && gave.empty()) return "    " + text + "\n\n";
  std::string lines = "    \"\"\"" + list(from) + "\n    -> " + list(to) + ".\n";
  if (!read.empty() || !gave.empty()) lines += "\n";
  if (!read.empty()) lines += "    " + framework + " read " + list(read) + ".\n";
  if (!gave.empty()) lines += "    " + framework + " gave " + list(gave) + ".\n";
  return lines + "    \"\"\"\n\n";
}

std::string dictionary_text(const std::vector<std::string>& keys, const std::vector<std::string>& values) {
  std::vector<std::string> entries;
  for (std::size_t i = 0; i < keys.size(); ++i) entries.push_back(python::quoted(keys[i]) + ": " + values[i]);
  return "{" + joined(entries) + "}";
}

std::vector<std::string> stored_inputs(const Graph& graph, std::string (*typed)(DType)) {
  std::vector<std::string> names, all;
  for (const ValueId v : graph.inputs) names.push_back(input_name(graph, v));
  names = stored_names(names);
  for (std::size_t i = 0; i < names.size(); ++i)
    all.push_back("stored[" + python::quoted(names.size() == 1 ? "input" : "input." + names[i]) + "]" +
                  typed(graph[graph.inputs[i]].type.dtype));
  return all;
}

std::string comparison_text(const Graph& graph, const std::string& module, const std::string& source,
                            const Comparing& words) {
  const bool one = graph.outputs.size() == 1;
  // Tensors of unlike shapes must not agree by broadcasting.
  const auto compare = [&](int margin, const std::string& wanted, const std::string& bound) {
    const std::string within_bound = "(difference <= stored[" + bound + "]).all())";
    return statement(margin, fmt::format(fmt::runtime(words.taken), wanted)) +
           statement(margin, "if y.shape != expected.shape:") +
           statement(margin + 4,
                     "sys.exit(f\"the answer has shape {list(y.shape)}, stored is {list(expected.shape)}\")") +
           statement(margin, "difference = " + words.difference) +
           statement(margin, "largest = " + (one ? words.largest : "max(largest, " + words.largest + ")")) +
           statement(margin, (one ? "agrees = bool(" : "agrees = agrees and bool(") + within_bound);
  };
  std::string text;
  if (graph.outputs_by_name && one)
    text += statement(4, words.answer + " = " + words.answers + "[" + python::quoted(output_name(graph, 0)) + "]");
  if (one) {
    text += compare(4, "\"output\"", "\"bound\"");
  } else {
    std::vector<std::string> outputs;
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) outputs.push_back(output_name(graph, i));
    outputs = stored_names(outputs);
    for (std::string& output : outputs) output = python::quoted(output);
    text += "    largest, agrees = 0.0, True\n";
    if (graph.outputs_by_name) text += statement(4, "for name, " + words.answer + " in answers.items():");
    else
      text += statement(4, "for name, " + words.answer + " in zip((" + joined(outputs) + "), answers, strict=True):");
    text += compare(8, "f\"output.{name}\"", "f\"bound.{name}\"");
  }
  text += "    if not agrees:\n";
  text +=
      statement(8, fmt::format("print(f\"{}: differs from {}, largest difference {{largest:.1e}}\", file=sys.stderr)",
                               module, source));
  text += "        return 1\n";
  text +=
      statement(4, fmt::format("print(f\"{}: agrees with {}, largest difference {{largest:.1e}}\")", module, source));
  return text + "    return 0\n";
}

std::string beside(const std::string& file, const std::string& module_name) {
  if (file.starts_with(module_name + "."))
    return "HERE.with_suffix(" + python::quoted(file.substr(module_name.size())) + ")";
  return "HERE.with_name(" + python::quoted(file) + ")";
}

}  // namespace convoy::python
