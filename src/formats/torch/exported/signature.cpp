// Inputs, outputs and conditions of an exported program. Source: torch/_export/serde/schema.py, GraphSignature.
#include "formats/torch/exported/signature.h"

#include "formats/torch/declared_type.h"
#include "formats/torch/exported/call_spec.h"
#include "formats/torch/exported/nodes.h"
#include "graph/size_condition.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace convoy::torch {
namespace {

// The name of {"arg": {"as_tensor": {"name": ...}}} or of {"arg": {"name": ...}}.
std::string argument_name(const Json& spec) {
  const Json* argument = member(spec, "arg");
  if (!argument) return {};
  if (const Json* tensor = member(*argument, "as_tensor")) argument = tensor;
  return text_member(*argument, "name");
}

// What is no tensor was read while the program was followed, and has no part in it: None, a word, a number.
void tell_of_constant(ExportedBuilder& builder, const Json& spec) {
  const Json* value = member(spec, "value");
  if (!value || member(*value, "as_none")) return;
  builder.remark("input '" + text_member(spec, "name") +
                 "' is no tensor: the program does what it was exported with, and takes no other");
}

// torch.export makes numbers of sizes that are not declared dynamic.
bool changes_known_size(const Shape& exported, const Shape& read) {
  for (std::size_t i = 0; i < std::min(exported.size(), read.size()); ++i)
    if (exported[i].known() && exported[i] != read[i]) return true;
  return false;
}

// A program that asked for its sizes was followed one way: only where they lie as they did then.
void tell_of_range(ExportedBuilder& builder, const std::string& input, std::size_t axis, std::string_view expression,
                   Dim size) {
  constexpr std::string_view symbol = "Symbol('";
  if (!expression.starts_with(symbol)) return;
  expression.remove_prefix(symbol.size());
  const Json* ranges = member(builder.archive.program, "range_constraints");
  const Json* range = ranges ? member(*ranges, expression.substr(0, expression.find('\''))) : nullptr;
  const auto bound = [&](const char* key) -> std::optional<Size> {
    const Json* number = range ? member(*range, key) : nullptr;
    if (!number || !number->is_number_integer()) return std::nullopt;
    return number->get<Size>();
  };
  constexpr Size usual = 2;  // what torch.export says of every free size
  const Size least = std::max(usual, bound("min_val").value_or(usual));
  const auto most = bound("max_val");
  if (least > usual) builder.symbols.set_least(std::string(expression.substr(0, expression.find('\''))), least);
  const std::string named = input + ".shape[" + std::to_string(axis) + "]";
  if (least > usual) builder.graph.conditions.push_back(named + " >= " + std::to_string(least));
  if (most) builder.graph.conditions.push_back(named + " <= " + std::to_string(*most));
  if (least == usual && !most) return;
  if (size.known() && *size >= least && (!most || *size <= *most)) return;
  builder.remark("input '" + input + "' was exported for sizes of " + std::to_string(least) +
                 (most ? " to " + std::to_string(*most) : " and more") + " along axis " + std::to_string(axis) +
                 ": at others the program may go another way, which is not in the file");
}

// A bound of a size by a number is a range, too; small numbers beside what sizes become are PyTorch's own questions, whether windows
// fit and how numbers lie. "L['x'].size()[0] != 3" and "6*L['x'].size()[0] > 20" are decisions that the program made.
bool is_asked_anyway(std::string_view condition) {
  const std::size_t last = condition.find_last_of(' ');
  if (last == std::string_view::npos || last + 1 == condition.size()) return false;
  const std::string_view number = condition.substr(last + 1), left = condition.substr(0, condition.find(' '));
  if (number.find_first_not_of("0123456789") != std::string_view::npos) return false;
  if (condition.find('%') != std::string_view::npos || condition.find("==") != std::string_view::npos) return false;
  if (condition.find("!=") != std::string_view::npos) return number == "0" || number == "1";
  const bool is_size = left.ends_with(']') && left.find('*') == std::string_view::npos && left.size() + 4 >= last;
  return is_size || number == "0" || number == "1" || number == "2";
}

// "x.shape[0] == y.shape[0]", which inputs that come together do.
bool asks_for_one_batch(std::string_view text) {
  constexpr std::string_view batch = ".shape[0]", equal = " == ";
  const auto is_batch = [&](std::string_view side) {
    return side.ends_with(batch) && side.find(batch) == side.size() - batch.size() &&
           side.find_first_of(" ()") == std::string_view::npos;
  };
  const std::size_t middle = text.find(equal);
  return middle != std::string_view::npos && is_batch(text.substr(0, middle)) &&
         is_batch(text.substr(middle + equal.size()));
}

Status user_input(ExportedBuilder& builder, const Json& spec, std::size_t inputs) {
  const std::string name = argument_name(spec);
  if (name.empty()) return fail(Fault::Unsupported, "takes an input that is no tensor");
  auto type = builder.declared(name);
  if (!type) return within("input '" + name + "'", Status(std::unexpected(type.error())));
  const Shape exported = type->shape;
  if (const Shape* given = builder.options.shape_of(name, inputs)) {
    type->shape = *given;
  } else if (!builder.options.size.empty() && type->rank() == static_cast<Size>(builder.options.size.size()) + 2) {
    for (std::size_t i = 0; i < builder.options.size.size(); ++i)
      type->shape[i + 2] = builder.options.size[i] ? Dim(*builder.options.size[i]) : Dim::unknown();
  }
  const bool resized = changes_known_size(exported, type->shape);
  builder.is_resized = builder.is_resized || resized;
  if (resized)
    builder.remark("input '" + name + "' was exported as " + text_of(exported) + " and is read as " +
                   text_of(type->shape) +
                   ": what the program made of its own sizes stays as it was; export it with "
                   "dynamic_shapes to be sure");
  const ValueId input = builder.graph.input(name, *type);
  builder.tensors[name] = input;
  const auto sizes = Symbols::sizes_of(builder.meta_of(name));
  for (std::size_t axis = 0; axis < std::min(sizes.size(), type->shape.size()); ++axis)
    tell_of_range(builder, name, axis, sizes[axis].expression, type->shape[axis]);
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    if (sizes[axis].known) continue;
    builder.symbols.add_owner(sizes[axis].expression, {input, static_cast<Size>(axis)});
    if (axis < type->shape.size() && type->shape[axis].known())
      builder.symbols.set(sizes[axis].expression, *type->shape[axis]);
  }
  return {};
}

// A frozen parameter stays a weight of its layer, which nothing is computed of beforehand.
Status weight(ExportedBuilder& builder, const Json& spec, std::string_view key,
              const std::map<std::string, Tensor>& from, bool parameter) {
  const std::string name = argument_name(spec), known_as = text_member(spec, key);
  const auto found = from.find(known_as);
  if (name.empty() || found == from.end()) return fail(Fault::Format, "'" + known_as + "' is not in the archive");
  auto& made = builder.weights[known_as];
  if (!made) {
    made = builder.graph.constant(known_as, found->second, parameter && !builder.archive.frozen.contains(known_as));
    builder.allowance.add(found->second.count());
    builder.graph[made].literal = key == "tensor_constant_name";
  }
  builder.tensors[name] = made;
  if (parameter) builder.parameters.insert(made);
  return {};
}

Status buffer(ExportedBuilder& builder, const Json& spec) {
  const std::string name = text_member(spec, "buffer_name");
  return weight(builder, spec, "buffer_name",
                builder.archive.weights.contains(name) ? builder.archive.weights : builder.archive.constants, false);
}

}  // namespace

Status read_signature_inputs(ExportedBuilder& builder, const Json& signature) {
  const auto& specs = list_member(signature, "input_specs");
  const auto of_user = static_cast<std::size_t>(std::ranges::count_if(specs, [](const Json& spec) {
    const auto said = union_of(spec);
    return said && said->key == "user_input";
  }));
  for (const Json& spec : specs) {
    const auto said = union_of(spec);
    if (!said) return std::unexpected(said.error());
    Status added;
    if (said->key == "user_input") added = user_input(builder, *said->value, of_user);
    else if (said->key == "parameter")
      added = weight(builder, *said->value, "parameter_name", builder.archive.weights, true);
    else if (said->key == "buffer") added = buffer(builder, *said->value);
    else if (said->key == "tensor_constant")
      added = weight(builder, *said->value, "tensor_constant_name", builder.archive.constants, false);
    else if (said->key == "constant_input") tell_of_constant(builder, *said->value);
    else
      return fail(Fault::Unsupported, "takes an input of kind '" + std::string(said->key) + "', which is not carried");
    if (!added) return added;
  }
  return {};
}

Status read_guards(ExportedBuilder& builder) {
  for (const Json& guard : list_member(builder.archive.program, "guards_code")) {
    if (!guard.is_string()) continue;
    std::string text = guard.get<std::string>();
    if (is_asked_anyway(text)) continue;
    constexpr std::string_view begins = "L['", ends = "']", size = ".size()";
    for (std::size_t at = text.find(begins); at != std::string::npos; at = text.find(begins, at)) {
      text.erase(at, begins.size());
      if (const std::size_t end = text.find(ends, at); end != std::string::npos) text.erase(end, ends.size());
    }
    for (std::size_t at = text.find(size); at != std::string::npos; at = text.find(size, at))
      text.replace(at, size.size(), ".shape");
    if (!asks_for_one_batch(text))
      builder.remark("was exported where " + text +
                     ": at other sizes the program goes another way, which is not in the file");
    builder.graph.conditions.push_back(std::move(text));
  }
  std::vector<Shape> shapes;
  for (const ValueId v : builder.graph.inputs) shapes.push_back(builder.graph[v].type.shape);
  return expect_conditions(builder.graph, shapes);
}

Status read_signature_outputs(ExportedBuilder& builder, const Json& signature) {
  for (const Json& spec : list_member(signature, "output_specs")) {
    const auto said = union_of(spec);
    if (!said) return std::unexpected(said.error());
    if (said->key == "buffer_mutation") return fail(Fault::Unsupported, std::string(exported_in_training));
    if (said->key != "user_output")
      return fail(Fault::Unsupported, "has an output of kind '" + std::string(said->key) + "', which is not carried");
    const std::string name = argument_name(*said->value);
    const auto found = builder.tensors.find(name);
    if (const Json* given = member(*said->value, "arg"); given && member(*given, "as_none")) {
      builder.remark("gives None among its outputs, which no graph gives: it is left out");
      continue;
    }
    if (found == builder.tensors.end()) return fail(Fault::Unsupported, "has an output that is no tensor");
    if (!found->second) return fail(Fault::Unsupported, "has an output '" + name + "' that is not carried");
    builder.graph.outputs.push_back(found->second);
    builder.graph.output_names.push_back(name);
  }
  if (builder.graph.outputs.empty()) return fail(Fault::Format, "has no outputs");
  return {};
}

void read_call_spec(ExportedBuilder& builder, const Json& module) {
  const Json& calls = list_member(module, "module_call_graph");
  const Json* whole = calls.empty() ? nullptr : member(calls[0], "signature");
  if (!whole) return;
  const CallSpec spec = call_spec_of(*whole);
  builder.graph.one_output_in_tuple = builder.graph.outputs.size() == 1 && spec.gives_sequence;
  if (!spec.keys_given.empty() && spec.keys_given.size() == builder.graph.outputs.size()) {
    builder.graph.outputs_by_name = true;
    builder.graph.output_names = spec.keys_given;
  }
  if (spec.gives_nested) builder.remark(nested_outputs(builder.graph.output_names));
  if (spec.keys_taken.empty() || spec.keys_taken.size() != builder.graph.inputs.size()) return;
  builder.graph.inputs_by_name = true;
  for (std::size_t i = 0; i < spec.keys_taken.size(); ++i)
    builder.graph.rename(builder.graph.inputs[i], spec.keys_taken[i]);
}

}  // namespace convoy::torch
