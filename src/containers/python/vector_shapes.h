// Arrays of known numbers in other shapes: NumPy's reshape, tile, meshgrid and their like.
#pragma once
#include "containers/python/modules.h"
#include "containers/python/vector.h"

namespace convoy::python {

// flatten, ravel, reshape, transpose, squeeze and repeat as methods. Nothing: another word.
std::optional<Value> shape_method(Interpreter& in, Vector& array, const std::string& name);
// The same as functions, with expand_dims, tile, stack, concatenate and meshgrid.
void add_shape_functions(Interpreter& in, Module& numpy);

}  // namespace convoy::python
