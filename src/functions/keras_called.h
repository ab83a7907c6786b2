// Keras's layers called as functions: with their weights as arrays, whose shapes say what a constructor would.
#pragma once
#include "convoy/call.h"
#include "functions/evaluate.h"
#include "run/run.h"

#include <string>
#include <vector>

namespace convoy::keras {

// By the names of convoy/keras.h: "conv2d_transpose" is Conv2DTranspose.
std::vector<CallableFunction> callable_layers();
// Arguments are those of the layer's constructor. Fails: as the reader does; an array or a weight's axes that the layer has not.
Result<std::vector<Tensor>> call_layer(const std::string& function, const std::vector<NamedArray>& arrays, Json config,
                                       const RunOptions& options);

}  // namespace convoy::keras
