// Modules that are called in training, because the program still builds, or eval() does not reach them: a forward of zeros that tells a size. Batch
// normalisation then takes the numbers of its input and moves its running ones, and dropout draws.
#pragma once
#include "formats/torch/source/tracer.h"

namespace convoy::torch {

// Whether the module is in training: until it is told eval(), as the whole model is once its program was followed.
bool is_in_training(const Tracer& tracer, const python::Instance& module);
// What a layer gives that answers otherwise in training; nothing: it is another, or at rest. The running numbers of a batch
// normalisation become what PyTorch makes of them.
Result<std::optional<python::Value>> ran_in_training(Tracer& tracer, python::Interpreter& in, const std::string& name,
                                                     python::Instance& layer, const python::Value& x);
// The tensor with elements dropped: nobody knows which, nor what is drawn behind them.
Result<python::Value> dropped_in_training(Tracer& tracer, python::Interpreter& in, const python::Value& x,
                                          bool in_place);

}  // namespace convoy::torch
