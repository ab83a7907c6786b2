// Whole models against one another: what stands beside the comparison of their stretches.
#include "diagnose/freely.h"
#include "graph/text.h"

#include <gtest/gtest.h>

#include <string>

namespace convoy::diagnose::freely_test {
namespace {

Graph parsed(const std::string& text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.has_value()) << text << message(graph.error());
  return graph ? *graph : Graph{};
}

std::optional<Finding> found(const Graph& a, const Graph& b) {
  const auto at = at_one_size(a, b, 0, 1, {}, Unsaid::Convention);
  EXPECT_TRUE(at.has_value());
  const Alignment alignment = align(at->a, at->b);
  Diagnosis noted;
  run_freely(*at, alignment, noted, 1);
  return outputs_apart(*at, alignment, noted, 1);
}

const std::string begin = "input x float32[3,5]\nconst k float32[7,5] = seed 1\nz = linear(x, k, _)\n";

TEST(Freely, OutputsThatFloat64MakesOtherwiseAreApart) {
  const Graph a = parsed(begin + "y = unary(z) function=tanh\noutput y\n");
  EXPECT_FALSE(found(a, a));
  const auto other = found(a, parsed(begin + "y = unary(z) function=softsign\noutput y\n"));
  ASSERT_TRUE(other);
  EXPECT_EQ(other->cause, "unknown");
  EXPECT_EQ(other->a, "y");
  EXPECT_FALSE(other->certain);
  EXPECT_GT(other->largest, 0.01);
}

// What roundings of weights come to is none, and behind a step nothing is said.
TEST(Freely, RoundingsAndStepsAreLeftToTheStretches) {
  const Graph a = parsed(begin + "y = affine(z) scale=1\noutput y\n");
  EXPECT_FALSE(found(a, parsed(begin + "y = affine(z) scale=1.0001\noutput y\n")));
  const std::string step = "u = unary(z) function=round\n";
  EXPECT_FALSE(found(parsed(begin + step + "y = affine(u) scale=1\noutput y\n"),
                     parsed(begin + step + "y = affine(u) scale=2\noutput y\n")));
}

// Each step doubles what lies between two numbers and more: after 40 of them their last digits are everything.
std::string magnifying(double first) {
  std::string text = "input x float32[3,24]\n";
  std::string before = "x";
  for (int i = 0; i < 40; ++i) {
    const std::string n = std::to_string(i);
    text += "const k" + n + " float32[24,24] = seed 1" + n + "\nz" + n + " = linear(" + before + ", k" + n + ", _)\ns" +
            n + " = affine(z" + n + ") scale=" + (i == 0 ? std::to_string(first) : "0.6") + "\nh" + n + " = unary(s" +
            n + ") function=tanh\n";
    before = "h" + n;
  }
  return text + "output " + before + "\n";
}

TEST(Freely, WhatLastDigitsOfWeightsMoveAsFarIsNotedAndNoDifference) {
  const Graph a = parsed(magnifying(0.6)), b = parsed(magnifying(0.600001));
  const auto at = at_one_size(a, b, 0, 1, {}, Unsaid::Convention);
  ASSERT_TRUE(at.has_value());
  const Alignment alignment = align(at->a, at->b);
  Diagnosis noted;
  run_freely(*at, alignment, noted, 1);
  EXPECT_GT(noted.outputs_largest, 0.01);
  EXPECT_FALSE(outputs_apart(*at, alignment, noted, 1));
  EXPECT_GT(noted.outputs_moved, 0.01);
}

}  // namespace
}  // namespace convoy::diagnose::freely_test
