// The rows of all families together.
#include "formats/tflite/catalogue/catalogue.h"

#include <algorithm>
#include <map>

namespace convoy::tflite {

std::span<const Operator> all_operators() {
  static const std::vector<Operator> all = [] {
    std::vector<Operator> rows;
    for (const auto family : {convolution_operators(), pooling_operators(), pad_operators(), resize_operators(),
                              reshape_operators(), activation_operators(), elementwise_operators(),
                              reduction_operators(), linear_operators(), slice_operators()})
      rows.insert(rows.end(), family.begin(), family.end());
    return rows;
  }();
  return all;
}

const Operator* operator_of(int code) {
  static const auto by_code = [] {
    std::map<int, const Operator*> all;
    for (const Operator& row : all_operators()) all.emplace(row.code, &row);
    return all;
  }();
  const auto found = by_code.find(code);
  return found == by_code.end() ? nullptr : found->second;
}

const Operator* operator_named(std::string_view name) {
  const auto found = std::ranges::find(all_operators(), name, &Operator::name);
  return found == all_operators().end() ? nullptr : &*found;
}

std::span<const FunctionRow> functions() {
  static const std::vector<FunctionRow> all = [] {
    std::vector<FunctionRow> rows;
    for (const Operator& row : all_operators())
      if (row.read) rows.push_back({row.name, row.inputs, row.read});
    return rows;
  }();
  return all;
}

}  // namespace convoy::tflite
