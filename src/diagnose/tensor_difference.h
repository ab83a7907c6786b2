// How two tensors of weights differ, number by number: how many, where, and by how much.
#pragma once
#include "graph/graph.h"

#include <string>

namespace convoy::diagnose {

struct TensorDifference {
  Size numbers = 0, differing = 0;
  Size at = -1;  // of the largest difference, in the order in which they lie; -1: none
  double a = 0, b = 0;  // there
  double largest = 0, scale = 0;  // scale: of a's largest number
  double steps = 0;  // the largest in units of 2^-24 of the number's own size, both sides' zeros apart
  bool same_numbers = false;  // the same ones in another order
  bool equal() const { return differing == 0; }
  // It is no single number that was changed, and every number is a's up to a few roundings: many differ, or some by a last bit
  // of the largest number that is little of their own. Computed twice, as by two programs that take a norm into the kernel, or
  // add to it what was learnt.
  bool is_rounding() const;
};
// Equal shapes. By value: a half is its float32, and 0 is -0; a NaN is every NaN.
TensorDifference difference_of(const Tensor& a, const Tensor& b);

// "[49, 3] is 0.5 in a, 0.25 in b; 1 of 800 numbers differs", and whether rows or columns changed places.
std::string text_of(const TensorDifference& difference, const Tensor& a, const Tensor& b);

}  // namespace convoy::diagnose
