// What to write so that a layer does what another one does.
#pragma once
#include "diagnose/diagnose.h"

namespace convoy::diagnose {

// The layer at fault, in PyTorch's and Keras's words, as far as the cause asks for: the layer's own call where its
// arguments are at fault, the step to add or to take out, or how its weights are to be carried. `as_read` is the model
// as its file says it, `form` the comparable form of it.
Fix fix_of(const Graph& as_read, const Graph& form, const Finding& finding);

}  // namespace convoy::diagnose
