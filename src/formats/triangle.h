// The upper or lower triangle of matrices.
#pragma once
#include "formats/function.h"

namespace convoy {

// [rows, columns] of truths: which cells of the last two axes of x lie on one side of a diagonal. Fails: very many of them.
ValueId triangle_mask(FunctionCall& call, ValueId x, Size diagonal, bool upper);
// The last two axes of x on one side of a diagonal, zeros on the other. Fails: very large ones.
ValueId triangle_of(FunctionCall& call, ValueId x, Size diagonal, bool upper);

}  // namespace convoy
