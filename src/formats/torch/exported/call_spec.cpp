#include "formats/torch/exported/call_spec.h"

#include "formats/torch/exported/nodes.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>

namespace convoy::torch {

namespace {

// [version, tree]
std::optional<Json> tree_in(const std::string& text) {
  auto document = parse_json(text);
  if (!document || !document->is_array() || document->size() != 2) return std::nullopt;
  return std::move((*document)[1]);
}

std::string type_of(const Json& tree) { return text_member(tree, "type"); }
const Json& children_of(const Json& tree) { return list_member(tree, "children_spec"); }
bool is_leaf(const Json& tree) { return tree.is_object() && type_of(tree).empty() && children_of(tree).empty(); }

// The keys of a dictionary of tensors.
std::vector<std::string> keys_of(const Json& tree) {
  const std::string type = type_of(tree);
  if (type != "builtins.dict" && type != "collections.OrderedDict") return {};
  const Json& children = children_of(tree);
  const auto keys = parse_json(text_member(tree, "context"));
  if (!keys || !keys->is_array() || keys->size() != children.size()) return {};
  std::vector<std::string> names;
  for (std::size_t i = 0; i < keys->size(); ++i) {
    if (!(*keys)[i].is_string() || !is_leaf(children[i])) return {};
    names.push_back((*keys)[i].get<std::string>());
  }
  return names;
}

// A call is a tuple of what is placed and what is named.
std::vector<std::string> keys_of_only_argument(const Json& call) {
  const Json& sides = children_of(call);
  if (sides.size() != 2 || children_of(sides[0]).size() != 1 || !children_of(sides[1]).empty()) return {};
  return keys_of(children_of(sides[0])[0]);
}

}  // namespace

CallSpec call_spec_of(const Json& signature) {
  CallSpec spec;
  if (const auto taken = tree_in(text_member(signature, "in_spec"))) spec.keys_taken = keys_of_only_argument(*taken);
  const auto given = tree_in(text_member(signature, "out_spec"));
  if (!given) return spec;
  spec.keys_given = keys_of(*given);
  spec.gives_sequence = type_of(*given) == "builtins.tuple" || type_of(*given) == "builtins.list";
  spec.gives_nested = std::ranges::any_of(children_of(*given), [](const Json& one) { return !is_leaf(one); });
  return spec;
}

std::string nested_outputs(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return "the model gives outputs within outputs; a port gives them one behind the other: " + all;
}

}  // namespace convoy::torch
