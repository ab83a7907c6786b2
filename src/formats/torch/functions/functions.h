// PyTorch's functions, torch.nn.functional.NAME, by family: how each argument is read, and what PyTorch refuses.
#pragma once
#include "formats/function.h"

namespace convoy::torch {

std::span<const FunctionRow> convolution_functions();

// All of them.
std::span<const FunctionRow> functions();

}  // namespace convoy::torch
