// Numbers that kernels worked out, in the element type that the operator gives.
#pragma once
#include "convoy/tensor.h"

namespace convoy::torch {

// Kernels answer in float32 or int64; truths, narrower whole numbers and the other floating types become
// themselves again.
Tensor as_declared(const Tensor& tensor, DType dtype);

}  // namespace convoy::torch
