// Which padding makes this output size, and who can say it? The facts behind `convoy pad --solve`.
#pragma once
#include "containers/json.h"
#include "convoy/result.h"
#include "ops/padding.h"

#include <optional>
#include <string>
#include <vector>

namespace convoy::explain {

// One entry per spatial axis, 1 to 3 of them.
struct SolveQuestion {
  std::vector<Window> windows;
  std::vector<std::optional<Size>> in;   // nothing: every size at once
  std::vector<std::optional<Size>> out;  // nothing: ceil(in / stride); transposed: in * stride
  bool transposed = false;
};

// How one framework writes a solution; `remark` says what to know about it, or is empty.
struct SolveLine {
  std::string framework, code, remark;
};

// Cells to add per axis, before and after. Of a transposed convolution: cells to cut from the whole scatter, where a
// negative number extends it.
struct Solution {
  std::vector<Added> cells;  // empty where they depend on the size
  std::string meaning;
  std::vector<SolveLine> lines;
};

// The sums before + after that give the size, and what SAME adds. For a free size there is one such range for each
// remainder of the size by the stride.
struct SolveRange {
  Size remainder = 0;
  Size least = 0, most = 0;
  Added same;
};

struct SolveAxis {
  std::string name;  // "rows"; empty where there is one axis only
  Window window;
  std::optional<Size> in, out;
  std::vector<SolveRange> ranges;  // one, or one per remainder
};

struct SolveAnswer {
  bool transposed = false;
  std::vector<SolveAxis> axes;
  std::vector<Solution> solutions;  // fewest cells first
  std::vector<std::string> notes;
};

// Fails (Usage): numbers that are no window, sizes below 1, an output that no padding can make: the sentence names the
// axis and what would do instead.
Result<SolveAnswer> solve(const SolveQuestion& question);

std::string text_of(const SolveAnswer& answer);
Json json_of(const SolveAnswer& answer);

}  // namespace convoy::explain
