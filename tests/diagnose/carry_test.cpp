// Whose numbers land where, when one model's weights are put into another that was written independently.
#include "diagnose/carry.h"
#include "graph/text.h"
#include "run/run.h"
#include "support/graphs.h"
#include "support/refusal.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace convoy::diagnose::carry_test {
namespace {

// "target" -> "source: how"
std::map<std::string, std::string> rows(const Graph& a, const Graph& b) {
  const auto carried = carry(a, b);
  EXPECT_TRUE(carried.has_value()) << message(carried.error());
  std::map<std::string, std::string> all;
  if (carried)
    for (const CarriedWeight& row : carried->weights) all[row.target] = row.source + ": " + row.how;
  return all;
}

std::vector<float> output(const Graph& graph, Tensor x) {
  const auto done = run(graph, {std::move(x)}, RunOptions{});
  EXPECT_TRUE(done.has_value());
  return done ? done->at(graph.outputs[0]).floats() : std::vector<float>{};
}

Tensor ramp(const Sizes& shape) {
  Size count = 1;
  for (const Size n : shape) count *= n;
  std::vector<float> values;
  for (Size i = 0; i < count; ++i) values.push_back(static_cast<float>(i * 7 % 11) - 4.5F);
  return Tensor::of(shape, std::move(values));
}

TEST(Carry, KernelsAreBroughtIntoTheOtherOrderOfAxes) {
  const Graph a = graph_of(
      "input x float32[2,8,11,3]\nconst k float32[5,3,3,4] = seed 1\nconst c float32[4] = 1 2 3 4\n"
      "y = conv(x, k, c) axes=channels_last/2 kernel_order=space_in_out windows=5,3 paddings=same,same\noutput y\n");
  const Graph b = graph_of(
      "input image float32[2,3,8,11]\nconst weight float32[4,3,5,3] = seed 2\nconst bias float32[4] = 0 0 0 0\n"
      "z = conv(image, weight, bias) windows=5,3 paddings=2:2,1:1\noutput z\n");
  EXPECT_EQ(rows(a, b),
            (std::map<std::string, std::string>{{"weight", "k: permute(3, 2, 0, 1)"}, {"bias", "c: as it is"}}));
}

constexpr const char* two_branches =
    "p = conv(x, k1) windows=3,3 paddings=1:1,1:1\nq = conv(x, k2) windows=3,3 paddings=1:1,1:1\n";

TEST(Carry, BranchesOfOneSizeAreToldApartByTheOrderInWhichTheyAreJoined) {
  const std::string head =
      "input x float32[2,3,8,11]\nconst k1 float32[4,3,3,3] = seed 1\nconst k2 float32[4,3,3,3] = seed 2\n";
  const Graph a = graph_of(head + two_branches + "y = concat(p, q) axis=1\noutput y\n");
  const Graph b = graph_of(
      "input x float32[2,3,8,11]\nconst w1 float32[4,3,3,3] = seed 3\nconst w2 float32[4,3,3,3] = seed 4\n"
      "late = conv(x, w1) windows=3,3 paddings=1:1,1:1\nearly = conv(x, w2) windows=3,3 paddings=1:1,1:1\n"
      "y = concat(early, late) axis=1\noutput y\n");
  EXPECT_EQ(rows(a, b), (std::map<std::string, std::string>{{"w1", "k2: as it is"}, {"w2", "k1: as it is"}}));
}

TEST(Carry, BranchesThatMayBeExchangedAreRefusedUnlessTheirNamesSayWhichIsWhich) {
  const std::string head =
      "input x float32[2,3,8,11]\nconst k1 float32[4,3,3,3] = seed 1\nconst k2 float32[4,3,3,3] = seed 2\n";
  const Graph a = graph_of(head + two_branches + "y = binary(p, q) function=add\noutput y\n");
  const auto b = [](const std::string& first, const std::string& second) {
    return graph_of(
        "input x float32[2,3,8,11]\nconst w1 float32[4,3,3,3] = seed 3\nconst w2 float32[4,3,3,3] = seed 4\n" + first +
        " = conv(x, w1) windows=3,3 paddings=1:1,1:1\n" + second +
        " = conv(x, w2) windows=3,3 paddings=1:1,1:1\ny = binary(" + first + ", " + second +
        ") function=add\noutput y\n");
  };
  const std::string said = refusal(carry(a, b("left", "right")));
  EXPECT_NE(said.find("layers 'p' and 'q' of a may each be any of 'left' and 'right' of b"), std::string::npos) << said;
  EXPECT_EQ(rows(a, b("Q", "P")), (std::map<std::string, std::string>{{"w1", "k2: as it is"}, {"w2", "k1: as it is"}}));
}

TEST(Carry, ABatchNormIsFoldedWhereTheOtherModelHasNone) {
  const Graph a = graph_of(
      "input x float32[2,3,5,4]\nconst k float32[2,3,1,1] = 1 2 3 4 5 6\nconst g float32[2] = 2 -3\n"
      "const o float32[2] = 1 0.5\nconst m float32[2] = 0.25 -1\nconst v float32[2] = 4 0.25\n"
      "c = conv(x, k) windows=1,1 paddings=valid,valid\nn = batch_norm(c, g, o, m, v) epsilon=0\noutput n\n");
  const Graph b = graph_of(
      "input x float32[2,3,5,4]\nconst w float32[2,3,1,1] = 1 1 1 1 1 1\nconst d float32[2] = 0 0\n"
      "c = conv(x, w, d) windows=1,1 paddings=valid,valid\noutput c\n");
  const auto carried = carry(a, b);
  ASSERT_TRUE(carried.has_value()) << message(carried.error());
  // gamma / sqrt(variance) is 1 and -6; beta - mean * that is 0.75 and -5.5.
  std::map<std::string, std::vector<float>> numbers;
  for (const Value& value : carried->b.values)
    if (value.constant) numbers[value.name] = value.constant->floats();
  EXPECT_EQ(numbers["w"], (std::vector<float>{1, 2, 3, -24, -30, -36}));
  EXPECT_EQ(numbers["d"], (std::vector<float>{0.75F, -5.5F}));
}

TEST(Carry, ABatchNormThatTheOtherModelHasFoldedBecomesOneThatChangesNothing) {
  const Graph a = graph_of(
      "input x float32[2,3,5,4]\nconst k float32[2,3,1,1] = 1 2 3 4 5 6\nconst c float32[2] = 0.5 -2\n"
      "y = conv(x, k, c) windows=1,1 paddings=valid,valid\noutput y\n");
  const Graph b = graph_of(
      "input x float32[2,3,5,4]\nconst w float32[2,3,1,1] = 1 1 1 1 1 1\nconst g float32[2] = 2 -3\n"
      "const o float32[2] = 1 0.5\nconst m float32[2] = 0.25 -1\nconst v float32[2] = 4 0.25\n"
      "c = conv(x, w) windows=1,1 paddings=valid,valid\nn = batch_norm(c, g, o, m, v) epsilon=0.001\noutput n\n");
  const auto carried = carry(a, b);
  ASSERT_TRUE(carried.has_value()) << message(carried.error());
  const auto wanted = output(a, ramp({2, 3, 5, 4})), got = output(carried->b, ramp({2, 3, 5, 4}));
  ASSERT_EQ(wanted.size(), got.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(wanted[i], got[i], 1e-5F * std::abs(wanted[i]) + 1e-6F);
}

TEST(Carry, ALayerWithoutCounterpartIsNamed) {
  const Graph a = graph_of(
      "input x float32[2,3,8,11]\nconst k float32[4,3,3,3] = seed 1\nconst l float32[5,4,1,1] = seed 2\n"
      "c1 = conv(x, k) windows=3,3 paddings=1:1,1:1\nc2 = conv(c1, l) windows=1,1 paddings=valid,valid\noutput c2\n");
  const Graph b = graph_of(
      "input x float32[2,3,8,11]\nconst k float32[4,3,3,3] = seed 1\nconst l float32[6,4,1,1] = seed 2\n"
      "one = conv(x, k) windows=3,3 paddings=1:1,1:1\ntwo = conv(one, l) windows=1,1 paddings=valid,valid\n"
      "output two\n");
  EXPECT_EQ(refusal(carry(a, b)),
            "the match is not certain: nothing in b stands for 'c2' of a, nothing in a stands for 'two' of b");
}

TEST(Carry, ABiasThatHasNoPlaceIsRefused) {
  const Graph a = graph_of(
      "input x float32[2,3,8,11]\nconst k float32[4,3,3,3] = seed 1\nconst c float32[4] = 1 2 3 4\n"
      "y = conv(x, k, c) windows=3,3 paddings=1:1,1:1\noutput y\n");
  const Graph b = graph_of(
      "input x float32[2,3,8,11]\nconst k float32[4,3,3,3] = seed 1\nz = conv(x, k) windows=3,3 paddings=1:1,1:1\n"
      "output z\n");
  EXPECT_EQ(refusal(carry(a, b)), "layer 'y' of a has a bias, 'z' of b has no place for one");
}

}  // namespace
}  // namespace convoy::diagnose::carry_test
