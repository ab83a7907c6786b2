// What is spelt out for TFLite alone computes the same.
#include "passes/semantics.h"

#include <gtest/gtest.h>

namespace convoy {
namespace {

std::size_t how_many(const Graph& graph, std::string_view op) {
  std::size_t n = 0;
  for (const Node& node : graph.nodes) n += name_of(node.op) == op;
  return n;
}

void expect_same_in_tflite(const std::string& text, const std::vector<Sizes>& shapes, std::string_view gone) {
  const Graph source = parsed(text), target = rewritten(source, {}, tflite_target());
  ASSERT_FALSE(source.outputs.empty());
  EXPECT_EQ(how_many(target, gone), 0U) << text_of(target);
  expect_same_numbers(source, target, shapes);
}

TEST(TowardTflite, AnLstmIsItsSteps) {
  const std::string weights =
      "input x float32[?,4,3]\nconst k float32[3,20] = seed 1\nconst r float32[5,20] = seed 2\nconst b float32[20] = "
      "seed 3\n";
  expect_same_in_tflite(weights + "y = lstm(x, k, r, b) returns_sequence=true\noutput y\n", {{2, 4, 3}}, "lstm");
  expect_same_in_tflite(weights + "y = lstm(x, k, r, b) backwards=true\noutput y\n", {{2, 4, 3}}, "lstm");
}

TEST(TowardTflite, ALstmBeginsWithTheStateItIsGiven) {
  expect_same_in_tflite(
      "input x float32[2,3,3]\ninput h float32[2,4]\nconst k float32[3,16] = seed 1\nconst r float32[4,16] = seed 2\n"
      "y = lstm(x, k, r, _, _, h) returns_sequence=true\noutput y\n",
      {{2, 3, 3}, {2, 4}}, "lstm");
}

TEST(TowardTflite, AGruResetsBeforeOrBehindTheProduct) {
  const std::string weights =
      "input x float32[?,4,3]\nconst k float32[3,15] = seed 1\nconst r float32[5,15] = seed 2\nconst b float32[15] = "
      "seed 3\nconst s float32[15] = seed 4\n";
  expect_same_in_tflite(weights + "y = gru(x, k, r, b, s) returns_sequence=true\noutput y\n", {{2, 4, 3}}, "gru");
  expect_same_in_tflite(
      weights + "y = gru(x, k, r, b) reset_after=false backwards=true returns_sequence=true\noutput y\n", {{2, 4, 3}},
      "gru");
}

TEST(TowardTflite, ASimpleCellIsItsSteps) {
  expect_same_in_tflite(
      "input x float32[?,4,3]\nconst k float32[3,5] = seed 1\nconst r float32[5,5] = seed 2\ny = simple_rnn(x, k, r) "
      "activation=relu\noutput y\n",
      {{2, 4, 3}}, "simple_rnn");
}

TEST(TowardTflite, AnAdaptivePoolIsTakenCellByCell) {
  expect_same_in_tflite(
      "input x float32[2,7,8,3]\ny = adaptive_pool(x) axes=channels_last/2 out=3,5 kind=average\noutput y\n",
      {{2, 7, 8, 3}}, "adaptive_pool");
}

TEST(AnyTarget, SpaceInTheBatchAroundAConvolutionIsItsDilation) {
  const std::string text =
      "input x float32[2,7,8,3]\nconst k float32[3,2,3,4] = seed 1\nconst b float32[4] = seed 2\n"
      "s = space_to_batch(x) axes=1,2 block=2,3 before=2,1 after=3,3\n"
      "c = conv(s, k, b) axes=channels_last/2 kernel_order=space_in_out windows=3,2 paddings=valid,valid\n"
      "y = batch_to_space(c) axes=1,2 block=2,3 before=0,1 after=1,0\noutput y\n";
  expect_same_in_tflite(text, {{2, 7, 8, 3}}, "space_to_batch");
  expect_same_in_tflite(text, {{2, 7, 8, 3}}, "batch_to_space");
}

}  // namespace
}  // namespace convoy
