// Calls PyTorch's functions by the rows that read PyTorch's files and text.
#pragma once
#include "convoy/torch.h"
#include "functions/evaluate.h"

#include <string>
#include <vector>

namespace convoy::torch {

using convoy::json_of;

Result<Tensor> call_one(const std::string& name, const std::vector<ArrayArgument>& arrays,
                        const Json& arguments = Json::object());
// Of a function that was asked for positions, too.
Result<WithIndices> call_two(const std::string& name, const std::vector<ArrayArgument>& arrays, Json arguments);

}  // namespace convoy::torch
