// The upper or lower triangle of matrices.
#pragma once
#include "formats/function.h"

namespace convoy {

// The last two axes of x on one side of a diagonal, zeros on the other. Fails: their sizes are free, or very large.
ValueId triangle_of(FunctionCall& call, ValueId x, Size diagonal, bool upper);

}  // namespace convoy
