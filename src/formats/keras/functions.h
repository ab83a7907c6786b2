// Functions of TensorFlow that files of Keras 2 call where a layer would stand (TFOpLambda, SlicingOpLambda): read as source
// is that calls them.
#pragma once
#include "formats/keras/call.h"

namespace convoy::keras {

bool calls_function(const Layer& layer);
// Sizes and other numbers that a function gives and only functions read: no value of the graph.
inline bool is_outside_graph(ValueId value) { return value.index < -1; }

// `number`: which call of the layer. Fails: a function that is not known, or sizes of axes that are free.
Result<Values> call_function(Builder& builder, const Layer& layer, const LayerCall& call, const Values& inputs,
                             const std::vector<Scope>& scopes, const std::string& prefix, int number);

}  // namespace convoy::keras
