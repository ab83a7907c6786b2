// Lengths that a program computes from a size which comes only when the model runs: n // 2, n rounded up to a multiple of 8.
#pragma once
#include "formats/function.h"

#include <functional>
#include <optional>
#include <vector>

namespace convoy {

// What grows by steps that come round again: f(0) = first, f(n + 1) = f(n) + steps[n % steps.size()], each of which is 0 or more;
// 0 where that is negative.
struct Stepwise {
  Size first = 0;
  std::vector<Size> steps;
  Size from = 1;  // it holds from this size on; below, where it is more than 1, f has other values
};

// The steps in which f grows, tried at many sizes; a size at which f has no value is one that does not matter. Nothing: it does not
// grow so, or is negative somewhere. `apart`: how far the sizes beyond the first 200 lie from each other, up to 4096.
// `least`: the program does not take smaller sizes.
std::optional<Stepwise> stepwise(const std::function<std::optional<Size>(Size n)>& f, Size apart = 1, Size least = 1);

// Consecutive axes that become others of as many cells.
struct RegroupedAxes {
  std::size_t from = 0, to = 0;  // how many
};
// The smallest groups, by the sizes before and after. Nothing: they do not hold as many cells.
std::optional<std::vector<RegroupedAxes>> axis_groups(const Sizes& from, const Sizes& to);

// A length that grows with the size of a tensor along an axis.
struct Growth {
  ValueId like;
  Size axis = 0;
  Stepwise steps;
  bool is_constant() const;
};

// A list of so many ones.
ValueId ones_of_length(FunctionCall& call, const Growth& length);

// The cells of x along the axis, of which there are n, from start(n) on and as many as length(n). Refuses what does not grow in steps.
ValueId part_along(FunctionCall& call, ValueId x, Size axis, const std::function<std::optional<Size>(Size n)>& start,
                   const std::function<std::optional<Size>(Size n)>& length);

// All windows of `size` cells along the axis, each `step` behind the one before: a new axis behind it.
ValueId windows_along(FunctionCall& call, ValueId x, Size axis, Size size, Size step);

// The same as functions: of "like", with the axis "from" and the "first" and "steps" of a Stepwise.
std::vector<ValueId> read_length(FunctionCall& call);  // the list
std::vector<ValueId> read_size(FunctionCall& call);  // how many they are

// x with as many cells along the axis as `like` is long, a list: its own from the place `before` on (negative: the first ones are left
// out), and around them `value`. Arguments: "input", "like" and "before" as tensors, "dim", "mode" and "value" as F.pad takes them.
std::vector<ValueId> read_padded_to(FunctionCall& call);

// The cells of x from the place "start" on, as many as "like" is long, along "dim".
std::vector<ValueId> read_cut_to(FunctionCall& call);

}  // namespace convoy
