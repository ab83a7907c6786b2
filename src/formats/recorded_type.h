// What a file tells of a value beside the operators that give it: its framework came to it by another road.
#pragma once
#include "ops/tensor_type.h"

namespace convoy {

// Fails (Unsupported): what was read is of another element type than the file tells, or of another rank or size where
// both are known.
Status expect_recorded(const TensorType& read, const TensorType& recorded);

}  // namespace convoy
