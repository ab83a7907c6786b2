// How a program loads weights: torch.load(), safetensors.torch, state_dict() and load_state_dict().
#pragma once
#include "formats/torch/source/tracer.h"

namespace convoy::torch {

// torch.load(). Of the file that --weights gives, what stands in it, so that names and numbers may be changed before a module
// takes them; of any other, what lies outside of the program.
python::Value loading(Tracer& tracer, python::Interpreter& in);

// load_file() and load_model() of safetensors.torch, likewise; nothing: another word.
std::optional<python::Value> safetensors_loading(Tracer& tracer, python::Interpreter& in, const std::string& word);

// Loads the file that --weights gives into a module whose load_state_dict() is the program's own in part, as a user would who calls
// it. Nothing happens to any other module. Fails: whatever the program fails with.
Status load_as_overridden(Tracer& tracer, python::Interpreter& in, python::Instance& module,
                          const Tracer::NamedWeights& named);

// Every parameter and persistent buffer of a module, under every name that its state_dict has for it. Fails: Limit.
Result<Tracer::NamedWeights> named_state(const python::Instance& module);

// state_dict() and load_state_dict() of a module. The latter fails as PyTorch's does, where names or shapes do not fit.
Result<python::Value> state_dict(Tracer& tracer, python::Interpreter& in, python::Arguments& given);
Result<python::Value> load_state_dict(Tracer& tracer, python::Interpreter& in, python::Arguments& given);

}  // namespace convoy::torch
