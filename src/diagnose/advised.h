// The line that does what one operator does, in PyTorch and in Keras: what `convoy diff` tells to write.
#pragma once
#include "diagnose/diagnose.h"

namespace convoy::diagnose {

// x in place of its input. Empty where a framework has no line for it, or the operator is of another kind.
Fix line_of_function(const Op& op);  // of one number, softmax aside
Fix line_of_pad(const Pad& pad);     // in the comparable form: channels first there, last in Keras
Fix line_of_merge(BinaryFunction function);  // of a and b

// As a float32 reads it back.
std::string number_in_code(double value);

}  // namespace convoy::diagnose
