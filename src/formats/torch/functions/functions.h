// PyTorch's functions, torch.nn.functional.NAME, and its layers, torch.nn.NAME in eval mode, by family: how each
// argument is read, and what PyTorch refuses. A layer's row reads the arguments of its constructor; its input, weight,
// bias, running_mean and running_var come as tensors.
#pragma once
#include "formats/function.h"

namespace convoy::torch {

// All of them.
std::span<const FunctionRow> functions();

}  // namespace convoy::torch
