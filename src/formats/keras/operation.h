// The arguments of keras.ops nodes.
#pragma once
#include "formats/keras/call.h"
#include "formats/numbers.h"

namespace convoy::keras {

// The argument of this name, wherever it stands; null pointer when absent or null. Positions count as in Python.
const Json* option(Call& call, std::string_view name, std::size_t place);
// Whether the program says None for it.
bool is_said_none(Call& call, std::string_view name, std::size_t place);
constexpr std::size_t nowhere = 1000;  // an argument that is never given by place

// A tensor, a number, or an array written into the config.
ValueId operand(Call& call, std::string_view name, std::size_t place);

// The entries of a list of them.
Values operands(Call& call, std::string_view name, std::size_t place);

// Whole numbers; one number is a list of one.
Sizes list_of(Call& call, const Json* value, std::string_view name);

// Whether a list of sizes has some that are known only when the model runs, which programs that are followed say:
// {"class_name": "__size__", "config": {"tensor", "axis", "times", "added"}}, or without a config: worked out of several.
bool holds_free_size(const Json* value);
// Such a list. Null is the size of x at the same place.
Numbers sizes_in(Call& call, const Json* value, std::string_view name, ValueId x);
// x repeated as often as free sizes say along axes of size 1.
ValueId stretched(Call& call, ValueId x, const Numbers& shape);
// x under a new shape.
ValueId reshaped(Call& call, ValueId x, const Numbers& shape);
// The first cells of x along the axis, as many as a size that is free says.
ValueId first_cells(Call& call, ValueId x, Size axis, const Number& count);

ValueId whole_constant(Call& call, std::string_view name, std::int64_t value, DType dtype);

}  // namespace convoy::keras
