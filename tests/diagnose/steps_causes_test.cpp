// Two models that round to steps, and one that does beside one that does not.
#include "diagnose/diagnose.h"

#include <gtest/gtest.h>

namespace convoy::steps_causes_test {
namespace {

ValueId number(Graph& graph, double value) {
  return graph.constant(graph.unique_name("number"), Tensor::of({}, std::vector<float>{static_cast<float>(value)}),
                        false);
}
ValueId add(Graph& graph, Op op, std::vector<ValueId> inputs, const std::string& layer) {
  return graph.add(std::move(op), std::move(inputs), layer)->front();
}

struct Steps {
  double scale = 0.05, zero = 3, scale_back = 0.05, zero_back = 3;
};

ValueId stepped(Graph& graph, ValueId x, const Steps& steps, const std::string& name) {
  const std::string round = name + "_quantize", widen = name + "_dequantize";
  ValueId y = add(graph, Binary{BinaryFunction::Divide}, {x, number(graph, steps.scale)}, round);
  y = add(graph, Unary{Function::Round}, {y}, round);
  y = add(graph, Binary{BinaryFunction::Add}, {y, number(graph, steps.zero)}, round);
  y = add(graph, Cast{DType::I8}, {add(graph, Clip{-128, 127}, {y}, round)}, round);
  y = add(graph, Cast{DType::F32}, {y}, widen);
  y = add(graph, Binary{BinaryFunction::Subtract}, {y, number(graph, steps.zero_back)}, widen);
  return add(graph, Binary{BinaryFunction::Multiply}, {y, number(graph, steps.scale_back)}, widen);
}

Graph model(const std::optional<Steps>& steps, float more = 0) {
  Graph graph;
  const ValueId x = graph.input("x", {DType::F32, {Dim(5), Dim(4)}});
  std::vector<float> weights;
  for (int i = 0; i < 24; ++i) weights.push_back(static_cast<float>(i * 7 % 23 - 11) * 0.03125F + more);
  const ValueId w = graph.constant("w", Tensor::of({4, 6}, weights));
  ValueId y = steps ? stepped(graph, x, {0.04, 1, 0.04, 1}, "in") : x;
  y = add(graph, Linear{LinearOrder::InOut}, {y, w}, "dense");
  if (steps) y = stepped(graph, y, *steps, "out");
  graph.outputs = {add(graph, Unary{Function::Tanh}, {y}, "tanh")};
  graph.output_names = {"y"};
  graph.source_format = "ONNX";
  return graph;
}

void expect_cause(const Steps& steps, std::string_view cause) {
  const auto found = diagnose::diagnose(model(Steps{}), model(steps));
  ASSERT_TRUE(found) << message(found.error());
  ASSERT_EQ(found->findings.size(), 1U) << cause;
  EXPECT_EQ(found->findings[0].cause, cause);
  EXPECT_TRUE(found->findings[0].a.starts_with("out_")) << found->findings[0].a;
}

TEST(StepsCauses, ANumberBesideTheStepsOfAllOthersWasNotRounded) {
  Graph changed = model({});
  for (Value& value : changed.values) {
    if (!value.constant) continue;
    auto weights = value.constant->floats();
    weights[9] += 0.0093127F;
    value.constant = Tensor::of({4, 6}, std::move(weights));
  }
  const auto found = diagnose::diagnose(model({}), changed);
  ASSERT_TRUE(found) << message(found.error());
  ASSERT_EQ(found->findings.size(), 1U);
  EXPECT_EQ(found->findings[0].cause, "weights_differ");
}

TEST(StepsCauses, AScaleOrAZeroPointIsNamedByWhatItIs) {
  expect_cause({0.06, 3, 0.06, 3}, "quant_scale");
  expect_cause({0.04, 1, 0.04, 1}, "quant_steps_of_another");
  expect_cause({0.02, 3, 0.02, 3}, "quant_saturates");
  expect_cause({0.05, 9, 0.05, 9}, "quant_zero_point");
  expect_cause({0.05, 3, 0.05, 9}, "quant_zero_point");
  expect_cause({0.055, 0, 0.055, 0}, "quant_symmetric");
}

TEST(StepsCauses, BesideItsTwinOfRealNumbersALayerSaysWhatItLoses) {
  for (const bool turned : {false, true}) {
    const Graph real = model({}), rounded = model(Steps{});
    const auto found = turned ? diagnose::diagnose(rounded, real) : diagnose::diagnose(real, rounded);
    ASSERT_TRUE(found) << message(found.error());
    EXPECT_FALSE(found->same);
    EXPECT_TRUE(found->findings.empty());
    ASSERT_FALSE(found->losses.empty());
    for (const auto& loss : found->losses) EXPECT_GT(loss.decibels, 0) << loss.a << " " << loss.b;
    EXPECT_LE(found->losses.front().decibels, found->losses.back().decibels);
  }
}

TEST(StepsCauses, StepsThatAreSpeltOutInSeveralLayersAreTheSame) {
  Graph apart = model(Steps{});
  for (std::size_t i = 0; i < apart.nodes.size(); ++i) apart.nodes[i].layer += std::to_string(i);
  for (const bool turned : {false, true}) {
    const auto found = turned ? diagnose::diagnose(apart, model(Steps{})) : diagnose::diagnose(model(Steps{}), apart);
    ASSERT_TRUE(found) << message(found.error());
    EXPECT_TRUE(found->same);
    EXPECT_TRUE(found->losses.empty());
  }
}

TEST(StepsCauses, BesideItsTwinAnotherMistakeIsFoundAllTheSame) {
  const auto found = diagnose::diagnose(model({}), model(Steps{}, 0.2F));
  ASSERT_TRUE(found) << message(found.error());
  ASSERT_FALSE(found->findings.empty());
  EXPECT_EQ(found->findings[0].a, "dense");
}

}  // namespace
}  // namespace convoy::steps_causes_test
