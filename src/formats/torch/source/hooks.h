// Functions that programs hang on a module: those of its forward are called with it, those of the gradient never.
#pragma once
#include "formats/torch/source/tracer.h"

namespace convoy::torch {

void add_hooks(python::Interpreter& in, python::Class* module);
// forward(*given), between the hooks of the module. Source: Module._call_impl of torch/nn/modules/module.py, PyTorch 2.13.
Made called_between_hooks(python::Interpreter& in, python::Instance& module, const python::Value& forward,
                          python::Arguments given);

}  // namespace convoy::torch
