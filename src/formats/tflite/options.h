// How TFLite's operators write their options down: one number per named axis, enumerations by word or by number, and
// lists of sizes as tensors.
#pragma once
#include "formats/function.h"

#include <array>

namespace convoy::tflite {

// The members of enumerations, by their numbers.
inline constexpr std::array<std::string_view, 2> padding_words{"SAME", "VALID"};
inline constexpr std::array<std::string_view, 6> activation_words{"NONE",  "RELU", "RELU_N1_TO_1",
                                                                  "RELU6", "TANH", "SIGN_BIT"};
inline constexpr std::array<std::string_view, 2> mirror_words{"REFLECT", "SYMMETRIC"};

// 'stride_h', 'stride_w' (and 'stride_d' in front where `space` is 3) with `behind` after the letter: "_factor".
// `otherwise` where one is absent. Refuses numbers below 1.
Sizes per_axis(FunctionCall& call, const std::string& stem, Size space, std::optional<Size> otherwise = {},
               const std::string& behind = {});

// SAME or VALID for every axis.
std::vector<Padding> paddings_of(FunctionCall& call, Size space);

// Whole numbers of a tensor that is known beforehand.
Sizes numbers(FunctionCall& call, std::string_view tensor);

// The word of an option that names a member of an enumeration, which files hold as its number.
std::string word_of(FunctionCall& call, std::string_view option, std::span<const std::string_view> words);

// `y` behind the activation that is fused into the operator.
ValueId activated(FunctionCall& call, ValueId y);

// A kernel in another order of axes, or under another shape; a stored one is kept in that order under its own name.
ValueId permuted(FunctionCall& call, ValueId kernel, const Sizes& axes);
ValueId reshaped(FunctionCall& call, ValueId kernel, const Sizes& shape);

std::vector<Window> windows_of(const Sizes& kernel, const Sizes& stride, const Sizes& dilation);

}  // namespace convoy::tflite
