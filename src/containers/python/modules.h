// The parts of Python's library that compute on known values, one function per module.
#pragma once
#include "containers/python/interpreter.h"

namespace convoy::python {

// A function of a module that takes at least so many arguments by place.
void add_function(Interpreter& in, Module& to, const std::string& name, std::size_t least, NativeFunction run);

Module* math_module(Interpreter& in);
Module* numpy_module(Interpreter& in);
Module* functools_module(Interpreter& in);
Module* operator_module(Interpreter& in);
Module* itertools_module(Interpreter& in);

}  // namespace convoy::python
