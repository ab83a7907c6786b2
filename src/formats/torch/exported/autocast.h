// Which operators torch.autocast casts the tensors of, and to what: a program that was exported with such a region names none of the
// casts in it.
#pragma once
#include "convoy/tensor.h"

#include <optional>
#include <string_view>
#include <vector>

namespace convoy::torch {

enum class AutocastPolicy {
  None,  // tensors stay as they are
  Lower,  // the lower type of the region
  Single,  // float32
  SingleUnlessAsked,  // float32, where the call does not name the type that it computes in
  Widest,  // float32 where a tensor has it, else the lower type
  AsRecorded,  // the type of the result: what it consists of for these tensors is cast or is not
  Within,  // what it consists of is cast, which is not the same as its tensors being cast
};

// Of an operator, "conv2d.default", of real tensors on "cpu" or "cuda". Nothing: what autocast does on that device is not known here.
std::optional<AutocastPolicy> autocast_policy(std::string_view device, std::string_view overload);

// What real tensors of these types are cast to, under Lower, Single, SingleUnlessAsked or Widest; those of float64 never are.
DType autocast_type(AutocastPolicy policy, DType lower, const std::vector<DType>& tensors);

}  // namespace convoy::torch
