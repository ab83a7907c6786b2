// Numbers that an exported program computes of its free sizes, as the model counts them.
#pragma once
#include "formats/function.h"
#include "formats/torch/exported/arguments.h"

#include <string>

namespace convoy::torch {

// What `expression` is: of whole numbers int64, where it divides or takes roots float32. Refuses a function that no operator of tensors
// computes, and a size that is no input's.
ValueId number_of(FunctionCall& call, const Symbols& symbols, const std::string& expression);

}  // namespace convoy::torch
