// Functions and layers of PyTorch that are others put together.
#pragma once
#include "containers/python/interpreter.h"

namespace convoy::torch {

constexpr const char* written_out_name = "torch._written_out";

// The function, method or class of this name. Nothing: there is none.
Result<std::optional<python::Value>> written_out(python::Interpreter& in, const std::string& word);
// The module that holds them.
Result<python::Value> written_out_module(python::Interpreter& in);

}  // namespace convoy::torch
