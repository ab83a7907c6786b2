// Which operations give another look at memory that they are given.
#pragma once
#include <string_view>

namespace convoy::torch {

// Whether the results of an operation or a method ("view") may share the memory of its first tensor, by some of its overloads or
// of the tensors: what is changed in place in one is then seen in the other.
bool may_share_memory(std::string_view operation);
// Whether the results lie in that memory side by side, so that none sees what is changed in another. The places at which
// tensor_split cuts may run backwards.
bool takes_apart(std::string_view operation);

}  // namespace convoy::torch
