// One row of edge semantics: a small model in a framework's own form, its inputs, and what the framework answered.
#pragma once
#include "graph/graph.h"

#include <optional>
#include <string>
#include <vector>

namespace convoy::semantics {

struct Array {
  DType dtype = DType::F32;  // as the framework says it; whole numbers lie in `tensor` as int64
  Tensor tensor;
};

struct Row {
  std::string id, framework, model;
  bool exact = false;              // to be met number by number; otherwise up to rounding
  bool signs = false;              // the sign of a zero as well
  std::vector<Array> inputs, outputs;
  std::optional<std::string> error;  // the framework refuses
};

// Fails: a line that is no row, saying which field is wrong.
Result<Row> parse_row(std::string_view line);

// The row's model as the framework's reader here understands it.
Result<Graph> read_model_of(const Row& row);

// What is wrong with the answer; nothing where it is the framework's.
std::optional<std::string> difference(const Row& row, const Tensor& got, const Array& want);

}  // namespace convoy::semantics
