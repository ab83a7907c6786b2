// Lists of names, and those that are one text: "input weight bias".
#pragma once
#include <algorithm>
#include <ranges>
#include <string_view>
#include <vector>

namespace convoy {

// The parts of `text` between blanks, in order; none is empty. They are views of `text`.
std::vector<std::string_view> words_in(std::string_view text);
// Whether one of them is `wanted`.
bool has_word(std::string_view words, std::string_view wanted);

template <std::ranges::range All, class Wanted>
bool is_among(const All& all, const Wanted& wanted) {
  return std::ranges::find(all, wanted) != std::ranges::end(all);
}

}  // namespace convoy
