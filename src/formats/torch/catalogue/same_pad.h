// SAME as Python text: its arithmetic is stated here, for the functions of written modules and the lines of `convoy pad`.
#pragma once
#include <string>
#include <string_view>

namespace convoy::torch {

// The cells that SAME adds in all: "max((-(-n // s) - 1) * s + r - n, 0)".
std::string same_total(std::string_view size, std::string_view stride, std::string_view reach);
// Those of a total in front and behind; `lower`: the odd one in front. "t // 2, t - t // 2"
std::string same_halves(std::string_view total, bool lower);
// def same_pad(...) or def same_lower_pad(...), of a size that the function reads off its input.
std::string same_pad_function(bool lower);

}  // namespace convoy::torch
