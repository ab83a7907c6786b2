// The signatures of ATen's operators. TorchScript calls them by name and place; which overload is meant, the arguments say.
#pragma once
#include "formats/torch/catalogue/catalogue.h"

#include <span>
#include <string_view>
#include <vector>

namespace convoy::torch {

std::span<const Schema> all_schemas();
// The overloads of one operator; none: it is not known here.
std::span<const Schema> schemas_named(std::string_view name);

}  // namespace convoy::torch
