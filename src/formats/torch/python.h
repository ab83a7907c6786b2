// The words of Python text, as the writers of a module use them.
#pragma once
#include "convoy/tensor.h"
#include "formats/python.h"

#include <string>

namespace convoy::torch {

using python::Binds;
using python::bound;
using python::class_name;
using python::Expression;
using python::identifier;
using python::joined;
using python::number;
using python::number_of_float;
using python::postfix;
using python::prose;
using python::quoted;
using python::statement;
using python::tuple;
using python::tuple_or_one;

inline std::string dtype(DType dtype) { return "torch." + std::string(name_of(dtype)); }  // "torch.float32"

}  // namespace convoy::torch
