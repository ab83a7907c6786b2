// A tensor that holds one number everywhere, as files say it by a shape and the number.
#pragma once
#include "convoy/tensor.h"

namespace convoy {

// The one number of `value`, `count` times. The caller has seen to it that so many may be held.
Result<Tensor> filled(const Tensor& value, Sizes shape, Size count);

}  // namespace convoy
