// The numbers of a TensorProto: a view into the file, or a short list whose last number repeats.
#pragma once
#include "formats/tf/graph/messages.h"
#include "ops/tensor_type.h"

#include <memory>
#include <optional>

namespace convoy::tf {

// Nothing: a type that is not carried (strings, complex and quantized numbers, resources). References are what they refer to.
std::optional<DType> dtype_of(Size code);
Shape shape_of(const Sizes& sizes);  // negative: of no known size
// "float32", or "type 21".
std::string type_name(Size code);

// Fails: a type that is not carried; bytes or numbers that are not as many as the shape says; a free shape; the budget.
Result<Tensor> tensor_of(const StoredTensor& stored, const std::shared_ptr<const void>& keeper);

}  // namespace convoy::tf
