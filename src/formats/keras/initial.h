// What Keras fills a weight with that no file gives.
#pragma once
#include "containers/json.h"
#include "convoy/result.h"
#include "convoy/tensor.h"

#include <string_view>

namespace convoy::keras {

// A layer's config marks by this key that its weights are drawn, by initialisers whose seeds it holds.
constexpr const char* starts_anew = "$initial";
// Takes that mark from every layer in `value`, where shapes are asked for and no numbers.
void leave_unfilled(Json& value);

// How weights of the program's own layers stand among the layers of a model: its config is {"shape", "index", "count"}, the
// place among the arrays of the layer's group.
constexpr const char* source_weight = "$weight";
// In a layer's config: its group in a file, below that of the model it stands in.
constexpr const char* group_key = "$group";
// Where the arrays of a walked cell lie below its layer.
constexpr const char* cell_key = "$cell";

// The numbers of {"class_name": "HeNormal", "config": {"seed": 7}} for a weight of this shape, in Keras's own order of axes.
// Uniform numbers are bit for bit TensorFlow's, which Keras draws them with; normal ones up to the rounding of logarithm
// and sine. Fails: an initialiser that is not known, a truncated distribution that comes to no end.
// Source: keras/src/initializers of Keras 3.15; tensorflow/core/lib/random (Philox, four numbers of 32 bits a block),
// stateless_random_ops_v2 for the key of a seed.
Result<Tensor> initial_numbers(const Json& initialiser, const Sizes& shape);

// Those of the weight `name` of a layer with this config, which says an initialiser, or else of what layers start with.
Result<Tensor> initial_weight(std::string_view class_name, const Json& config, std::string_view name,
                              const Sizes& shape);

}  // namespace convoy::keras
