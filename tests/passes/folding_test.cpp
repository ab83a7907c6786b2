#include "passes/semantics.h"

#include <fmt/format.h>

namespace convoy::folding_test {
namespace {

std::string operators(const Graph& graph) {
  std::string all;
  for (const Node& node : graph.nodes) all += text_of(node.op) + "; ";
  return all;
}

std::string source(const std::string& pad, const std::string& layer, const std::string& size = "9") {
  return fmt::format(
      "input x float32[?,{0},7,2]\nconst k float32[3,3,2,4] = seed 1\nwide = pad(x) before=0,{1},0 "
      "after=0,{2}\n{3}output y\n",
      size, pad.substr(0, pad.find(' ')), pad.substr(pad.find(' ') + 1), layer);
}

constexpr const char* strided =
    "y = conv(wide, k, _) axes=channels_last/2 kernel_order=space_in_out windows=3/2,3/2 paddings=valid,valid\n";

TEST(FoldPadding, ZerosInFrontAreTheConvolutionsOwn) {
  for (const char* size : {"9", "8", "?"}) {
    const Graph graph = parsed(source("1,1 1,1,0", strided, size));
    EXPECT_EQ(operators(rewritten(graph)), "conv windows=3/2,3/2 paddings=1:1,1:1; ");
    expect_same_numbers(graph, rewritten(graph), {{2, size[0] == '9' ? 9 : 8, 7, 2}});
  }
  // One side alone is more than one number for both can say, where a window reads it.
  const Graph unread = parsed(source("0,0 1,1,0", strided, "9"));
  EXPECT_EQ(operators(rewritten(unread)), "conv windows=3/2,3/2 paddings=valid,valid; ");
  const Graph uneven = parsed(source("0,0 1,1,0", strided, "8"));
  EXPECT_EQ(operators(rewritten(uneven)),
            "pad before=0,0,0,0 after=0,0,1,1; conv windows=3/2,3/2 paddings=valid,valid; ");
  expect_same_numbers(uneven, rewritten(uneven), {{2, 8, 7, 2}});
}

TEST(FoldDilation, AnAxisOfOneCellMayStandAroundTheConvolution) {
  const Graph graph = parsed(
      "input x float32[?,13,2]\nconst k float32[1,3,2,4] = seed 1\n"
      "apart = space_to_batch(x) axes=1 block=2 before=4 after=1\nwide = unsqueeze(apart) axes=1\n"
      "made = conv(wide, k, _) axes=channels_last/2 kernel_order=space_in_out windows=1,3 paddings=valid,valid\n"
      "flat = squeeze(made) axes=1\ny = batch_to_space(flat) axes=1 block=2 before=0 after=1\noutput y\n");
  const std::string all = operators(rewritten(graph));
  EXPECT_NE(all.find("windows=1,3@2"), std::string::npos) << all;
  EXPECT_EQ(all.find("batch"), std::string::npos) << all;
  expect_same_numbers(graph, rewritten(graph), {{3, 13, 2}});
}

TEST(LowerBlocks, SpaceMovesIntoTheBatchAndBack) {
  const Graph there =
      parsed("input x float32[?,11,7,3]\ny = space_to_batch(x) axes=1,2 block=2,3 before=1,0 after=0,2\noutput y\n");
  const Graph back =
      parsed("input x float32[?,4,2,5]\ny = batch_to_space(x) axes=2 block=3 before=1 after=0\noutput y\n");
  for (const Target& target : {torch_target(), keras_target()}) {
    EXPECT_EQ(operators(rewritten(there, {}, target)).find("batch"), std::string::npos);
    expect_same_numbers(there, rewritten(there, {}, target), {{2, 11, 7, 3}});
    EXPECT_EQ(operators(rewritten(back, {}, target)).find("batch"), std::string::npos);
    expect_same_numbers(back, rewritten(back, {}, target), {{6, 4, 2, 5}});
  }
  EXPECT_NE(operators(rewritten(there, {}, tflite_target())).find("space_to_batch"), std::string::npos);
}

TEST(FoldPadding, AMaximumTakesMinusInfinityAndAnAverageZeros) {
  const char* maximum = "y = max_pool(wide) axes=channels_last/2 windows=3/2,3/2 paddings=valid,valid\n";
  const char* average = "y = average_pool(wide) axes=channels_last/2 windows=3/2,3/2 paddings=valid,valid\n";
  const Graph zeros = parsed(source("1,1 1,1,0", maximum));
  EXPECT_NE(operators(rewritten(zeros)).find("pad before"), std::string::npos);
  expect_same_numbers(zeros, rewritten(zeros), {{2, 9, 7, 2}});
  const Graph counted = parsed(source("1,1 1,1,0", average));
  EXPECT_EQ(operators(rewritten(counted)), "average_pool windows=3/2,3/2 paddings=1:1,1:1 counts_padding=true; ");
  expect_same_numbers(counted, rewritten(counted), {{2, 9, 7, 2}});
  const Graph wide = parsed(source("2,2 2,2,0", average));  // more than half of the kernel
  EXPECT_NE(operators(rewritten(wide)).find("pad before"), std::string::npos);
  expect_same_numbers(wide, rewritten(wide), {{2, 9, 7, 2}});
  const Graph least = parsed(source("1,1 1,1,0 value=-inf", maximum));
  EXPECT_EQ(operators(rewritten(least)), "max_pool windows=3/2,3/2 paddings=1:1,1:1; ");
  expect_same_numbers(least, rewritten(least), {{2, 9, 7, 2}});
}

TEST(FoldCrops, CutsAndZerosBehindATransposedConvolutionAreItsOwn) {
  const std::string layer =
      "input x float32[2,5,6,3]\nconst k float32[3,4,2,3] = seed 1\nwide = conv_transpose(x, k, _) "
      "axes=channels_last/2 kernel_order=space_out_in windows=3/2,4/2 paddings=0:0,0:0\n";
  const Graph cut = parsed(layer + "y = slice(wide) axis=1 start=1 stop=-2\noutput y\n");
  EXPECT_EQ(operators(rewritten(cut)).find("slice"), std::string::npos) << operators(rewritten(cut));
  expect_same_numbers(cut, rewritten(cut), {{2, 5, 6, 3}});
  const Graph more = parsed(layer + "y = pad(wide) before=0,0,0,0 after=0,1,0,0\noutput y\n");
  EXPECT_EQ(operators(rewritten(more)).find("pad before"), std::string::npos) << operators(rewritten(more));
  expect_same_numbers(more, rewritten(more), {{2, 5, 6, 3}});
  // What somebody else reads stays.
  const Graph read = parsed(layer + "y = slice(wide) axis=1 start=1 stop=-2\noutput y\noutput wide\n");
  EXPECT_NE(operators(rewritten(read)).find("slice"), std::string::npos);
  expect_same_numbers(read, rewritten(read), {{2, 5, 6, 3}});
}

TEST(FoldPadding, APoolThatTellsPositionsKeepsItsInput) {
  const Graph graph = parsed(source("1,1 1,1,0 value=-inf",
                                    "y, at = max_pool(wide) axes=channels_last/2 windows=3/2,3/2 paddings=valid,valid "
                                    "positions=plane\noutput at\n"));
  EXPECT_NE(operators(rewritten(graph)).find("pad before"), std::string::npos);
}

TEST(FoldPadding, APadThatIsReadElsewhereStays) {
  const Graph graph = parsed(source("1,1 1,1,0", std::string(strided) + "output wide\n"));
  EXPECT_NE(operators(rewritten(graph)).find("pad before"), std::string::npos);
  expect_same_numbers(graph, rewritten(graph), {{2, 9, 7, 2}});
}

}  // namespace
}  // namespace convoy::folding_test
