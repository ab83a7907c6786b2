// The one table of PyTorch's functions.
#include "formats/torch/functions/functions.h"

#include "formats/torch/catalogue/catalogue.h"

namespace convoy::torch {

std::span<const FunctionRow> functions() { return catalogued_functions(); }

}  // namespace convoy::torch
