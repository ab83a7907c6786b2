// What the recurrent layers and the layers of cells share.
#pragma once
#include "formats/keras/call.h"

namespace convoy::keras {

ValueId sequence_of(Call& call);
// What the layer is called with behind x: states before the first step. None: zeros.
Values states_given(Call& call);

}  // namespace convoy::keras
