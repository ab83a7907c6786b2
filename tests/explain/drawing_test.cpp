// Drawings of windows over cells: what is drawn, and that the page is well formed and the same every time.
#include "explain/drawing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace convoy::explain::drawing_test {
namespace {

Size count(const std::string& text, std::string_view word) {
  Size n = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

TEST(Drawing, StandsEachWindowOnItsCells) {
  // kernel 3, stride 2, dilation 2 on 7 cells with 1 before: windows at -1 1 3, 1 3 5, 3 5 7.
  const Drawing d = draw("rows", {3, 2, 2}, Placement{1, 3, 1}, 7);
  ASSERT_EQ(d.cells.size(), 9u);
  EXPECT_EQ(d.cells.front().kind, CellKind::Padding);
  EXPECT_EQ(d.cells[1].label, "0");
  EXPECT_EQ(d.cells.back().kind, CellKind::Padding);
  ASSERT_EQ(d.windows.size(), 3u);
  EXPECT_EQ(d.windows[0].cells, (std::vector<std::size_t>{0, 2, 4}));
  EXPECT_EQ(d.windows[2].cells, (std::vector<std::size_t>{4, 6, 8}));
  EXPECT_TRUE(d.headline.starts_with("rows   7 -> 3"));
}

TEST(Drawing, MarksCellsThatNoWindowReads) {
  // kernel 2, stride 3 on 9 cells: windows at 0, 3, 6; the last cell is left over.
  const Drawing d = draw("", {2, 3, 1}, Placement{0, 3, 0}, 9);
  ASSERT_EQ(d.cells.size(), 9u);
  EXPECT_EQ(d.cells[7].kind, CellKind::Input);
  EXPECT_EQ(d.cells[8].kind, CellKind::Unread);
}

TEST(Drawing, CutsAndLengthensAScatter) {
  // 3 cells, kernel 3, stride 2: a scatter of 7, of which the first is cut.
  const Drawing cut = draw("", {3, 2, 1}, Crop{1, 6, 0}, 3);
  ASSERT_EQ(cut.cells.size(), 7u);
  EXPECT_EQ(cut.cells[0].kind, CellKind::Cut);
  EXPECT_EQ(cut.cells[1].label, "0");
  EXPECT_EQ(cut.windows[1].cells, (std::vector<std::size_t>{2, 3, 4}));
  const Drawing longer = draw("", {3, 2, 1}, Crop{0, 8, -1}, 3);
  ASSERT_EQ(longer.cells.size(), 8u);
  EXPECT_EQ(longer.cells[7].kind, CellKind::Padding);
}

TEST(Drawing, ShowsTheEndsOfALongAxis) {
  const Drawing d = draw("cols", {7, 2, 1}, Placement{2, 112, 3}, 224);
  EXPECT_TRUE(d.shortened);
  EXPECT_EQ(d.windows.size(), 8u);
  EXPECT_EQ(d.windows.back().label, "111");
  EXPECT_LT(d.cells.size(), 50u);
  EXPECT_TRUE(std::ranges::any_of(d.cells, [](const DrawnCell& c) { return c.gap_before; }));
  EXPECT_EQ(d.windows.back().cells.size(), 7u);
}

TEST(Drawing, IsOneWellFormedPageWithoutAnythingFromElsewhere) {
  const std::vector drawings{draw("rows", {4, 1, 1}, Placement{1, 9, 2}, 9),
                             draw("cols", {3, 2, 1}, Placement{0, 5, 1}, 10)};
  const std::string svg = svg_of("Conv2D(8, (4, 3), padding=\"same\") & <more>", drawings);
  EXPECT_EQ(svg, svg_of("Conv2D(8, (4, 3), padding=\"same\") & <more>", drawings));
  EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_TRUE(svg.contains("&amp; &lt;more&gt;"));
  EXPECT_TRUE(svg.contains("prefers-color-scheme:dark"));
  EXPECT_EQ(count(svg, "http"), 1);
  EXPECT_EQ(count(svg, "<text"), count(svg, "</text>"));
  EXPECT_EQ(count(svg, "class=\"padding\""), 3 + 1);
  EXPECT_EQ(count(svg, "class=\"input\""), 9 + 10);
  // Window 0 of the rows stands on one cell of padding, windows 7 and 8 on one and two; window 4 of the cols on one.
  EXPECT_EQ(count(svg, "class=\"tap padding\""), 1 + 1 + 2 + 1);
}

}  // namespace
}  // namespace convoy::explain::drawing_test
