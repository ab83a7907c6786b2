// The arguments of every window that slides over space: strides, dilation and the word for its padding.
#pragma once
#include "formats/keras/catalogue/catalogue.h"

#include <vector>

namespace convoy::keras {

// 'valid' or 'same', or 'causal' where the layer has that word.
Spelling padding_of(Use& use, bool may_be_causal = false);
// Of a kernel of this size, with `strides` and, where the row has it, `dilation_rate`. Strides that are left out and have
// no default are the kernel's size. Refuses what is no window.
std::vector<Window> windows_of(Use& use, const Sizes& kernel);
// Keras refuses strides beside dilation.
void expect_no_strided_dilation(Use& use, const std::vector<Window>& windows);

}  // namespace convoy::keras
