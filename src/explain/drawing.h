// Windows over the cells of one axis as a picture: which cells each output reads, which of them are padding; of a
// transposed convolution: where each input is scattered to, and what is cut off.
#pragma once
#include "ops/padding.h"
#include "ops/transposed_padding.h"

#include <string>
#include <vector>

namespace convoy::explain {

enum class CellKind : std::uint8_t { Input, Padding, Unread, Cut, Left };  // Left: of the scatter, and kept

struct DrawnCell {
  std::string label;
  CellKind kind = CellKind::Input;
  bool gap_before = false;  // cells in between are not drawn
};

// One window: the drawn cells it stands on, by index.
struct DrawnWindow {
  std::string label;
  std::vector<std::size_t> cells;
};

struct Drawing {
  std::string headline;
  std::vector<DrawnCell> cells;
  std::vector<DrawnWindow> windows;
  bool shortened = false;  // windows in the middle are left out
};

// Of a long axis only its ends are drawn.
Drawing draw(const std::string& name, Window window, Placement at, Size in);
Drawing draw(const std::string& name, Window window, Crop at, Size in);

// One SVG page: the same bytes for the same drawings, readable in light and dark, without anything from elsewhere.
std::string svg_of(const std::string& title, const std::vector<Drawing>& drawings);

}  // namespace convoy::explain
