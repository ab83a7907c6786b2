// The rows of truth: comparisons, logic, choices.
#pragma once
#include "formats/function.h"

namespace convoy::onnx {

std::span<const FunctionRow> comparison_functions();

}  // namespace convoy::onnx
