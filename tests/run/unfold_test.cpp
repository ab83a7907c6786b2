// Windows laid out as columns and added back; blocks moved between space, batch and depth.
#include "run/one_node.h"

namespace convoy::unfold_test {
namespace {

using test::counting;
using test::expect_numbers;
using test::numbers;
using test::ran;

TEST(Unfold, RowsAreTapsAndColumnsAreWindows) {
  const Unfold unfold{.windows = {{2, 1, 1}, {2, 1, 1}}, .paddings = {{}, {}}};
  expect_numbers(unfold, {counting({1, 1, 2, 3})}, {1, 4, 2}, {1, 2, 2, 3, 4, 5, 5, 6});
  // Three taps two cells apart, one padding cell in front: windows read _ 2 4 and 2 4 6 of each channel.
  const Unfold wide{.windows = {{3, 2, 2}}, .paddings = {{Spelling::Explicit, 1, 0}}};
  expect_numbers(wide, {counting({1, 2, 6})}, {1, 6, 2}, {0, 2, 2, 4, 4, 6, 0, 8, 8, 10, 10, 12});
  EXPECT_FALSE(ran(Unfold{.windows = {{7, 1, 1}}, .paddings = {{}}}, {counting({1, 2, 6})}));
}

TEST(Unfold, FoldAddsEveryCellBack) {
  const Fold fold{.windows = {{2, 1, 1}, {2, 1, 1}}, .paddings = {{}, {}}, .out = {2, 3}};
  expect_numbers(fold, {numbers({1, 4, 2}, {1, 2, 2, 3, 4, 5, 5, 6})}, {1, 1, 2, 3}, {1, 4, 3, 4, 10, 6});
  const Fold wide{.windows = {{3, 2, 2}}, .paddings = {{Spelling::Explicit, 1, 0}}, .out = {6}};
  expect_numbers(wide, {counting({1, 6, 2})}, {1, 2, 6}, {0, 5, 0, 9, 0, 6, 0, 17, 0, 21, 0, 12});
  EXPECT_FALSE(ran(wide, {counting({1, 5, 2})}));
  EXPECT_FALSE(ran(wide, {counting({1, 6, 3})}));
}

TEST(Blocks, SpaceGoesIntoTheBatchBlockFirst) {
  const SpaceToBatch there{.axes = {1}, .block = {2}, .before = {1}, .after = {0}};
  const BatchToSpace back{.axes = {1}, .block = {2}, .before = {1}, .after = {0}};
  const Tensor x = counting({2, 3}), blocks = numbers({4, 2}, {0, 2, 0, 5, 1, 3, 4, 6});
  expect_numbers(there, {x}, {4, 2}, blocks.doubles());
  expect_numbers(back, {blocks}, {2, 3}, x.doubles());
  EXPECT_FALSE(ran(there, {counting({2, 4})}));
  EXPECT_FALSE(ran(back, {counting({3, 2})}));
}

TEST(Blocks, OffsetsCountInTheOrderOfTheAxes) {
  // Rows 0 and 1, three columns apart: offset (row, column) is row * 3 + column.
  const SpaceToBatch there{.axes = {1, 2}, .block = {2, 3}, .before = {0, 0}, .after = {0, 0}};
  const Tensor x = counting({1, 2, 6, 1});
  expect_numbers(there, {x}, {6, 1, 2, 1}, {1, 4, 2, 5, 3, 6, 7, 10, 8, 11, 9, 12});
  const BatchToSpace cut{.axes = {1, 2}, .block = {2, 3}, .before = {1, 0}, .after = {0, 4}};
  expect_numbers(cut, {numbers({6, 1, 2, 1}, {1, 4, 2, 5, 3, 6, 7, 10, 8, 11, 9, 12})}, {1, 1, 2, 1}, {7, 8});
}

TEST(Blocks, DepthAndSpaceTakeAnyRankFromThreeOn) {
  const DepthToSpace crd{.depth_first = false};
  expect_numbers(crd, {counting({4, 1, 2})}, {1, 2, 4}, {1, 3, 2, 4, 5, 7, 6, 8});
  const auto five = ran(crd, {counting({2, 3, 8, 1, 2})});
  ASSERT_TRUE(five);
  EXPECT_EQ(five->front().shape(), (Sizes{2, 3, 2, 2, 4}));
  expect_numbers(SpaceToDepth{.depth_first = false}, {five->front()}, {2, 3, 8, 1, 2},
                 counting({2, 3, 8, 1, 2}).doubles());
  EXPECT_FALSE(ran(crd, {counting({4, 2})}));
}

}  // namespace
}  // namespace convoy::unfold_test
