// Which layers stand for each other, whatever they are called and however their numbers lie.
#include "diagnose/align.h"
#include "diagnose/comparable.h"
#include "graph/text.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace convoy::diagnose::align_test {
namespace {

Graph form(const std::string& text) {
  const auto graph = parse_graph(text);
  EXPECT_TRUE(graph.has_value()) << text << message(graph.error());
  if (!graph) return {};
  auto result = comparable(*graph);
  EXPECT_TRUE(result.has_value()) << message(result.error());
  return result ? *std::move(result) : Graph{};
}

std::map<std::string, std::string> layers(const Graph& a, const Graph& b) {
  std::map<std::string, std::string> found;
  for (const Match& match : align(a, b).matches)
    if (match.node_a) found[a[match.node_a].layer] = b[match.node_b].layer;
  return found;
}

constexpr const char* constants = "const k float32[4,3,3,3] = seed 1\nconst l float32[4,4,3,3] = seed 2\n";

TEST(Align, LayersAreKnownByTheirNumbersInEveryOrderOfAxes) {
  const Graph a = form(
      "input x float32[2,8,11,3]\nconst k float32[3,3,3,4] = seed 1\n"
      "c1 = conv(x, k) axes=channels_last/2 kernel_order=space_in_out windows=3,3 paddings=same,same\n"
      "r1 = relu(c1)\noutput r1\n");
  Graph other = a;
  for (Node& node : other.nodes) node.layer = "the_" + node.layer;
  EXPECT_EQ(layers(a, other), (std::map<std::string, std::string>{{"c1", "the_c1"}, {"r1", "the_r1"}}));
}

TEST(Align, LayersThatHoldEachOthersNumbersStandForEachOtherByPlace) {
  const std::string head =
      "input x float32[2,4,8,11]\nconst k float32[4,4,3,3] = seed 1\nconst l float32[4,4,3,3] = seed 2\n";
  const Graph a = form(
      head +
      "one = conv(x, k) windows=3,3 paddings=1:1,1:1\ntwo = conv(one, l) windows=3,3 paddings=1:1,1:1\noutput two\n");
  const Graph b = form(head +
                       "first = conv(x, l) windows=3,3 paddings=1:1,1:1\nsecond = conv(first, k) windows=3,3 "
                       "paddings=1:1,1:1\noutput second\n");
  EXPECT_EQ(layers(a, b), (std::map<std::string, std::string>{{"one", "first"}, {"two", "second"}}));
}

TEST(Align, LayersWithTheSameNumbersStandForEachOtherByWhatReadsThem) {
  const std::string head = "input x float32[2,3,8,11]\nconst k float32[3,3,3,3] = seed 1\n";
  const std::string window = " windows=3,3 paddings=1:1,1:1\n";
  const Graph a = form(head + "one = conv(x, k)" + window + "two = conv(x, k)" + window + "three = conv(two, k)" +
                       window + "sum = binary(one, three)\noutput sum\n");
  const Graph b = form(head + "two = conv(x, k)" + window + "one = conv(x, k)" + window + "three = conv(two, k)" +
                       window + "sum = binary(one, three)\noutput sum\n");
  EXPECT_EQ(layers(a, b),
            (std::map<std::string, std::string>{{"one", "one"}, {"two", "two"}, {"three", "three"}, {"sum", "sum"}}));
}

TEST(Align, ASlopeIsKnownByItsNumberBehindAnotherFunction) {
  const std::string head =
      "input x float32[2,3,8,11]\nconst s float32[3,1,1] = 0.5 0.25 0.125\nconst t float32[1,1,1] = 0.375\n";
  const Graph a = form(head + "one = prelu(x, s)\ntwo = prelu(one, t)\noutput two\n");
  const Graph b = form(head + "other = relu(x)\ntwo = prelu(other, t)\noutput two\n");
  EXPECT_EQ(layers(a, b), (std::map<std::string, std::string>{{"one", "other"}, {"two", "two"}}));
}

TEST(Align, ABatchNormThatWasFoldedInLeavesItsConvolutionInPlace) {
  const std::string head =
      std::string("input x float32[2,3,8,11]\n") + constants +
      "const g float32[4] = 2 -3 0.5 1\nconst z float32[4] = 0 0 0 0\nconst o float32[4] = 1 1 1 1\n";
  const Graph a = form(head +
                       "c = conv(x, k) windows=3,3 paddings=1:1,1:1\nn = batch_norm(c, g, z, z, o) epsilon=0\nd = "
                       "conv(n, l) windows=3,3 paddings=1:1,1:1\noutput d\n");
  Graph b = form(head +
                 "folded = conv(x, k) windows=3,3 paddings=1:1,1:1\nnext = conv(folded, l) windows=3,3 "
                 "paddings=1:1,1:1\noutput next\n");
  Tensor& kernel = *b[b.nodes[0].inputs[1]].constant;
  auto values = kernel.floats();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= (std::vector<float>{2, -3, 0.5, 1})[i / 27];
  kernel = Tensor::of(kernel.shape(), values);
  bool found = false;
  for (const Match& match : align(a, b).matches) {
    if (match.how != How::Scaled) continue;
    found = true;
    EXPECT_EQ(a[a[match.a].producer].layer, "n");
    EXPECT_EQ(b[b[match.b].producer].layer, "folded");
  }
  EXPECT_TRUE(found);
}

TEST(Align, ACropBelongsToTheLayerInFrontOfIt) {
  const std::string head = std::string("input x float32[2,3,8,11]\n") + constants;
  const Graph a = form(head + "c = conv(x, k) windows=3/2,3/2 paddings=0:1,1:1\nr = relu(c)\noutput r\n");
  const Graph b = form(
      head + "c = conv(x, k) windows=3/2,3/2 paddings=2:1,1:1\ns = slice(c) axis=2 start=1\nr = relu(s)\noutput r\n");
  for (const Match& match : align(a, b).matches) {
    if (!match.node_a || a[match.node_a].layer != "c") continue;
    EXPECT_EQ(b[b[match.b].producer].layer, "s");
  }
}

}  // namespace
}  // namespace convoy::diagnose::align_test
