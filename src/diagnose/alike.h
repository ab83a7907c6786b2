// Whether two stretches are one computation written down twice: the same operators, wired alike, over constants of the
// same shapes. What such stretches compute can differ by their constants alone, so that these can be compared as tensors.
#pragma once
#include "diagnose/piece.h"

#include <functional>
#include <vector>

namespace convoy::diagnose {

// Constants that stand in the same place of both pieces.
struct ConstantPair {
  ValueId a, b;
  NodeId node_a, node_b;  // that read them
  std::size_t input = 0;  // of both
};

struct Alike {
  bool same_operators = false;
  std::vector<ConstantPair> constants;  // where they are
};

// `inputs_agree`: whether input i of a and input j of b are the same numbers in the same order of axes.
Alike built_alike(const Graph& a, const Graph& b, const std::function<bool(std::size_t, std::size_t)>& inputs_agree);

// The same operator: numbers that steer it as float32 has them, and nothing that only training looks at.
bool is_same_operator(const Op& x, const Op& y);

// Whether a number that steers it is none of float32: models that store it so mean another one by a rounding.
bool is_steered_inexactly(const Op& op);

}  // namespace convoy::diagnose
