#include "formats/repeated_blocks.h"

#include "formats/block_names.h"

#include <gtest/gtest.h>

namespace convoy::python::repeated_blocks_test {
namespace {

// "conv bn relu": each piece reads what the one before it gives; the first reads value 0.
std::vector<ProgramPiece> chain(const std::vector<std::string>& kinds) {
  std::vector<ProgramPiece> made;
  for (const std::string& kind : kinds) {
    const int value = static_cast<int>(made.size());
    made.push_back({.kind = kind, .word = kind, .numbers = {}, .lines = 1, .reads = {value}, .makes = {value + 1}});
  }
  return made;
}

std::string text(const std::vector<Grouped>& all) {
  std::string made;
  for (const Grouped& one : all)
    made += (made.empty() ? "" : " ") + (one.piece ? std::to_string(*one.piece) : "(" + text(one.inside) + ")");
  return made;
}

constexpr BlockCost cheap{.definition = 0.5, .use = 0.5, .worth = 0.1, .most_inputs = 2};

TEST(RepeatedBlocks, AreFoundInAChain) {
  const auto pieces = chain({"pad", "conv", "bn", "relu", "conv", "bn", "relu", "conv", "bn", "relu", "pool"});
  const auto found = repeated_blocks(pieces, {11}, cheap);
  EXPECT_EQ(text(found), "0 (1 2 3) (4 5 6) (7 8 9) 10");
  EXPECT_EQ(found[2].reads, (std::vector<int>{4}));
  EXPECT_EQ(found[2].makes, (std::vector<int>{7}));
}

TEST(RepeatedBlocks, AreNoneWhereNothingIsSaved) {
  const auto pieces = chain({"conv", "relu", "conv", "relu", "pool"});
  EXPECT_EQ(text(repeated_blocks(pieces, {5}, {.definition = 3, .use = 1, .worth = 1, .most_inputs = 2})), "0 1 2 3 4");
}

TEST(RepeatedBlocks, AreWiredAlike) {
  // Kinds are the same twice, but the second sum adds what stands in front of the block, not what it begins with.
  auto pieces = chain({"stem", "conv", "bn", "conv", "bn", "add", "conv", "bn", "conv", "bn", "add"});
  pieces[5].reads = {1, 5};
  pieces[10].reads = {6, 10};
  EXPECT_EQ(text(repeated_blocks(pieces, {11}, cheap)), "0 ((1 2) (3 4) 5) ((6 7) (8 9) 10)");
  pieces[10].reads = {8, 10};
  EXPECT_EQ(text(repeated_blocks(pieces, {11}, cheap)), "0 (1 2) (3 4) 5 (6 7) (8 9) 10");
}

TEST(RepeatedBlocks, GiveOneValue) {
  // A reader behind the block of what lies inside it: no block can hide that.
  auto pieces = chain({"a", "b", "c", "a", "b", "c", "end"});
  EXPECT_EQ(text(repeated_blocks(pieces, {7}, cheap)), "(0 1 2) (3 4 5) 6");
  pieces[6].reads = {2, 5, 6};
  EXPECT_EQ(text(repeated_blocks(pieces, {7}, {.definition = 1, .use = 1, .worth = 1, .most_inputs = 1})),
            "0 1 2 3 4 5 6");
}

TEST(RepeatedBlocks, DoNotTearAConvolutionFromItsNorm) {
  // [bn conv] stands there as often as [conv bn] would, and more of it.
  const auto pieces = chain({"conv", "bn", "conv", "bn", "conv", "bn", "conv", "pool"});
  EXPECT_EQ(text(repeated_blocks(pieces, {8}, {.definition = 0.5, .use = 1, .worth = 0.1, .most_inputs = 1})),
            "(0 1) (2 3) (4 5) 6 7");
}

TEST(RepeatedBlocks, StandInOneAnother) {
  const auto pieces = chain({"a", "conv", "x", "conv", "x", "b", "end", "a", "conv", "x", "conv", "x", "b"});
  EXPECT_EQ(text(repeated_blocks(pieces, {13}, {.definition = 0.5, .use = 0.5, .worth = 0.5, .most_inputs = 1})),
            "(0 (1 2) (3 4) 5) 6 (7 (8 9) (10 11) 12)");
}

TEST(RepeatedBlocks, AreNoneOfPiecesLikeNoOther) {
  auto pieces = chain({"a", "b", "c", "a", "b", "c"});
  pieces[4].kind.clear();
  EXPECT_EQ(text(repeated_blocks(pieces, {6}, cheap)), "0 1 2 3 4 5");
}

TEST(BlockNames, SayWhatABlockComputes) {
  EXPECT_EQ(block_name({"conv", "bn", "relu"}), "conv_bn_relu");
  EXPECT_EQ(block_name({"pad", "conv", "bn", "relu", "conv", "bn", "add", "relu"}), "residual_block");
  EXPECT_EQ(block_name({"depthwise", "bn", "relu", "conv", "bn", "relu"}), "depthwise_block");
  EXPECT_EQ(block_name({"linear", "matmul", "softmax", "matmul", "linear"}), "attention_block");
}

TEST(BlockNames, AreWhatTheNamesOfLayersShare) {
  const BlockNames made = names_in_block({{{"s0_unit3_1_conv", "s0_unit3_bn", ""}, {false, false, true}},
                                          {{"s2_unit1_1_conv", "s2_unit1_bn", ""}, {false, false, true}}},
                                         {"conv", "bn", "relu"});
  EXPECT_EQ(made.inside, (std::vector<std::string>{"1_conv", "bn", "relu"}));
  EXPECT_EQ(made.uses, (std::vector<std::string>{"s0_unit3", "s2_unit1"}));
}

TEST(BlockNames, AreTheOperatorsWhereLayersAreCounted) {
  const BlockNames made = names_in_block(
      {{{"conv2d_7", "act_dw_1"}, {true, false}}, {{"conv2d_9", "act_dw_2"}, {true, false}}}, {"conv", "relu"});
  EXPECT_EQ(made.inside, (std::vector<std::string>{"conv", "act_dw"}));
}

}  // namespace
}  // namespace convoy::python::repeated_blocks_test
