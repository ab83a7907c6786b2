// The known ways of writing a layer wrongly, each with the identifier that reports use.
#pragma once
#include <span>
#include <string_view>

namespace convoy::diagnose {

struct Cause {
  std::string_view id;    // stable; "same_as_symmetric"
  std::string_view says;  // what b does otherwise than a, as a clause: "SAME was written as ..."
};

// In order of preference: where two explain the same numbers, the earlier one is meant.
std::span<const Cause> causes();
// Place in that order; behind all others where the identifier is unknown.
int rank_of(std::string_view id);
// Whether the other cause, where it explains the same numbers, says another thing. Not where it says the same in a more
// general way: that the numbers are others, that channels lie in another order.
bool is_rival(std::string_view other, std::string_view of);
std::string_view words_of_cause(std::string_view id);

}  // namespace convoy::diagnose
