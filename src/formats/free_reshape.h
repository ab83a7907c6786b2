// New shapes of which several sizes are known only when the model runs.
#pragma once
#include "formats/function.h"

#include <array>
#include <string_view>

namespace convoy {

// 0, 1, ... as many as `like` is long along the axis.
ValueId counted_along(FunctionCall& call, ValueId like, Size axis);

// How many cells `like` has along the axis, as one number.
ValueId length_along(FunctionCall& call, ValueId like, Size axis);

// An axis of x and the next one as one, whatever the sizes of all.
ValueId merged_axes(FunctionCall& call, ValueId x, Size axis);

// The readers' own words to it, which no file may say.
inline constexpr std::array<std::string_view, 2> words_of_free_reshape{"kept", "from"};

// x under the shape `to`. Argument "kept": [how many axes on the left, on the right] are those of x, whatever their sizes; between
// them -1 takes what is left. Where it stands there several times, the sizes are those of {"like.0", ...}, by their places in
// `to`, along the axes "from". Fails: one of them is missing.
std::vector<ValueId> reshape_keeping(FunctionCall& call, ValueId x, const Sizes& to);

}  // namespace convoy
