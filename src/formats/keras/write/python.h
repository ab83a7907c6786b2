// Layers, operations and their arguments as Python text.
#pragma once
#include "formats/keras/write/document.h"
#include "formats/python.h"

#include <functional>
#include <string>

namespace convoy::keras {

// What stands for a tensor of the model, and for numbers known beforehand.
struct Spoken {
  std::function<std::string(const Reference&)> tensor;
  std::function<std::string(const Tensor&)> numbers;
};

// A plain value: None, True, 0.5, "same", (3, 3), slice(0, 2), keras.initializers.Zeros().
std::string value_text(const Json& value);

// layers.Conv2D(8, 3, strides=2, name="conv"); `name` is the text of its name, empty: none.
std::string constructor_text(const DocumentLayer& layer, const std::string& name);
// keras.Input((8, 8, 3), name="x")
std::string input_text(const DocumentLayer& layer);

// What a layer is called with: (x), ([a, b], training=False).
std::string arguments_text(const DocumentCall& call, const Spoken& spoken);
// ops.pad(x, ((0, 0), (1, 1))), x[:, 1:]
std::string operation_text(const DocumentLayer& layer, const DocumentCall& call, const Spoken& spoken);

}  // namespace convoy::keras
