// What a word that is none was meant to be.
#include "base/nearest.h"

#include <gtest/gtest.h>

namespace convoy::nearest_test {
namespace {

using Names = std::vector<std::string>;

const Names commands{"port", "diff", "summary", "run", "weights", "pad", "ops"};

TEST(Nearest, slips_of_the_hand_are_understood) {
  EXPECT_EQ(nearest("sumary", commands), "summary");
  EXPECT_EQ(nearest("wieghts", commands), "weights");
  EXPECT_EQ(nearest("prot", commands), "port");
  EXPECT_EQ(nearest("pads", commands), "pad");
  EXPECT_EQ(nearest("SUMMARY", commands), "summary");
}

TEST(Nearest, the_beginning_of_a_name_is_understood) {
  EXPECT_EQ(nearest("block4", {"block3_conv1", "block4_conv2"}), "block4_conv2");
  EXPECT_EQ(nearest("weights-format-of-it", {"weights-format", "weights"}), "weights-format");
  EXPECT_EQ(nearest("kernel-size", {"in", "kernel"}), "kernel");
}

TEST(Nearest, what_is_near_to_nothing_is_left_alone) {
  EXPECT_EQ(nearest("translate", commands), "");
  EXPECT_EQ(nearest("", commands), "");
  EXPECT_EQ(nearest("xy", {}), "");
  EXPECT_EQ(nearest("7", {"0", "1"}), "");
  EXPECT_EQ(nearest(std::string(100, 'p'), commands), "");
  EXPECT_EQ(did_you_mean("translate", commands), "");
  EXPECT_EQ(did_you_mean("translate", {"port"}, "there is port"), "; there is port");
  EXPECT_EQ(did_you_mean("porrt", {"port"}, "there is port"), "; did you mean 'port'?");
}

TEST(Nearest, of_several_the_first_of_the_nearest_is_taken) {
  EXPECT_EQ(nearest("conv2d_3", {"conv2d_1", "conv2d_2", "conv2d"}), "conv2d_1");
  EXPECT_EQ(nearest_place("conv2", {"dense", "conv2d"}), 1u);
}

}  // namespace
}  // namespace convoy::nearest_test
