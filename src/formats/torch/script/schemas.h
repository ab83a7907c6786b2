// The signatures of ATen's operators. TorchScript calls them by name and place; which overload is meant, the arguments say.
#pragma once
#include <span>
#include <string_view>
#include <vector>

namespace convoy::torch {

// `parameters`: "name:kind" in order, "?" behind what may be None, "=" behind what has a default, and "*" in front of those
// that are given by name. Kinds: T tensor, L list of tensors, i and I whole numbers, f and F numbers, n either number,
// b truth, s text, t element type, d device, layout or the like, which says nothing about the numbers.
// `results`: T, TT, TTT, or L for a list.
struct Schema {
  std::string_view name, overload, parameters, results;
};

struct SchemaParameter {
  std::string_view name;  // as the rows take it: "self" is "input"
  char kind = 'T';
  bool optional = false, has_default = false, by_name_only = false;
};

std::span<const Schema> all_schemas();
// The overloads of one operator; none: it is not known here.
std::span<const Schema> schemas_named(std::string_view name);
std::vector<SchemaParameter> parameters_of(const Schema& schema);

}  // namespace convoy::torch
