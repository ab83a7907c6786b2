// What a module keeps of a tensor that the program made: its parameters and buffers.
#pragma once
#include "formats/torch/source/tracer.h"

namespace convoy::torch {

// nn.Parameter(tensor): a weight that starts with these numbers, which may be drawn, or computed of what is drawn. Fails
// (Unsupported): of whole numbers, or computed of weights that were changed meanwhile.
Result<python::Value> parameter_of(Tracer& tracer, python::Interpreter& in, python::Arguments& given);

// The same as a buffer. `persistent`: a file holds it.
Result<python::Value> buffer_of(Tracer& tracer, python::Interpreter& in, SourceTensor& tensor, bool persistent);

// register_buffer() and register_parameter() of a module.
Result<python::Value> registered(Tracer& tracer, python::Interpreter& in, python::Arguments& given, bool buffer);

// module.name = value. What takes the name of a buffer is one, unless it is a parameter. Source: Module.__setattr__ in
// torch/nn/modules/module.py of PyTorch 2.13.
Result<python::Value> set_on_module(Tracer& tracer, python::Interpreter& in, python::Arguments& given);

}  // namespace convoy::torch
