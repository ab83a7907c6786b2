// Stretches that round to whole numbers of a scale and widen these again, and weights as such numbers.
#include "graph/quantized_steps.h"

#include <gtest/gtest.h>

namespace convoy::quantized_steps_test {
namespace {

constexpr std::string_view one = "steps";

Tensor scalar(float x) { return Tensor::of({}, std::vector<float>{x}); }

// round(x / scale) + zero, kept within the bounds, as uint8; the last step belongs to `last_layer`.
Graph rounding(Tensor scale, Tensor zero, double most = 255, std::string last_layer = std::string(one)) {
  Graph graph;
  const std::string layer(one);
  const ValueId x = graph.input("x", {DType::F32, {Dim(2), Dim(3), Dim(5)}});
  const ValueId s = graph.constant("scale", std::move(scale)), z = graph.constant("zero", std::move(zero));
  const auto add = [&](Op op, std::vector<ValueId> inputs, const std::string& name) {
    return graph.add(std::move(op), std::move(inputs), name)->front();
  };
  const ValueId quotient = add(Binary{BinaryFunction::Divide}, {x, s}, layer);
  const ValueId round = add(Unary{Function::Round}, {quotient}, layer);
  const ValueId shifted = add(Binary{BinaryFunction::Add}, {round, z}, layer);
  const ValueId clipped = add(Clip{0, most}, {shifted}, layer);
  graph.outputs = {add(Cast{DType::U8}, {clipped}, last_layer)};
  graph.output_names = {"y"};
  return graph;
}

TEST(QuantizedSteps, FiveStepsOfOneLayerAreOneRounding) {
  const auto found = quantized_stretches(rounding(scalar(0.25F), scalar(7)));
  ASSERT_EQ(found.by_last.size(), 1U);
  const QuantizedStretch& stretch = found.by_last.begin()->second;
  EXPECT_TRUE(stretch.rounds);
  EXPECT_EQ(stretch.held, DType::U8);
  EXPECT_EQ(stretch.zeros, std::vector<std::int64_t>{7});
  EXPECT_FALSE(stretch.axis);
  EXPECT_EQ(found.goes, (std::vector<char>{1, 1, 1, 1, 0}));
}

TEST(QuantizedSteps, TheAxisIsWhereTheScalesAre) {
  const auto found = quantized_stretches(rounding(Tensor::of({3, 1}, std::vector<float>{1, 2, 4}), scalar(0)));
  ASSERT_EQ(found.by_last.size(), 1U);
  EXPECT_EQ(found.by_last.begin()->second.axis, 1);
  EXPECT_EQ(found.by_last.begin()->second.zeros, (std::vector<std::int64_t>{0, 0, 0}));
}

TEST(QuantizedSteps, AnotherRangeAnotherLayerOrBrokenZerosAreNone) {
  EXPECT_TRUE(quantized_stretches(rounding(scalar(0.25F), scalar(7), 254)).by_last.empty());
  EXPECT_TRUE(quantized_stretches(rounding(scalar(0.25F), scalar(7), 255, "other")).by_last.empty());
  EXPECT_TRUE(quantized_stretches(rounding(scalar(0.25F), scalar(7.5F))).by_last.empty());
  EXPECT_TRUE(quantized_stretches(rounding(scalar(0.25F), scalar(300))).by_last.empty());
  EXPECT_TRUE(quantized_stretches(rounding(scalar(-0.25F), scalar(7))).by_last.empty());
}

TEST(QuantizedSteps, AResultThatIsReadInBetweenIsSaid) {
  Graph graph = rounding(scalar(0.25F), scalar(7));
  graph.outputs.push_back(graph.nodes[2].outputs.front());
  graph.output_names.emplace_back("shifted");
  EXPECT_TRUE(quantized_stretches(graph).by_last.empty());
}

// 3 kernels of 2 cells, with scales 1/2, 1/4 and 1/8 around 0, 1 and 2.
const Quantization three{DType::I8, {0.5F, 0.25F, 0.125F}, {0, 1, 2}, 0};
Tensor whole_kernel() {
  std::vector<std::byte> bytes;
  for (const int q : {-7, 5, 3, -2, 127, 2}) bytes.push_back(static_cast<std::byte>(q));
  return *Tensor::owning(DType::I8, {3, 2}, std::move(bytes));
}
const std::vector<float> kernel{-3.5F, 2.5F, 0.5F, -0.75F, 15.625F, 0};

TEST(QuantizedSteps, AWeightIsItsWholeNumbersAgain) {
  const auto held = held_as(Tensor::of({3, 2}, kernel), {whole_kernel(), three});
  ASSERT_TRUE(held);
  EXPECT_EQ(held->axis, 0);
  EXPECT_EQ(held->whole.integers(), (std::vector<std::int64_t>{-7, 5, 3, -2, 127, 2}));
}

TEST(QuantizedSteps, AWeightThatWasTurnedIsToo) {
  const auto held =
      held_as(Tensor::of({2, 3}, std::vector<float>{-3.5F, 0.5F, 15.625F, 2.5F, -0.75F, 0}), {whole_kernel(), three});
  ASSERT_TRUE(held);
  EXPECT_EQ(held->axis, 1);
  EXPECT_EQ(held->whole.integers(), (std::vector<std::int64_t>{-7, 3, 127, 5, -2, 2}));
}

TEST(QuantizedSteps, NumbersBetweenStepsOrOutsideTheTypeAreNotHeld) {
  auto between = kernel;
  between[2] = 0.6F;
  EXPECT_FALSE(held_as(Tensor::of({3, 2}, between), {whole_kernel(), three}));
  auto outside = kernel;
  outside[0] = -65;
  EXPECT_FALSE(held_as(Tensor::of({3, 2}, outside), {whole_kernel(), three}));
}

}  // namespace
}  // namespace convoy::quantized_steps_test
