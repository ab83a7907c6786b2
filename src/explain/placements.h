// Where the windows of a layer lie along each axis: at the size asked about, or for every size by its remainder.
#pragma once
#include "explain/layer.h"

#include <string>
#include <vector>

namespace convoy::explain {

// Cells in front of and behind the input; of a transposed layer those cut from the scatter.
struct Placed {
  std::string when;  // "even", "n mod 3 = 1"; empty: at the size asked about, or at every size
  Size before = 0, after = 0;
  friend bool operator==(const Placed& a, const Placed& b) { return a.before == b.before && a.after == b.after; }
};

// One tap of a window: the cell of the input it reads. Padding reads none, or the cell it repeats.
struct Tap {
  std::optional<Size> cell;
  bool padding = false;
};

struct AxisFacts {
  std::string name;
  Dim size;
  Window window;
  std::vector<Placed> placed;
  std::optional<Size> out;     // at the size asked about
  std::string formula;         // of the output size: "ceil(n / 2)"
  std::optional<Size> scatter; // of a transposed layer
  std::vector<Tap> first, last;  // windows, where the size is known
  Size unread = 0;             // cells behind that no window reads
  std::vector<Size> divisors;  // of an average: of the first, a middle and the last window
};

// Fails (Usage): no window fits on an axis, with the numbers.
Result<std::vector<AxisFacts>> facts_of(const Layer& layer);

}  // namespace convoy::explain
