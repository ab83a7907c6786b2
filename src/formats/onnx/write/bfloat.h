// Since which operator set ONNX's operators take bfloat16. Source: the type constraints of onnx 1.23's schemas.
#pragma once
#include "convoy/tensor.h"

#include <string_view>

namespace convoy::onnx {

// 0: none so far.
Size takes_bfloat_since(std::string_view op);

}  // namespace convoy::onnx
