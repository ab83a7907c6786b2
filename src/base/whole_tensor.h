// Whole numbers as tensors of narrower types.
#pragma once
#include "convoy/tensor.h"

#include <cstdint>
#include <vector>

namespace convoy {

// A whole number as its type holds it: the lowest bits.
std::int64_t wrapped(std::int64_t value, DType dtype);

// Whole numbers, as many as the shape says, in a type of whole numbers or truths: the lowest bytes of each.
Tensor whole_tensor(DType dtype, Sizes shape, std::vector<std::int64_t> numbers);

// Whether some whole number is none that a double holds. The last number of a type counts as held: it is what lies beyond.
bool beyond_double(const Tensor& tensor);

}  // namespace convoy
