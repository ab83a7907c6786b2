// What the recurrent layers and the layers of cells share.
#pragma once
#include "formats/keras/call.h"

namespace convoy::keras {

ValueId sequence_of(Call& call);
// Where the arrays of the cell lie below the layer.
std::string cell_group(const Layer& layer);
// What the layer is called with behind x: states before the first step. None: zeros.
Values states_given(Call& call);

}  // namespace convoy::keras
