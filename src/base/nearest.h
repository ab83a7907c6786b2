// What a word that is none of some names was meant to be: "did you mean 'summary'?".
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convoy {

// The place of the nearest of `names` to `word`, if it is near enough to be a slip of the hand: letters changed, put in,
// left out or swapped, or the beginning of a name. Nothing: none is.
std::optional<std::size_t> nearest_place(std::string_view word, const std::vector<std::string>& names);
// That name; empty: none.
std::string nearest(std::string_view word, const std::vector<std::string>& names);
// "; did you mean 'summary'?" to go behind a sentence; where no name is near, "; " and `otherwise`, if that says anything.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& names, std::string_view otherwise = {});

}  // namespace convoy
