#include "run/cost.h"

#include <gtest/gtest.h>

namespace convoy::cost_test {
namespace {

ValueId ones(Graph& graph, const Sizes& shape) {
  const auto count = static_cast<std::size_t>(*checked_count(shape));
  return graph.constant("ones", Tensor::of(shape, std::vector<float>(count, 1)));
}

TEST(Cost, CountsWhatKnownNumbersMake) {
  Graph graph;
  const ValueId a = ones(graph, {30, 50}), b = ones(graph, {50, 7});
  const std::size_t given = graph.values.size();
  const auto product = graph.add(MatMul{}, {a, b}, "product", "MatMul");
  ASSERT_TRUE(product);
  const Cost cost = cost_of(graph, given);
  EXPECT_EQ(cost.numbers, 30 * 7);
  EXPECT_EQ(cost.products, 30 * 7 * 38);  // the longest line of a square of 1,500 numbers
  EXPECT_EQ(cost_of(graph).numbers, 30 * 50 + 50 * 7 + 30 * 7);
}

TEST(Cost, CountsNothingThatWaitsForInputs) {
  Graph graph;
  const ValueId x = graph.input("x", TensorType{DType::F32, {Dim(30), Dim(50)}}), b = ones(graph, {50, 7});
  const std::size_t given = graph.values.size();
  ASSERT_TRUE(graph.add(MatMul{}, {x, b}, "product", "MatMul"));
  EXPECT_EQ(cost_of(graph, given).numbers, 0);
  EXPECT_EQ(cost_of(graph, given).products, 0);
}

TEST(Allowance, GrowsWithWhatTheFileHoldsAndIsSpentOnce) {
  Allowance allowance{100};
  allowance.add(25);
  EXPECT_TRUE(allowance.spend({.numbers = 150, .products = 320}));
  EXPECT_EQ(allowance.numbers, 30);
  const auto refused = allowance.spend({.numbers = 31});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, Fault::Budget);
  EXPECT_EQ(allowance.numbers, 30);
}

}  // namespace
}  // namespace convoy::cost_test
