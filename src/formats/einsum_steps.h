// An equation of einsum as frameworks write it, of any number of operands, by products of two, sums and turned axes.
#pragma once
#include "ops/op.h"

#include <string>
#include <vector>

namespace convoy {

// One operator over values that are numbered: the operands, and behind them the results of the steps before.
struct EinsumStep {
  Op op;
  std::vector<std::size_t> of;
};

// `shapes`: of the operands. "..." stands for the axes that an operand does not name; without an arrow what is named once is
// given, in the order of the alphabet. A letter twice in one operand, on neighbouring axes of one size, is a diagonal. Fails: an
// equation that does not fit.
Result<std::vector<EinsumStep>> einsum_steps(std::string equation, const std::vector<Shape>& shapes);

}  // namespace convoy
