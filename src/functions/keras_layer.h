// Runs one Keras layer on arrays: options become its config, which the reader of model files reads.
#pragma once
#include "convoy/arguments.h"
#include "convoy/keras.h"
#include "functions/evaluate.h"

#include <string>
#include <vector>

namespace convoy::keras {

// `weights` in the order in which the layer holds them; null where an optional one is absent. The name of the function
// is that of the layer. Fails: as the reader does, "layer 'conv2d' (Conv2D): ...".
Result<Tensor> evaluate_layer(const char* class_name, const char* function, Json config, const View& x,
                              const std::vector<const View*>& weights = {});

}  // namespace convoy::keras
