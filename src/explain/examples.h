// Four numbers through one operator: what the pages about frameworks show. Everything is computed by the kernels.
#pragma once
#include "ops/pad.h"
#include "ops/padding.h"
#include "ops/transposed_padding.h"

#include "convoy/result.h"

#include <string>
#include <vector>

namespace convoy::explain {

using Numbers = std::vector<double>;
inline const Numbers four{1, 10, 100, 1000}, three{1, 10, 100}, kernel_of_three{1, 2, 3}, kernel_of_two{1, 2};

Result<Numbers> convolved(const Numbers& x, const Numbers& kernel, Padding padding, Size stride = 1, Size dilation = 1);
Result<Numbers> transposed(const Numbers& x, const Numbers& kernel, TransposedPadding padding, Size stride);
Result<Numbers> maximum(const Numbers& x, Size kernel, Padding padding, Size stride);
Result<Numbers> average(const Numbers& x, Size kernel, Padding padding, Size stride, bool counts_padding);
Result<Numbers> padded(const Numbers& x, Added cells, PadMode mode);

// "1 10 100", "3.667 370"
std::string text_of(const Numbers& numbers);

}  // namespace convoy::explain
