// What the recurrent layers and the layers of cells share.
#pragma once
#include "formats/keras/catalogue/catalogue.h"

#include <optional>
#include <string>

namespace convoy::keras {

ValueId sequence_of(Call& call);
// Refuses a layer that keeps its state between calls or has time before the batch.
void expect_usual_walk(Use& use);
// How many steps x [N, T, ...] has, where each becomes operators of its own. Refuses too many and a free number, which these
// `options` of the command may say; `sequence`: what x is, "masked sequence".
std::optional<Size> steps_to_walk(Call& call, ValueId x, const std::string& sequence, const std::string& options);
// Where the arrays of the cell lie below the layer.
std::string cell_group(const Layer& layer);
// What the layer is called with behind x: states before the first step. None: zeros.
Values states_given(Call& call);

}  // namespace convoy::keras
