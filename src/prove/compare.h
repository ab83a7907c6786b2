// Brings a value of the source into the target's layout, and compares two tensors element by element under a bound.
#pragma once
#include "graph/graph.h"

#include <optional>
#include <string>

namespace convoy {

// The source's tensor as `origin` says the target carries it: reshaped to `split`, permuted, reshaped to `shape`.
// Fails: the numbers of elements or axes do not match; says which.
Result<Tensor> carried(const Tensor& source, const Origin& origin, const Sizes& shape);

// Floats of 64 bits become float32, or what the type of 16 bits holds of them; everything else stays as it is.
Tensor rounded(const Tensor& tensor, DType dtype = DType::F32);

struct Difference {
  double largest = 0;  // absolute
  double r = 0;        // largest ratio to the bound, times `limit`: at most the limit where all is well
  Size index = -1;     // of the worst element, where something is different
  bool same = true;
};

// `wanted` in float64 against `got` in float32, shapes equal. `error` (float32, the same shape) is what rounding may
// explain; without it `got` must be `wanted`, rounded once where `got` is float32. Infinities and nan must stand in the same places.
Difference compare(const Tensor& got, const Tensor& wanted, const std::optional<Tensor>& error, double limit);

// "[0, 3, 0, 5]"
std::string place_in(const Sizes& shape, Size index);

}  // namespace convoy
