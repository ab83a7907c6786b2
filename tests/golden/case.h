// One golden case: a small call of a framework with its inputs and what the framework answered, as a line of JSON.
#pragma once
#include "containers/json.h"
#include "convoy/tensor.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convoy::golden {

// A tensor and the names of its axes: "NHWC", "WIO".
struct Array {
  Tensor tensor;
  std::string layout;
};

struct Step {
  std::string layer;
  Array output;
};

struct Case {
  std::string id, framework, call, op;
  Size rank = 0;
  Json attrs;
  std::vector<std::pair<std::string, Array>> inputs;  // in the order of the file
  std::optional<std::string> error;                   // the framework refuses the call
  std::optional<Array> want;                          // `expected` where the framework is known to be wrong
  std::optional<Array> indices;                       // positions of maxima, in the framework's own numbering
  std::string equals;                                 // the case with the same answer up to moved channels
  std::string differs_from;
  double mean_absolute_difference = 0;
  std::vector<Step> steps;                            // layer by layer

  const Array* input(std::string_view name) const;
  bool exact() const;                                 // to be met bit for bit: whole numbers, or numbers only moved
};

// Fails: a line that is no golden case, saying which field is wrong.
Result<Case> parse_case(std::string_view line);

}  // namespace convoy::golden
