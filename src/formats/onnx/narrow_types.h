// Element types that no type here is as narrow as: whole numbers of 2 and 4 bits, real ones of 4 and 8. Files hold weights in
// them. They are carried as the next wider type that has all their numbers, and nodes that would round to them are told apart.
#pragma once
#include "base/bytes.h"
#include "convoy/tensor.h"

#include <optional>

namespace convoy::onnx {

// TensorProto.DataType -> what its numbers are held as: int8, uint8 or float32. Nothing: no narrow type.
std::optional<DType> wide_type_of(Size code);

// The least and the largest of a type of whole numbers.
struct NarrowBounds {
  int least = 0, most = 0;
};
std::optional<NarrowBounds> bounds_of(Size code);

// How many bytes so many numbers take, several to a byte where they are of less than 8 bits.
Size bytes_of_narrow(Size code, Size count);

// The numbers as `wide_type_of` says; of `bytes_of_narrow` bytes, the first of a byte in its low bits.
Tensor widened(Size code, const Sizes& shape, Bytes bytes);

}  // namespace convoy::onnx
