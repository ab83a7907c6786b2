// What a program does itself to a state_dict on its way into modules: their own load_state_dict() and _load_from_state_dict(), and
// the hooks that are called around them.
#pragma once
#include "formats/torch/source/tracer.h"

namespace convoy::torch {

// Whether load_state_dict() of this module is anything else than nn.Module's, or calls anything of the program.
bool overrides_loading(const python::Instance& module);
// The same of what nn.Module's calls for it, and for the modules below it.
bool overrides_taking(const python::Instance& module);

// The methods of nn.Module that these call.
void add_loading(Tracer& tracer, python::Interpreter& in, python::Class* module);

// Calls _load_from_state_dict() of the module and of all below it, which may change `dict`. Fails: whatever they fail with; a
// module whose own does not call that of nn.Module.
Status let_modules_take(Tracer& tracer, python::Interpreter& in, python::Instance& module, python::Mapping& dict);

}  // namespace convoy::torch
