// Arrays of known numbers in other shapes: NumPy's reshape, tile, meshgrid and their like.
#pragma once
#include "containers/python/modules.h"
#include "containers/python/vector.h"

namespace convoy::python {

// Numbers in order, the last axis the quickest, as an array; without axes: the number.
Result<Value> nested(Interpreter& in, ValueList numbers, Sizes shape, std::string element_type);
// Fails: what is no array of numbers.
Result<std::pair<ValueList, Sizes>> numbers_and_shape(Interpreter& in, const Value& array);
// A size, or a list of sizes. Fails: what is no whole number from 0 on.
Result<Sizes> whole_sizes(const Value& given, std::string_view function);
// Where the cells of an array of one shape lie that is stretched to another. Fails: it does not fit.
Result<Sizes> stretched_places(const Sizes& from, const Sizes& to);

// flatten, ravel, reshape, transpose, squeeze and repeat as methods. Nothing: another word.
std::optional<Value> shape_method(Interpreter& in, Vector& array, const std::string& name);
// The same as functions, with expand_dims, tile, stack, concatenate and meshgrid.
void add_shape_functions(Interpreter& in, Module& numpy);

// zeros, full, eye, linspace, arange, array and their like.
void add_array_makers(Interpreter& in, Module& numpy);

}  // namespace convoy::python
