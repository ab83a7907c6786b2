// TFLite's builtin operators by family, in the words of its schema: which tensors they take, in the file's order, and how
// their options are read. Arrays are NHWC; kernels lie as the file holds them.
#pragma once
#include "formats/function.h"

namespace convoy::tflite {

std::span<const FunctionRow> convolution_operators();
std::span<const FunctionRow> pooling_operators();
std::span<const FunctionRow> pad_operators();
std::span<const FunctionRow> resize_operators();
std::span<const FunctionRow> reshape_operators();

// All of them.
std::span<const FunctionRow> operators();

}  // namespace convoy::tflite
