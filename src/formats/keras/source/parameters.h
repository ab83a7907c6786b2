// How TensorFlow calls the arguments of functions that keras.ops has, too.
#pragma once
#include "formats/keras/source/objects.h"

namespace convoy::keras {

// The arguments of a function of keras.ops, by its class, under the names that keras.ops has for them; `name=` is dropped.
// Fails where one is given that the function does not have: nothing may be left out without a word.
Status in_words_of_keras(Interpreter& in, const std::string& class_name, Arguments& given);

}  // namespace convoy::keras
