// The parts of Python's library that compute on known values, one function per module.
#pragma once
#include "containers/python/interpreter.h"

namespace convoy::python {

// A function of a module that takes at least so many arguments by place.
void add_function(Interpreter& in, Module& to, const std::string& name, std::size_t least, NativeFunction run);

// Lists, dictionaries and objects anew, with all that is in them, each once; what cannot change is shared.
Result<Value> deep_copy(Interpreter& in, const Value& of);

// collections.namedtuple(name, fields, defaults=...), and typing.NamedTuple, from which a class with fields derives.
Result<Value> named_tuple(Interpreter& in, Arguments& given);
Class* named_tuple_base(Interpreter& in);
// The attribute of such a class that holds its constructor's defaults; no program can name it.
constexpr const char* fields_of_tuple = "$new";

Module* math_module(Interpreter& in);
Module* numpy_module(Interpreter& in);
Module* functools_module(Interpreter& in);
Module* operator_module(Interpreter& in);
Module* itertools_module(Interpreter& in);
Module* dataclasses_module(Interpreter& in);
Module* enum_module(Interpreter& in);
Module* inspect_module(Interpreter& in);
Module* regex_module(Interpreter& in);

}  // namespace convoy::python
