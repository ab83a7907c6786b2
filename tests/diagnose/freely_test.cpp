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

}  // namespace
}  // namespace convoy::diagnose::freely_test
