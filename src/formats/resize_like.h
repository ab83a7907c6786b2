// A resize whose lengths are those of other tensors, free ones among them, in the words of operators that look cells up.
#pragma once
#include "formats/function.h"
#include "ops/resize.h"

namespace convoy {

// `resize` says how, its axes, sizes and modes; where the call names a tensor {"like.i", ...} the size of axes[i] is that of its axis
// from[i] instead. Coordinates are computed in float32 as `resize.arithmetic` says. Refuses what is neither nearest, of cells from
// below, nor linear.
std::vector<ValueId> resized_like(FunctionCall& call, ValueId x, const Resize& resize, const Sizes& from);

}  // namespace convoy
