#include "graph/text.h"
#include "prove/prove.h"
#include "support/graphs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace convoy::probe_test {
namespace {

std::vector<Sizes> sizes_tried(std::string_view text, int trial) {
  const auto inputs = probing_inputs(graph_of(text), trial, 1);
  EXPECT_TRUE(inputs) << message(inputs.error());
  std::vector<Sizes> sizes;
  if (!inputs) return sizes;
  for (const Tensor& input : *inputs) sizes.push_back(input.shape());
  return sizes;
}

TEST(Probe, NumbersHaveBothSignsAndAreNeverNearZero) {
  const Graph graph = graph_of("input x float32[?,20,30,3]\ny = relu(x)\noutput y\n");
  const auto inputs = probing_inputs(graph, 0, 1);
  ASSERT_TRUE(inputs);
  const auto values = inputs->at(0).floats();
  EXPECT_GT(std::ranges::count_if(values, [](float x) { return x > 0; }), 1000);
  EXPECT_GT(std::ranges::count_if(values, [](float x) { return x < 0; }), 1000);
  EXPECT_TRUE(std::ranges::all_of(values, [](float x) { return std::abs(x) > 0.2F && std::abs(x) < 8; }));
  EXPECT_TRUE(same_bytes(inputs->at(0), probing_inputs(graph, 0, 1)->at(0)));
  EXPECT_FALSE(same_bytes(inputs->at(0), probing_inputs(graph, 0, 2)->at(0)));
  EXPECT_FALSE(same_bytes(inputs->at(0), probing_inputs(graph, 1, 1)->at(0)));
}

TEST(Probe, FreeSizesAreUnlikeAndEvenThenOdd) {
  constexpr std::string_view text = "input x float32[?,?,?,3]\ny = relu(x)\noutput y\n";
  EXPECT_EQ(sizes_tried(text, 0), (std::vector<Sizes>{{2, 32, 36, 3}}));
  EXPECT_EQ(sizes_tried(text, 1), (std::vector<Sizes>{{2, 33, 37, 3}}));
}

TEST(Probe, InputsThatMeetGetSizesThatFit) {
  constexpr std::string_view text =
      "input a float32[?,?,3]\ninput b float32[?,?,3]\ny = binary(a, b)\nz = binary(y, b)\noutput z\n";
  EXPECT_EQ(sizes_tried(text, 1), (std::vector<Sizes>{{2, 33, 3}, {2, 33, 3}}));
}

TEST(Probe, AGridThatOnlyFitsMultiplesIsFound) {
  // Down by 8 with nothing padded and up again, and added to what came in: only multiples of 8 fit.
  constexpr std::string_view text = R"(
input x float32[?,?,?,1]
const k float32[8,8,1,1] = seed 1
d = conv(x, k, _) axes=channels_last/2 kernel_order=space_in_out windows=8/8,8/8 paddings=valid,valid
u = conv_transpose(d, k, _) axes=channels_last/2 kernel_order=space_out_in windows=8/8,8/8 paddings=keras_valid,keras_valid
y = binary(x, u)
output y
)";
  EXPECT_EQ(sizes_tried(text, 1), (std::vector<Sizes>{{2, 40, 56, 1}}));
}

TEST(Probe, ModelsThatCountExamplesGetAsManyAsFit) {
  // The sixth example; and films of five images each.
  EXPECT_EQ(sizes_tried("input x float32[?,7,3]\ny = slice(x) axis=0 start=5 stop=6\n"
                        "z = reshape(y) to=7,3\noutput z\n",
                        1),
            (std::vector<Sizes>{{6, 7, 3}}));
  EXPECT_EQ(sizes_tried("input x float32[?,?,3]\ny = reshape(x) to=5,-1,3\nz = reshape(y) to=5,-1,33,3\noutput z\n", 1),
            (std::vector<Sizes>{{5, 33, 3}}));
}

TEST(Probe, LargeWindowsGetLargeSizes) {
  constexpr std::string_view text = R"(
input x float32[?,?,?,1]
const k float32[60,70,1,1] = seed 1
y = conv(x, k, _) axes=channels_last/2 kernel_order=space_in_out windows=60,70 paddings=valid,valid
output y
)";
  EXPECT_EQ(sizes_tried(text, 0), (std::vector<Sizes>{{2, 64, 96, 1}}));
  EXPECT_EQ(sizes_tried(text, 1), (std::vector<Sizes>{{2, 65, 71, 1}}));
}

TEST(Probe, IndicesStayWithinTheirTable) {
  const Graph graph = graph_of(R"(
input words int32[?,?]
const table float32[7,4] = seed 1
flat = reshape(words) to=0,-1
y = embedding(flat, table)
output y
)");
  const auto inputs = probing_inputs(graph, 1, 1);
  ASSERT_TRUE(inputs);
  const auto values = inputs->at(0).integers();
  EXPECT_EQ(std::ranges::min(values), 0);
  EXPECT_EQ(std::ranges::max(values), 6);
}

TEST(Probe, PlacesThatCountFromOneEndInsideTheirTable) {
  const auto sizes = [](const std::string& rows) {
    return sizes_tried("input x float32[2,?]\nconst one int64[1] = 1\nconst table float32[" + rows + R"(,4] = seed 1
ones = expand_like(one, x) from=1
count = accumulate(ones) axis=0
y = embedding(count, table)
output y
)",
                       0);
  };
  const Size free = sizes("4000").at(0)[1];
  EXPECT_LT(sizes(std::to_string(free)).at(0)[1], free);  // it has no row of that number
  EXPECT_EQ(sizes(std::to_string(free + 1)).at(0)[1], free);
}

TEST(Probe, NumbersAskedForAreThoseVeryOnes) {
  const Graph graph =
      graph_of("input x int32[4,9]\nconst k int32[] = 16777217\ny = binary(x, k) function=equal\noutput y\n");
  const auto inputs = probing_inputs(graph, 0, 1);
  ASSERT_TRUE(inputs);
  EXPECT_EQ(inputs->at(0).dtype(), DType::I64);
  EXPECT_EQ(std::ranges::max(inputs->at(0).integers()), 16777217);  // which is no float32
}

TEST(Probe, WithoutASizeThatFitsTheInputIsNamed) {
  const Graph graph = graph_of(R"(
input x float32[?,?,3]
y = reshape(x) to=0,7000,3
output y
)");
  const auto inputs = probing_inputs(graph, 0, 1);
  ASSERT_FALSE(inputs);
  EXPECT_TRUE(message(inputs.error()).starts_with("no size was found that fits input 'x' ")) << message(inputs.error());
  EXPECT_TRUE(message(inputs.error()).ends_with("; say sizes that fit with --size or --shape"));
  EXPECT_EQ(inputs.error().fault, Fault::Usage);  // the file is sound
}

}  // namespace
}  // namespace convoy::probe_test
