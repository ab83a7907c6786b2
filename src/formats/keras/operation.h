// The arguments of keras.ops nodes.
#pragma once
#include "formats/keras/call.h"

namespace convoy::keras {

// The argument of this name, wherever it stands; null pointer when absent or null. Positions count as in Python.
const Json* option(Call& call, std::string_view name, std::size_t place);
constexpr std::size_t nowhere = 1000;  // an argument that is never given by place

// A tensor, a number, or an array written into the config.
ValueId operand(Call& call, std::string_view name, std::size_t place);

// The entries of a list of them.
Values operands(Call& call, std::string_view name, std::size_t place);

// Whole numbers; one number is a list of one.
Sizes list_of(Call& call, const Json* value, std::string_view name);

ValueId whole_constant(Call& call, std::string_view name, std::int64_t value, DType dtype);

}  // namespace convoy::keras
