// Which element types ONNX's operators take, and which of them ONNX Runtime has kernels for.
#pragma once
#include "convoy/tensor.h"

#include <string_view>

namespace convoy::onnx {

// The operator set since which it takes bfloat16; 0: none so far. Source: the type constraints of onnx 1.23's schemas.
Size takes_bfloat_since(std::string_view op);
// Whether ONNX Runtime's processor has a kernel of float64 for it. Source: its own list, get_all_opkernel_def of 1.30.
bool has_kernel_of_doubles(std::string_view op);

}  // namespace convoy::onnx
