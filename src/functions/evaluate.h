// Calls a function of a framework's table on arrays: one graph of one call, run by the plain kernels.
#pragma once
#include "convoy/arguments.h"
#include "formats/function.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace convoy {

struct ArrayArgument {
  std::string_view name;
  const View* array = nullptr;  // null: absent
};

// The graph of one call: the first array is its input, the others are constants.
struct OneCall {
  Graph graph;
  std::vector<Tensor> inputs;
};
// Fails: as the row does, with the function's name as place.
Result<OneCall> one_call(std::span<const FunctionRow> rows, const std::string& function,
                         const std::vector<ArrayArgument>& arrays, const Json& arguments, CallSetting setting = {});
Result<std::vector<Tensor>> evaluate(std::span<const FunctionRow> rows, const std::string& function,
                                     const std::vector<ArrayArgument>& arrays, const Json& arguments,
                                     CallSetting setting = {});
// Of a function with one result.
Result<Tensor> evaluate_one(std::span<const FunctionRow> rows, const std::string& function,
                            const std::vector<ArrayArgument>& arrays, const Json& arguments, CallSetting setting = {});

Json json_of(const PerAxis& numbers);

}  // namespace convoy
