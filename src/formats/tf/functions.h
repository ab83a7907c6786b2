// TensorFlow's functions, tf.NAME, by family: how each argument is read, and what TensorFlow refuses. Names are written
// without the "tf." in front: "nn.conv2d", "image.resize", "pad".
#pragma once
#include "formats/function.h"

namespace convoy::tf {

std::span<const FunctionRow> convolution_functions();
std::span<const FunctionRow> conv_transpose_functions();
std::span<const FunctionRow> pooling_functions();
std::span<const FunctionRow> pad_functions();
std::span<const FunctionRow> resize_functions();
std::span<const FunctionRow> reshape_functions();
std::span<const FunctionRow> normalization_functions();
std::span<const FunctionRow> activation_functions();

// All of them.
std::span<const FunctionRow> functions();

}  // namespace convoy::tf
