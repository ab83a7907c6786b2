// How each framework writes cells added around a window, or cells cut from a transposed one: the lines of a layer that does it.
#pragma once
#include "explain/solve.h"
#include "ops/transposed_padding.h"

namespace convoy::explain {

// What a list of added cells is, beside its numbers, which are of these sizes. Explicit: numbers alone.
struct AddedCells {
  std::vector<std::optional<Size>> in;
  std::vector<Added> cells;  // of Explicit
  Spelling spelling = Spelling::Explicit;
};
std::vector<SolveLine> lines_of_pads(const std::vector<Window>& windows, const AddedCells& added);
// One crop per axis of the full scatter. `in` as in the question.
std::vector<SolveLine> lines_of_crops(const std::vector<Window>& windows, const std::vector<std::optional<Size>>& in,
                                      const std::vector<Crop>& crops);

}  // namespace convoy::explain
