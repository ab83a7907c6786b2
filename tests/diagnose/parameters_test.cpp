// Operators that differ in what they say in parameters of their own: the one that differs is named, and nothing else.
#include "diagnose/diagnose.h"
#include "graph/text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace convoy::diagnose::parameters_test {
namespace {

struct Pair {
  std::string a, b, cause, says;
};

// Between two convolutions, so that both have weights to be aligned by.
Graph between(const std::string& step) {
  const auto graph = parse_graph(
      "input x float32[1,3,9,11]\nconst k float32[6,3,2,2] = seed 1\nconst d float32[4,6,1,1] = seed 2\n"
      "h = conv(x, k) windows=2,2 paddings=0:0,0:0\n" +
      step + "\ny = conv(t, d) windows=1,1 paddings=0:0,0:0\noutput y\n");
  EXPECT_TRUE(graph.has_value()) << step << message(graph.error());
  return graph.value_or(Graph{});
}

TEST(Parameters, TheOneThatDiffersIsNamed) {
  const std::string lrn = "t = local_response_norm(h) before=1 after=1 alpha=0.5", sum = "t = accumulate(h) axis=2",
                    top = "t, i = top_k(h) axis=3 count=4",
                    near = "t = resize(h) axes=2,3 factors=1.7,1.7 interpolation=nearest rounding=floor";
  for (const Pair& pair : std::vector<Pair>{
           {lrn, lrn + " beta=0.75", "parameter", "beta 0.75 in place of 0.5"},
           {lrn, lrn + " bias=2", "parameter", "bias 2 in place of 1"},
           {sum, sum + " exclusive=true", "parameter", "exclusive true in place of false"},
           {sum, sum + " backwards=true", "parameter", "backwards true in place of false"},
           {sum + " exclusive=true", sum + " backwards=true", "parameter",
            "exclusive false in place of true, backwards true in place of false"},
           {top, top + " largest=false", "parameter", "largest false in place of true"},
           {near + " coordinates=half_pixel", near + " coordinates=asymmetric", "resize_coordinates",
            "other coordinates"},
       }) {
    const auto found = diagnose(between(pair.a), between(pair.b));
    ASSERT_TRUE(found.has_value()) << pair.b << message(found.error());
    ASSERT_EQ(found->findings.size(), 1U) << pair.b;
    EXPECT_EQ(found->findings[0].cause, pair.cause) << pair.b;
    EXPECT_EQ(found->findings[0].says, pair.says) << pair.b;
    EXPECT_TRUE(found->findings[0].certain) << pair.b;
  }
}

}  // namespace
}  // namespace convoy::diagnose::parameters_test
