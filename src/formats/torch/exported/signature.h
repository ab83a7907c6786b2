// What an exported program takes and gives, and at which sizes it holds.
#pragma once
#include "formats/torch/exported/builder.h"

namespace convoy::torch {

// Inputs, parameters, buffers and constants of the signature. Fails: one that the archive lacks; an input of another kind.
Status read_signature_inputs(ExportedBuilder& builder, const Json& signature);

// Conditions under which the program was followed, "L['x'].size()[2] > L['x'].size()[3]"; not those that windows, ranges and PyTorch's own
// questions ask anyway. Fails: the inputs' sizes do not meet one.
Status read_guards(ExportedBuilder& builder);

// Fails: an output that is no tensor or is not carried; a buffer that the program changes.
Status read_signature_outputs(ExportedBuilder& builder, const Json& signature);

// Where forward takes one dictionary of tensors, or gives one, inputs and outputs go by its keys.
void read_call_spec(ExportedBuilder& builder, const Json& module);

}  // namespace convoy::torch
