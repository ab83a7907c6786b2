// How each framework writes cells added around a window, or cells cut from a transposed one: code to paste.
#pragma once
#include "explain/solve.h"
#include "ops/transposed_padding.h"

namespace convoy::explain {

// What a list of added cells is besides the numbers.
struct PadsMean {
  bool same = false, same_lower = false, valid = false, causal = false;
};

std::vector<SolveLine> lines_of_pads(const std::vector<Window>& windows, const std::vector<Added>& cells,
                                     PadsMean mean);
// SAME for every size, where its numbers depend on the size.
std::vector<SolveLine> lines_of_same(const std::vector<Window>& windows);
// One crop per axis of the full scatter. `in` as in the question.
std::vector<SolveLine> lines_of_crops(const std::vector<Window>& windows, const std::vector<std::optional<Size>>& in,
                                      const std::vector<Crop>& crops);

// "3", or "(3, 5)" where the axes differ.
std::string one_or_each(const Sizes& numbers);
std::string list_of(const Sizes& numbers);  // "[3, 5]"
Sizes of_windows(const std::vector<Window>& windows, Size Window::* member);

// F.pad's pairs: the last axis first.
std::string torch_pairs(const std::vector<Added>& cells);

}  // namespace convoy::explain
