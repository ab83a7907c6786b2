// The words for interpolation, shared by the layers and by keras.ops.image.
#pragma once
#include "formats/keras/call.h"

namespace convoy::keras {

// Fills everything but sizes and factors. Fails on an unknown word.
Resize resize_by(Call& call, const Axes& axes, const std::string& word, bool antialias);
// The attributes of a resize that cuts or fills to keep proportions must be at their defaults.
void expect_plain_resize(Call& call);

}  // namespace convoy::keras
