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

constexpr const char* in_front = "input x float32[?,6]\nconst r float32[] = 1.4142135\nconst o float32[] = 1\n";

TEST(TowardTflite, GeluSpeltWithTheErrorFunctionIsGelu) {
  const std::vector<std::string> spellings{
      "d = binary(x, r) function=divide\ne = unary(d) function=erf\ng = binary(e, o)\nh = binary(x, g) "
      "function=multiply\ny = affine(h) scale=0.5\noutput y\n",
      "d = affine(x) scale=0.7071067811865476\ne = unary(d) function=erf\ng = affine(e) offset=1\nh = affine(x) "
      "scale=0.5\ny = binary(h, g) function=multiply\noutput y\n",
      "d = affine(x) scale=0.70710677\ne = unary(d) function=erf\ng = affine(e) scale=0.5 offset=0.5\n"
      "y = binary(g, x) function=multiply\noutput y\n",
      // What it is of is a line itself, which is not its half.
      "a = affine(x) scale=0.5\nd = affine(a) scale=0.7071067811865476\ne = unary(d) function=erf\n"
      "g = affine(e) offset=1\nh = binary(a, g) function=multiply\ny = affine(h) scale=0.5\noutput y\n"};
  for (const std::string& spelling : spellings) expect_same_in_tflite(in_front + spelling, {{2, 6}}, "binary");
}

TEST(TowardTflite, WhatIsNearlyGeluIsNot) {
  const std::string erf = "d = binary(x, r) function=divide\ne = unary(d) function=erf\n";
  for (const std::string& nearly :
       {erf + "g = binary(e, o)\nh = binary(x, g) function=multiply\ny = affine(h) scale=0.25\noutput y\n",
        erf + "g = affine(e) offset=0.5\nh = binary(x, g) function=multiply\ny = affine(h) scale=0.5\noutput y\n",
        erf + "g = binary(e, o)\nh = binary(d, g) function=multiply\ny = affine(h) scale=0.5\noutput y\n",
        erf + "g = binary(e, o)\nh = binary(x, g) function=multiply\ny = affine(h) scale=0.5\noutput y\noutput g\n",
        std::string("d = affine(x) scale=0.7\ne = unary(d) function=erf\ng = binary(e, o)\nh = binary(x, g) "
                    "function=multiply\ny = affine(h) scale=0.5\noutput y\n")}) {
    const Graph target = rewritten(parsed(in_front + nearly), {}, tflite_target());
    EXPECT_EQ(text_of(target).find("gelu"), std::string::npos) << text_of(target);
  }
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
