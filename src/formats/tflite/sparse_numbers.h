// Numbers of which a file stores those that are not 0, and their places.
#pragma once
#include "convoy/result.h"
#include "convoy/tensor.h"
#include "formats/tflite/model.h"

namespace convoy::tflite {

// All numbers of a tensor whose `sparsity` says where the stored ones lie, zeros between them. Fails: axes that do not fit the shape, lists
// that leave it or do not rise, another count of numbers.
Result<Tensor> dense_numbers(const StoredTensor& stored, DType dtype, const Sizes& shape, Bytes bytes);

}  // namespace convoy::tflite
