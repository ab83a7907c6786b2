// Which operations give another look at memory that they are given.
#pragma once
#include <string_view>

namespace convoy::torch {

// Whether the results of an operation or a method ("view") may share the memory of its first tensor, by some of its overloads or
// of the tensors: what is changed in place in one is then seen in the other.
bool may_share_memory(std::string_view operation);

}  // namespace convoy::torch
