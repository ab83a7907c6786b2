// The module stack is text: path and class of each module, the innermost last.
#include "formats/torch/exported/nodes.h"

#include "formats/torch/exported/archive.h"

namespace convoy::torch {
namespace {

std::string stack_of(const Json& node) {
  const Json* metadata = member(node, "metadata");
  return metadata ? text_member(*metadata, "nn_module_stack") : std::string();
}

// "conv1" and "torch.nn.modules.conv.Conv2d" of "L__self__,,Net;L__self__conv1,conv1,torch.nn.modules.conv.Conv2d".
Module innermost(const std::string& stack) {
  const std::string last = stack.substr(stack.rfind(';') + 1);
  const auto first = last.find(','), second = last.find(',', first + 1);
  if (first == std::string::npos || second == std::string::npos) return {};
  const std::string type = last.substr(second + 1);
  return {last.substr(first + 1, second - first - 1), type.substr(type.rfind('.') + 1)};
}

}  // namespace

std::string text_member(const Json& object, std::string_view key) {
  const Json* found = member(object, key);
  return found && found->is_string() ? found->get<std::string>() : std::string();
}

const Json& list_member(const Json& object, std::string_view key) {
  static const Json none = Json::array();
  const Json* found = member(object, key);
  return found && found->is_array() ? *found : none;
}

Module module_of(const Json& node) { return innermost(stack_of(node)); }

std::vector<std::string> outer_paths(const std::string& path) {
  std::vector<std::string> all;
  for (std::size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1))
    all.push_back(path.substr(0, dot));
  return all;
}

std::string subject_of(const Json& node) {
  for (const Json& input : list_member(node, "inputs"))
    if (const Json* argument = member(input, "arg"))
      if (const Json* tensor = member(*argument, "as_tensor")) return text_member(*tensor, "name");
  return {};
}

std::vector<std::string> subjects_of(const Json& node) {
  std::vector<std::string> names;
  for (const Json& input : list_member(node, "inputs"))
    if (const Json* argument = member(input, "arg"); argument && member(*argument, "as_tensors")) {
      for (const Json& one : list_member(*argument, "as_tensors")) names.push_back(text_member(one, "name"));
      break;
    }
  return names;
}

std::vector<std::string> tensors_named_by(const Json& node) {
  std::vector<std::string> names;
  for (const Json& input : list_member(node, "inputs")) {
    const Json* argument = member(input, "arg");
    if (!argument) continue;
    if (const Json* one = member(*argument, "as_tensor")) names.push_back(text_member(*one, "name"));
    for (const Json& one : list_member(*argument, "as_tensors")) names.push_back(text_member(one, "name"));
    for (const Json& one : list_member(*argument, "as_optional_tensors"))
      if (const Json* given = member(one, "as_tensor")) names.push_back(text_member(*given, "name"));
  }
  return names;
}

std::vector<std::string> names_in(const Json& tensors) {
  std::vector<std::string> names;
  for (const Json& output : tensors) {
    if (const Json* one = member(output, "as_tensor")) names.push_back(text_member(*one, "name"));
    else if (member(output, "as_tensors"))
      for (const Json& each : list_member(output, "as_tensors")) names.push_back(text_member(each, "name"));
    else names.emplace_back();
  }
  return names;
}

bool turns_on(const Json& node) {
  for (const Json& input : list_member(node, "inputs"))
    if (const Json* argument = member(input, "arg"))
      if (const Json* enabled = member(*argument, "as_bool")) return *enabled != false;
  return true;
}

}  // namespace convoy::torch
