// Operators of torch.ops.quantized_decomposed, in which exported programs that were quantised round to whole numbers and widen them.
#pragma once
#include "formats/function.h"

#include <string_view>

namespace convoy::torch {

// Who reads "quantize_per_tensor.default". Null: nobody.
const FunctionRow* quantized_decomposed_row(std::string_view overload);

}  // namespace convoy::torch
