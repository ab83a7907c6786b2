// A kernel beside the same kernel with a norm folded into it: whether every number is the same but for rounding.
#include "diagnose/affine_form.h"
#include "graph/text.h"

#include <gtest/gtest.h>

#include <string>

namespace convoy::diagnose::affine_form_test {
namespace {

AffineForm form_of(const std::string& text) {
  const auto graph = parse_graph(text);
  EXPECT_TRUE(graph.has_value()) << text << message(graph.error());
  const auto form = graph ? affine_form_of(*graph) : std::nullopt;
  EXPECT_TRUE(form.has_value()) << text;
  return form.value_or(AffineForm{});
}

// Two channels, scaled by 2 and by 1/2 behind the sum.
AffineForm folded(const std::string& kernel, const std::string& bias, const std::string& more = "output y\n") {
  return form_of("input x float32[1,3]\nconst k float32[2,3] = " + kernel + "\nconst c float32[2] = " + bias +
                 "\ny = linear(x, k, c)\n" + more);
}
AffineForm normed() {
  return form_of(
      "input x float32[1,3]\nconst k float32[2,3] = 1 2 3 4 5 6\nconst f float32[2] = 2 0.5\nconst d float32[2] = 1 7\n"
      "h = linear(x, k)\ns = binary(h, f) function=multiply\ny = binary(s, d) function=add\noutput y\n");
}

TEST(AffineForm, IsOneMapWhereEveryNumberIsTheSameButForRounding) {
  EXPECT_TRUE(are_one_map(normed(), folded("2 4 6 2 2.5 3", "1 7")));
  EXPECT_TRUE(are_one_map(normed(), folded("2 4 6 2 2.50000024 3", "1 7")));
}

TEST(AffineForm, IsNotOneMapWhereANumberIsAnotherThanRoundingMakes) {
  EXPECT_FALSE(are_one_map(normed(), folded("2 4 6 2 2.5 3.00001", "1 7")));
  EXPECT_FALSE(are_one_map(normed(), folded("2 4 6 2 2.5 3", "1 7.0001")));
  EXPECT_FALSE(are_one_map(normed(), folded("4 2 6 2 2.5 3", "1 7"))) << "another order";
  EXPECT_FALSE(are_one_map(normed(), folded("2 4 6 2 2.5 nan", "1 7")));
}

TEST(AffineForm, IsNotOneMapWhereLimitsCutItOff) {
  const std::string relu = "z = relu(y)\noutput z\n";
  EXPECT_FALSE(are_one_map(folded("1 2 3 4 5 6", "1 7", relu), folded("1 2 3 4 5 6", "1 7", relu)));
}

}  // namespace
}  // namespace convoy::diagnose::affine_form_test
