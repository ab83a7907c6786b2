// Numbers that a program holds outside of Keras's layers, among the layers of its model: weights of layers that it wrote
// itself, and arrays that it made of known numbers.
#pragma once
#include "formats/keras/call.h"
#include "formats/keras/initial.h"

namespace convoy::keras {

// Its config is {"shape", "dtype", "numbers"}, the numbers one behind another.
constexpr const char* source_constant = "$constant";

// Nothing: the layer is neither.
Result<std::optional<ValueId>> source_value(Builder& builder, const Layer& layer, const std::string& full_name,
                                            const Location& location);

}  // namespace convoy::keras
