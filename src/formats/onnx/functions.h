// ONNX's operators, one row each, by family: how attributes and inputs are read in the model's opset, and what the
// standard or its runtime refuses. An attribute that an opset does not know is refused by its name.
// Sources: onnx/defs of opsets 7 to 28; ONNX Runtime 1.30 where the standard leaves something open.
#pragma once
#include "formats/function.h"

namespace convoy::onnx {

// The opsets that are understood. Operators are the same between the versions that the rows name.
inline constexpr Size oldest_read = 7, newest_read = 28;

std::span<const FunctionRow> convolution_functions();
std::span<const FunctionRow> pooling_functions();
std::span<const FunctionRow> padding_functions();
std::span<const FunctionRow> resize_functions();
std::span<const FunctionRow> reshape_functions();
std::span<const FunctionRow> slice_concat_functions();
std::span<const FunctionRow> scatter_functions();
std::span<const FunctionRow> normalization_functions();
std::span<const FunctionRow> activation_functions();
std::span<const FunctionRow> elementwise_functions();
std::span<const FunctionRow> reduction_functions();
std::span<const FunctionRow> linear_functions();
std::span<const FunctionRow> recurrent_functions();

// All of them. A row's parameters are its tensors, in the order of the operator's inputs.
std::span<const FunctionRow> functions();

}  // namespace convoy::onnx
