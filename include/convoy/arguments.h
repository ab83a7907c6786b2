// How arguments are written down in a call of the functions: a number per spatial axis, and arrays that somebody else
// owns.
#pragma once
#include "convoy/tensor.h"

#include <initializer_list>
#include <span>
#include <utility>

namespace convoy {

// One number for every spatial axis, or one number for each: `.stride = 2`, `.stride = {2, 1}`.
class PerAxis {
 public:
  PerAxis(Size all) : numbers_{all} {}  // NOLINT: a number is an argument
  PerAxis(std::initializer_list<Size> each) : numbers_(each), one_(false) {}
  PerAxis(Sizes each) : numbers_(std::move(each)), one_(false) {}  // NOLINT
  bool one() const { return one_; }  // the same for every axis
  const Sizes& numbers() const { return numbers_; }

 private:
  Sizes numbers_;
  bool one_ = true;
};

// An array that is only looked at during the call: dense numbers, or numbers `strides` elements apart.
class View {
 public:
  View(const Tensor& tensor) : tensor_(tensor) {}  // NOLINT: a tensor is an argument
  // Dense and row-major; the count must be that of the shape, or the call fails.
  View(std::span<const float> values, Sizes shape);
  View(std::span<const double> values, Sizes shape);
  View(std::span<const std::int64_t> values, Sizes shape);
  // Element [i, j, ...] lies at data[i*strides[0] + j*strides[1] + ...]; a stride may be 0 or negative. The caller
  // answers for every element reached being there.
  View(const float* data, Sizes shape, const Sizes& strides);

  // The numbers in order, copied only where they are not dense. Fails: a count that is not that of the shape.
  const Result<Tensor>& tensor() const { return tensor_; }

 private:
  Result<Tensor> tensor_;
};

}  // namespace convoy
