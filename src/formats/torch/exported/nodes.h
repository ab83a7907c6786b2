// What one node of an exported program says about itself: which module called it, what it reads and what its results are called.
// Source: torch/_export/serde/schema.py, Node.
#pragma once
#include "containers/json.h"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace convoy::torch {

// A text, or a list, of an object; empty where there is none.
std::string text_member(const Json& object, std::string_view key);
const Json& list_member(const Json& object, std::string_view key);

// "conv1" and "Conv2d": where a module stands in the model, and its class.
struct Module {
  std::string path, type;
};
// Of the module that called the node, inside all others.
Module module_of(const Json& node);
// "layer1" and "layer1.0" of "layer1.0.conv1".
std::vector<std::string> outer_paths(const std::string& path);

// The name of the first tensor among the inputs.
std::string subject_of(const Json& node);
// Those of its first list of tensors.
std::vector<std::string> subjects_of(const Json& node);
// Those of all tensors among the inputs, alone and in lists.
std::vector<std::string> tensors_named_by(const Json& node);
// Names in order, of the outputs of a node or the inputs of a graph; a list of tensors counts one by one.
std::vector<std::string> names_in(const Json& tensors);

// Of torch.autocast(device, dtype, enabled, ...) and of torch.set_grad_enabled(enabled): whether it is enabled.
bool turns_on(const Json& node);

}  // namespace convoy::torch
