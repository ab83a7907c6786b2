// The rows of all families together.
#include "formats/tf/catalogue/catalogue.h"

#include "formats/tf/functions.h"
#include "formats/tf/tf.h"

#include <map>

namespace convoy::tf {
namespace {

const std::map<std::string_view, Operator>& by_name() {
  static const auto all = [] {
    std::map<std::string_view, Operator> rows;
    for (const auto family :
         {convolution_operators(), pooling_operators(), padding_operators(), resize_operators(), reshape_operators(),
          slice_concat_operators(), normalization_operators(), activation_operators(), elementwise_operators(),
          reduction_operators(), linear_operators()})
      for (Operator row : family) {
        if (!row.read) row.read = row_of(functions(), row.function)->read;
        rows.emplace(row.name, row);
      }
    return rows;
  }();
  return all;
}

}  // namespace

const Operator* operator_named(std::string_view name) {
  const auto found = by_name().find(name);
  return found == by_name().end() ? nullptr : &found->second;
}

std::span<const FunctionRow> rows() {
  static const auto all = [] {
    std::vector<FunctionRow> rows;
    for (const auto& [name, row] : by_name()) rows.push_back({name, row.inputs, row.read});
    return rows;
  }();
  return all;
}

std::vector<std::string_view> graph_operators() {
  std::vector<std::string_view> names;
  for (const auto& [name, row] : by_name()) names.push_back(name);
  return names;
}

}  // namespace convoy::tf
