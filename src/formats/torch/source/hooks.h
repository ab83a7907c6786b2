// Functions that programs hang on a module: those of its forward are called with it, those of load_state_dict() when it loads,
// those of the gradient never.
#pragma once
#include "formats/torch/source/tracer.h"

namespace convoy::torch {

void add_hooks(python::Interpreter& in, python::Class* module);
// forward(*given), between the hooks of the module. Source: Module._call_impl of torch/nn/modules/module.py, PyTorch 2.13.
Made called_between_hooks(python::Interpreter& in, python::Instance& module, const python::Value& forward,
                          python::Arguments given);

// Those around load_state_dict(). Source: Module._load_from_state_dict and load_state_dict, likewise.
bool has_load_hooks(const python::Instance& module);
// `arguments`: of _load_from_state_dict().
Status call_load_pre_hooks(python::Interpreter& in, python::Instance& module, const ValueList& arguments);
Status call_load_post_hooks(python::Interpreter& in, python::Instance& module, python::Value incompatible_keys);

}  // namespace convoy::torch
