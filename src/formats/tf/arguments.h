// How TensorFlow's functions write their arguments down: data_format, numbers per axis, words and lists of padding.
#pragma once
#include "formats/function.h"

namespace convoy::tf {

// The axes that 'data_format' names; channels last where it is absent. Refuses the word of another rank.
Axes axes_of(FunctionCall& call, Size space);

// 'strides', 'ksize', 'dilations': one number for all spatial axes, a list of them, or a list for every axis with 1 for
// batch and channels. The spatial ones come back; 1 each where the argument is absent. Refuses numbers below 1.
Sizes per_axis(FunctionCall& call, std::string_view argument, const Axes& axes);
// The same where TensorFlow wants exactly one number per spatial axis.
Sizes spatial_only(FunctionCall& call, std::string_view argument, Size space);

// Whole numbers, from a list or a tensor that is known beforehand. Refuses anything else, also their absence.
Sizes numbers(FunctionCall& call, std::string_view argument);
// The same in pairs: [[1, 2], [0, 0]].
std::vector<std::pair<Size, Size>> pairs(FunctionCall& call, std::string_view argument);

// 'SAME', 'VALID', or, where `lists` says that the function takes one, cells before and after for every axis.
std::vector<Padding> paddings_of(FunctionCall& call, const Axes& axes, bool lists);

std::vector<Window> windows_of(const Sizes& kernel, const Sizes& stride, const Sizes& dilation);
// The sizes of a kernel along its first `space` axes. Refuses one of another rank or of unknown sizes.
Sizes kernel_of(FunctionCall& call, ValueId filters, Size space);

// Several batch axes in front of [n..., C] as one, and back: [2, 3, n..., C] -> [6, n..., C].
struct Batches {
  ValueId folded;
  Sizes sizes;  // of the axes folded; empty where there was only one
};
Batches fold_batches(FunctionCall& call, ValueId x, const Axes& axes);
ValueId unfold_batches(FunctionCall& call, ValueId y, const Batches& batches);

// Refuses the call where an argument without a default is absent.
void require(FunctionCall& call, std::string_view argument);

// What every function takes and no number depends on.
void ignore_name(FunctionCall& call);

}  // namespace convoy::tf
