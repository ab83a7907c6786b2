// The interpreter's words for what a program holds, as everything says them that follows PyTorch programs.
#pragma once
#include "containers/python/interpreter.h"

namespace convoy::torch {

using python::Arguments;
using python::Class;
using python::Instance;
using python::Interpreter;
using python::Sequence;
using python::Value;
using python::ValueList;
using Made = Result<Value>;

}  // namespace convoy::torch
