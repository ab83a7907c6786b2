// Functions that files call where a layer would stand, TensorFlow's in Keras 2 (TFOpLambda, SlicingOpLambda) and those of
// keras.ops in Keras 3: read as source is that calls them.
#pragma once
#include "formats/keras/call.h"

namespace convoy::keras {

bool calls_function(const Layer& layer);
// Of these, an operation of Keras 3 that no row reads: a function of keras.ops that others make up, or one that is not known.
bool is_operation_in_words(const Layer& layer);
// Sizes and other numbers that a function gives and only functions read: no value of the graph.
inline bool is_outside_graph(ValueId value) { return value.index < -1; }

// `number`: which call of the layer. Fails: a function that is not known, or sizes of axes that are free.
Result<Values> call_function(Builder& builder, const Layer& layer, const LayerCall& call, const Values& inputs,
                             const std::vector<Scope>& scopes, const std::string& prefix, int number);

}  // namespace convoy::keras
