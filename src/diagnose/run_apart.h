// What each model makes of the same inputs when it runs by itself: values that hold the same numbers, in whatever order of axes,
// are likely to stand for each other. A hint for the alignment, and no proof: dead channels hold the same, and saturated ones.
#pragma once
#include "diagnose/comparable.h"
#include "run/run.h"

#include <optional>
#include <vector>

namespace convoy::diagnose {

// The numbers of a value, whatever their order.
struct Spread {
  Size count = 0;
  double least = 0, most = 0, sum = 0, squares = 0;
};
// Whether two values hold the same but for rounding. One number over and over says nothing.
bool are_spread_alike(const Spread& x, const Spread& y);
// Whether they are apart by more than a small mistake makes: by what is added, or scaled, in the one and not yet in the other.
bool are_spread_apart(const Spread& x, const Spread& y);

// One per value; none: constants, and what could not be computed.
using Spreads = std::vector<std::optional<Spread>>;
struct RunApart {
  Spreads a, b;
  Values values_a;  // in float64, all of them: whoever asks for the spreads compares with these next
};
RunApart run_apart(const Sized& at, int threads);

}  // namespace convoy::diagnose
