// The modules torch, torch.nn, torch.nn.functional and their like, by the words that programs say.
#pragma once
#include "formats/torch/source/tracer.h"

namespace convoy::torch {

// Nothing: PyTorch has no module of this name that is known here.
Result<std::optional<python::Value>> torch_module(Tracer& tracer, ModuleClasses& classes, python::Interpreter& in,
                                                  const std::string& name);
// torch.autograd.Function: `apply` of a class that derives from it is its forward, whose gradient nobody asks for.
python::Class* function_class(python::Interpreter& in);

}  // namespace convoy::torch
