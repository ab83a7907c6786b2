// What reads the same cells as a layer, against lists of cells.
#include "explain/like.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace convoy::explain::like_test {
namespace {

Layer convolution(std::vector<Window> windows, std::vector<Padding> paddings, std::vector<Dim> in) {
  Layer layer;
  layer.axes = {Order::ChannelsFirst, static_cast<Size>(windows.size())};
  layer.windows = std::move(windows);
  layer.paddings = std::move(paddings);
  layer.in = std::move(in);
  return layer;
}

const LikeWord* word(const LikeAnswer& answer, std::string_view words) {
  for (const auto& one : answer.words)
    if (one.words.starts_with(words)) return &one;
  return nullptr;
}

TEST(Like, ComparesKerasSameWithPaddingOne) {
  // Keras 3.15.1 same, kernel 3, stride 2: (0, 1) on 224, (1, 1) on 225.
  const auto answer =
      like(convolution({{3, 2, 1}, {3, 2, 1}}, {{Spelling::SameUpper}, {Spelling::SameUpper}}, {224, 225}));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->axes[0].before, 0);
  EXPECT_EQ(answer->axes[1].before, 1);
  EXPECT_EQ(answer->axes[0].after, (Range{1, 2}));
  EXPECT_TRUE(word(*answer, "same by")->same);
  EXPECT_EQ(word(*answer, "same with the odd cell in front")->holds,
            (std::vector<std::string>{"starts one cell earlier", "the same"}));
  EXPECT_EQ(word(*answer, "PyTorch padding=1")->holds,
            (std::vector<std::string>{"starts one cell earlier", "the same"}));
  EXPECT_EQ(word(*answer, "valid")->holds, (std::vector<std::string>{"111 outputs", "112 outputs"}));
}

TEST(Like, SaysForWhichSizes) {
  const auto answer = like(convolution({{3, 2, 1}}, {{Spelling::SameUpper}}, {Dim::unknown()}));
  ASSERT_TRUE(answer);
  EXPECT_FALSE(answer->axes[0].before);
  EXPECT_EQ(word(*answer, "PyTorch padding=1")->holds.front(), "the same for odd sizes");
  EXPECT_EQ(word(*answer, "causal")->holds.front(), "never the same");
  const auto one = like(convolution({{4, 1, 3}}, {{Spelling::SameUpper}}, {Dim::unknown()}));
  ASSERT_TRUE(one);
  EXPECT_EQ(one->axes[0].before, 4);
  EXPECT_EQ(one->axes[0].after, (Range{5, 5}));
  EXPECT_FALSE(word(*one, "PyTorch padding=4")->same);
}

TEST(Like, KnowsThatEqualLengthsOfATransposedLayerAreNotEqualValues) {
  // PyTorch 2.13: kernel 3, stride 2, padding 1, output_padding 1; TensorFlow 2.21 SAME of the same length.
  Layer layer;
  layer.does = Does::Transpose;
  layer.axes = {Order::ChannelsFirst, 1};
  layer.windows = {{3, 2, 1}};
  layer.crops = {crops(1, 0)};
  layer.in = {10};
  const auto answer = like(layer);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->words.front().words, "PyTorch padding=1, output_padding=1");
  EXPECT_EQ(word(*answer, "same by")->holds.front(), "every value one place later");
  EXPECT_EQ(word(*answer, "the whole scatter")->holds.front(), "one cell longer");
  EXPECT_TRUE(text_of(*answer).contains("cut before 1, after 0"));
  EXPECT_EQ(json_of(*answer)["words"][0]["same"], true);
}

}  // namespace
}  // namespace convoy::explain::like_test
