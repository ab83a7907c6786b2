// The two kinds of answers, of windows that read and of windows that write, and the words that both use.
#pragma once
#include "explain/solve.h"

#include <string>
#include <string_view>
#include <vector>

namespace convoy::explain {

// Of a question whose numbers make sense. Fails (Usage): a size that no padding makes; too many cases.
Result<SolveAnswer> solve_windows(const SolveQuestion& question);
// The same of a transposed convolution, of which cells are cut.
Result<SolveAnswer> solve_crops(const SolveQuestion& question);

// "depth", "rows", "cols"; empty for an only axis, which needs no name.
std::string told_apart(std::size_t axis, std::size_t axes);
// "one cell", "12 cells"
std::string counted(Size n, std::string_view one);
bool alike(const std::vector<Added>& a, const std::vector<Added>& b);

}  // namespace convoy::explain
