// Pieces of a graph compute from what they are fed.
#include "diagnose/piece.h"
#include "graph/text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace convoy::diagnose::piece_test {
namespace {

ValueId named(const Graph& graph, const std::string& name) {
  for (std::size_t i = 0; i < graph.values.size(); ++i)
    if (graph.values[i].name == name) return {static_cast<std::int32_t>(i)};
  ADD_FAILURE() << "no value " << name;
  return {};
}

// The split is computed again for its second output: that it makes the first one, too, changes nothing of what is fed there.
TEST(Piece, WhatIsFedStaysWhereItsLayerIsComputedAgain) {
  const auto graph = parse_graph(
      "input x float32[4]\np, q = split(x) axis=0 sizes=2,2\ny = binary(p, q) function=subtract\noutput y\n");
  ASSERT_TRUE(graph.has_value()) << message(graph.error());
  const std::vector<std::vector<std::string>> orders{{"p", "x"}, {"x", "p"}};
  for (const auto& order : orders) {
    std::vector<ValueId> boundary;
    std::vector<Tensor> fed;
    for (const std::string& name : order) {
      boundary.push_back(named(*graph, name));
      fed.push_back(name == "p" ? Tensor::of({2}, std::vector<float>{100, 200})
                                : Tensor::of({4}, std::vector<float>{1, 2, 3, 4}));
    }
    const Piece piece = cut(*graph, named(*graph, "y"), boundary);
    const auto made = evaluate(piece.graph, fed, 1);
    ASSERT_TRUE(made.has_value()) << message(made.error());
    EXPECT_EQ(made->floats(), (std::vector<float>{97, 196}));
    const auto rounded = evaluate_rounded(piece.graph, fed, 1);
    ASSERT_TRUE(rounded.has_value()) << message(rounded.error());
    EXPECT_EQ(rounded->value.floats(), (std::vector<float>{97, 196}));
  }
}

}  // namespace
}  // namespace convoy::diagnose::piece_test
