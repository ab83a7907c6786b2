// A resize whose lengths are those of other tensors, free ones among them, in the words of operators that look cells up.
#pragma once
#include "formats/function.h"
#include "ops/resize.h"

namespace convoy::torch {

// `resize` says how, its axes and modes; its sizes are read where the call names no tensor {"like.i", ...}, with the argument
// "from" the axis of each. Refuses what is neither nearest nor linear.
std::vector<ValueId> resized_like(FunctionCall& call, ValueId x, const Resize& resize);

}  // namespace convoy::torch
