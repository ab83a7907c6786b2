// One layer written twice, the second time wrongly: is the layer found, and the mistake called by its name?
#include "diagnose/diagnose.h"
#include "graph/text.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <string>
#include <vector>

namespace convoy::diagnose {
namespace {

Graph parsed(const std::string& text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.has_value()) << text << message(graph.error());
  return graph ? *graph : Graph{};
}

struct Row {
  std::string name;
  std::string before;  // input and constants
  std::string a, b;    // nodes; the last value is y
  std::string cause;
};

constexpr const char* image = "input x float32[2,3,8,11]\n";
constexpr const char* kernel = "const k float32[4,3,3,3] = seed 1\nconst c float32[4] = seed 2\n";

std::vector<Row> rows() {
  const std::string conv = std::string(image) + kernel;
  const auto pads = [](const std::string& p) { return "y = conv(x, k, c) windows=3/2,3/2 paddings=" + p + "\n"; };
  const std::string norm = std::string(image) +
                           "const g float32[3] = seed 3\nconst o float32[3] = seed 4\nconst m float32[3] = seed 5\n"
                           "const v float32[3] = seed 6 positive\n";
  return {
      {"same as padding=1", conv, pads("same,same"), pads("1:1,1:1"), "same_as_symmetric"},
      {"odd cell in front", conv, pads("0:1,0:1"), pads("0:1,1:0"), "odd_cell_on_the_other_side"},
      {"no padding", conv, "y = conv(x, k, c) windows=3,3 paddings=1:1,1:1\n",
       "y = conv(x, k, c) windows=3,3 paddings=0:0,0:0\n", "pad_missing"},
      {"padding where none is", conv, pads("0:0,0:0"), pads("1:1,1:1"), "pad_where_none"},
      {"pads of the axes exchanged", conv, "y = conv(x, k, c) windows=3,3 paddings=2:1,0:1\n",
       "y = conv(x, k, c) windows=3,3 paddings=0:1,2:1\n", "pads_hw_swapped"},
      {"dilation forgotten in the pads", conv, "y = conv(x, k, c) windows=3@2,3@2 paddings=2:2,2:2\n",
       "y = conv(x, k, c) windows=3@2,3@2 paddings=1:1,1:1\n", "pad_ignores_dilation"},
      {"strides of the axes exchanged", conv, "y = conv(x, k, c) windows=3/2,3 paddings=1:1,1:1\n",
       "y = conv(x, k, c) windows=3,3/2 paddings=1:1,1:1\n", "strides_swapped"},
      {"another dilation", conv, "y = conv(x, k, c) windows=3@2,3@2 paddings=0:0,0:0\n",
       "y = conv(x, k, c) windows=3,3 paddings=0:0,0:0\n", "dilation"},
      {"a bias lost", conv, "y = conv(x, k, c) windows=3,3 paddings=1:1,1:1\n",
       "y = conv(x, k) windows=3,3 paddings=1:1,1:1\n", "bias_missing"},
      {"a border that is mirrored", conv, "y = conv(x, k, c) windows=3,3 paddings=1:1,1:1\n",
       "p = pad(x) before=0,0,1,1 after=0,0,1,1 mode=reflect\ny = conv(p, k, c) windows=3,3 paddings=0:0,0:0\n",
       "pad_mode"},
      {"epsilon", norm, "y = batch_norm(x, g, o, m, v) epsilon=0.001\n",
       "y = batch_norm(x, g, o, m, v) epsilon=1e-05\n", "bn_eps"},
      {"scale and offset exchanged", norm, "y = batch_norm(x, g, o, m, v)\n", "y = batch_norm(x, o, g, m, v)\n",
       "bn_gamma_beta_swapped"},
      {"mean and variance exchanged", norm + "const w float32[3] = seed 7 positive\n",
       "y = batch_norm(x, g, o, w, v)\n", "y = batch_norm(x, g, o, v, w)\n", "bn_mean_var_swapped"},
      {"a maximum for a mean", image, "y = average_pool(x) windows=2/2,2/2 paddings=valid,valid\n",
       "y = max_pool(x) windows=2/2,2/2 paddings=valid,valid\n", "pool_kind"},
      {"padding counted", image, "y = average_pool(x) windows=3/2,3/2 paddings=1:1,1:1\n",
       "y = average_pool(x) windows=3/2,3/2 paddings=1:1,1:1 counts_padding=true\n", "pool_divisor"},
      {"a ceil window lost", image, "y = max_pool(x) windows=3/2,3/2 paddings=0:0:ceil,0:0:ceil\n",
       "y = max_pool(x) windows=3/2,3/2 paddings=0:0,0:0\n", "ceil_mode"},
      {"a slope", image, "y = relu(x) negative_slope=0.3\n", "y = relu(x) negative_slope=0.01\n", "activation_slope"},
      {"a limit", image, "y = relu(x) max_value=6\n", "y = relu(x)\n", "activation_limit"},
      {"a formula", image, "y = unary(x) function=gelu\n", "y = unary(x) function=gelu_tanh\n", "activation_variant"},
      {"another function", image, "y = relu(x)\n", "y = unary(x) function=silu\n", "activation_kind"},
      {"no activation", conv, "z = conv(x, k, c) windows=3,3 paddings=1:1,1:1\ny = relu(z)\n",
       "y = conv(x, k, c) windows=3,3 paddings=1:1,1:1\n", "activation_missing"},
      {"one activation too many", conv, "y = conv(x, k, c) windows=3,3 paddings=1:1,1:1\n",
       "z = conv(x, k, c) windows=3,3 paddings=1:1,1:1\ny = relu(z)\n", "activation_extra"},
      {"the axis of a softmax", image, "y = softmax(x) axes=1\n", "y = softmax(x) axes=2\n", "softmax_axis"},
      {"the order of a pixel shuffle", "input x float32[2,8,3,5]\n", "y = depth_to_space(x)\n",
       "y = depth_to_space(x) depth_first=false\n", "depth_to_space_order"},
      {"halves exchanged", conv + "const l float32[4,3,3,3] = seed 9\n",
       "p = conv(x, k, c) windows=3,3 paddings=1:1,1:1\nq = conv(x, l, c) windows=3,3 paddings=1:1,1:1\ny = concat(p, "
       "q)\n",
       "p = conv(x, k, c) windows=3,3 paddings=1:1,1:1\nq = conv(x, l, c) windows=3,3 paddings=1:1,1:1\ny = concat(q, "
       "p)\n",
       "concat_order"},
      {"a layer norm written out, with another epsilon", image,
       "m = reduce(x) axes=3 keeps_axes=true\nd = binary(x, m) function=subtract\nq = binary(d, d) function=multiply\n"
       "v = reduce(q) axes=3 keeps_axes=true\ne = affine(v) offset=0.001\ns = unary(e) function=sqrt\n"
       "y = binary(d, s) function=divide\n",
       "y = layer_norm(x) axes=3 epsilon=1e-05\n", "norm_eps"},
      {"a maximum with its own pads and pads of its own", image, "y = max_pool(x) windows=3/2,3/2 paddings=1:1,1:1\n",
       "p = pad(x) before=0,0,1,1 after=0,0,1,1\ny = max_pool(p) windows=3/2,3/2 paddings=0:0,0:0\n", "pool_pad_value"},
      {"five inputs, two of them exchanged", "input x float32[2,3,8,11]\n",
       "p = relu(x)\nq = unary(x) function=tanh\nr = unary(x) function=sigmoid\ns = unary(x) function=exp\n"
       "y = concat(x, p, q, r, s)\n",
       "p = relu(x)\nq = unary(x) function=tanh\nr = unary(x) function=sigmoid\ns = unary(x) function=exp\n"
       "y = concat(x, p, s, r, q)\n",
       "concat_order"},
      {"corners", image, "y = resize(x) sizes=16,22 interpolation=linear\n",
       "y = resize(x) sizes=16,22 interpolation=linear coordinates=align_corners\n", "align_corners"},
  };
}

TEST(Cause, EveryKnownMistakeIsCalledByItsName) {
  for (const Row& row : rows()) {
    SCOPED_TRACE(row.name);
    const Graph a = parsed(row.before + row.a + "output y\n"), b = parsed(row.before + row.b + "output y\n");
    const auto found = diagnose(a, b);
    ASSERT_TRUE(found.has_value()) << message(found.error());
    EXPECT_FALSE(found->same);
    ASSERT_EQ(found->findings.size(), 1U);
    EXPECT_EQ(found->findings[0].cause, row.cause);
    EXPECT_LE(found->findings[0].ratio_after_fix, found->findings[0].limit);
    EXPECT_GT(found->findings[0].ratio, found->findings[0].limit);
  }
}

TEST(Cause, AModelIsTheSameAsItself) {
  for (const Row& row : rows()) {
    SCOPED_TRACE(row.name);
    const Graph b = parsed(row.before + row.b + "output y\n");
    const auto found = diagnose(b, b);
    ASSERT_TRUE(found.has_value()) << message(found.error());
    EXPECT_TRUE(found->same);
    EXPECT_TRUE(found->findings.empty());
  }
}

TEST(Cause, TwoMistakesInOneLayerAreBothNamed) {
  const std::string before = std::string(image) + kernel;
  const Graph a = parsed(before + "y = conv(x, k, c) windows=3/2,3/2 paddings=same,same\noutput y\n");
  const Graph b = parsed(before + "y = conv(x, k) windows=3/2,3/2 paddings=1:1,1:1\noutput y\n");
  const auto found = diagnose(a, b);
  ASSERT_TRUE(found.has_value()) << message(found.error());
  ASSERT_EQ(found->findings.size(), 2U);
  std::vector<std::string> causes{found->findings[0].cause, found->findings[1].cause};
  std::sort(causes.begin(), causes.end());
  EXPECT_EQ(causes, (std::vector<std::string>{"bias_missing", "same_as_symmetric"}));
}

TEST(Cause, SiblingsInAnotherOrderAreTheSame) {
  const Graph a = parsed(std::string(image) + "p = relu(x)\nq = unary(x) function=tanh\ny = concat(p, q)\noutput y\n");
  const Graph b = parsed(std::string(image) + "t = unary(x) function=tanh\nr = relu(x)\ny = concat(r, t)\noutput y\n");
  const auto found = diagnose(a, b);
  ASSERT_TRUE(found.has_value()) << message(found.error());
  EXPECT_TRUE(found->same);
}

TEST(Cause, ASizeThatTellsTwoCausesApartIsNamed) {
  const std::string before = "input x float32[2,3,8,11]\n" + std::string(kernel);
  const Graph a = parsed(before + "y = conv(x, k, c) windows=3/2,3 paddings=same,same\noutput y\n");
  const Graph b = parsed(before + "y = conv(x, k, c) windows=3/2,3 paddings=1:0,1:1\noutput y\n");
  const auto found = diagnose(a, b);
  ASSERT_TRUE(found.has_value()) << message(found.error());
  ASSERT_EQ(found->findings.size(), 1U);
  const Finding& finding = found->findings[0];
  EXPECT_EQ(finding.cause, "same_as_symmetric");
  EXPECT_NE(std::find(finding.also.begin(), finding.also.end(), "odd_cell_on_the_other_side"), finding.also.end());
}

TEST(Cause, WhatNoKnownMistakeExplainsIsNotGuessed) {
  const std::string before = std::string(image) + kernel;
  const Graph a = parsed(before + "y = conv(x, k, c) windows=3,3 paddings=1:1,1:1\noutput y\n");
  const Graph b = parsed(before +
                         "z = conv(x, k, c) windows=3,3 paddings=1:1,1:1\nw = unary(z) function=sin\n"
                         "y = binary(z, w) function=multiply\noutput y\n");
  const auto found = diagnose(a, b);
  ASSERT_TRUE(found.has_value()) << message(found.error());
  ASSERT_EQ(found->findings.size(), 1U);
  EXPECT_EQ(found->findings[0].cause, "unknown");
}

}  // namespace
}  // namespace convoy::diagnose
