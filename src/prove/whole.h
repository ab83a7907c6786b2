// Whole numbers in float32: which operators round nothing on them, and how large they may be so that this is so.
//
// Where all numbers are multiples of a power of two and the sum of all magnitudes that meet in one output stays below 2^24
// of it, every partial sum in every order, with fused multiplication or without, is a float32 number. Any two direct
// evaluations then agree in every bit, so that a difference of one bit is a difference of structure.
#pragma once
#include "prove/terms.h"

namespace convoy {

// Whether nothing is rounded when this node is evaluated in float32 on these very numbers, which are exact themselves.
// Functions without whole values (exp, roots, divisions that leave a rest) never are. Positions of maxima are left out: the
// numbers repeat, and of equal ones either may be taken.
bool is_exact(const Node& node, const std::vector<const Tensor*>& inputs, const Sizes& output);

// What a node asks of the numbers it reads, so that `is_exact` holds: magnitudes grow by `gain` at most, and the numbers
// are multiples of `multiple`, which averages divide by.
struct Demand {
  double gain = 1;
  Size multiple = 1;
};
Demand demand_of(const Node& node, const Lengths& inputs);

inline constexpr double most_exact = 0x1p24;
inline constexpr Size largest_kernel_number = 3, largest_bias = 1000;

}  // namespace convoy
