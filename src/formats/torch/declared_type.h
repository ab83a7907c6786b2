// Numbers in the element type that a tensor of PyTorch's holds them in.
#pragma once
#include "convoy/tensor.h"

namespace convoy::torch {

// As PyTorch casts: what is whole takes the whole part, its lowest bytes; a truth is what is not 0. Kernels answer in
// float32 or int64, and so their numbers become themselves again.
Tensor as_declared(const Tensor& tensor, DType dtype);

}  // namespace convoy::torch
