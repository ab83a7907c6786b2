// Lists of names as one text: "input weight bias".
#pragma once
#include <string_view>
#include <vector>

namespace convoy {

// The parts of `text` between blanks, in order; none is empty. They are views of `text`.
std::vector<std::string_view> words_in(std::string_view text);

}  // namespace convoy
