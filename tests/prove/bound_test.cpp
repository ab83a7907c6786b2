// The bounds of single operators against what numbers within their inputs' errors really give, and of constants that a
// port computes when it is written.
#include "prove/bound.h"
#include "prove/prove.h"

#include "graph/text.h"
#include "run/run.h"
#include "support/graphs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>

namespace convoy::bound_test {
namespace {

Tensor tensor_of(const Sizes& shape, const std::vector<double>& values) {
  return Tensor::of(shape, std::vector<float>(values.begin(), values.end()));
}

// One operator, and for each of its inputs where the numbers lie and how far they may be off.
struct Reading {
  double least = -3, most = 3, off = 0;
};
struct Operator {
  std::string_view text;
  std::vector<Reading> inputs;
  std::string_view name;
};

class InputsThatAreOff : public testing::TestWithParam<Operator> {};
TEST_P(InputsThatAreOff, StayWithinTheBound) {
  const Graph graph = graph_with_origins(GetParam().text);
  ASSERT_EQ(graph.inputs.size(), GetParam().inputs.size());
  const Node& node = graph.nodes[0];
  std::mt19937_64 random(7);
  std::vector<Tensor> inputs, errors;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const Reading& reading = GetParam().inputs[i];
    const Sizes shape = *sizes_of(graph[graph.inputs[i]].type.shape);
    std::uniform_real_distribution<double> number(reading.least, reading.most), share(0.1, 1);
    std::vector<double> values(static_cast<std::size_t>(*checked_count(shape))), off(values.size());
    for (double& value : values) value = number(random);
    for (double& one : off) one = reading.off * share(random);
    inputs.push_back(tensor_of(shape, values));
    errors.push_back(tensor_of(shape, off));
  }
  std::vector<const Tensor*> read, carried;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    read.push_back(&inputs[i]);
    carried.push_back(GetParam().inputs[i].off > 0 ? &errors[i] : nullptr);
  }
  const auto outputs = run_node(node, read, Precision::Single, 1);
  ASSERT_TRUE(outputs);
  const auto bound = bound_of({node, read, carried, *outputs, 1});
  ASSERT_TRUE(bound) << message(bound.error());
  ASSERT_TRUE(bound->errors[0]);
  const auto allowed = bound->errors[0]->doubles(), got = outputs->front().doubles();
  std::size_t finite = 0;
  for (const double one : allowed) finite += std::isfinite(one);
  EXPECT_GT(finite, allowed.size() / 2) << "a bound that says nothing";
  for (int trial = 0; trial < 40; ++trial) {
    std::vector<Tensor> moved;
    std::vector<const Tensor*> there;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      auto values = inputs[i].doubles();
      const auto off = errors[i].doubles();
      for (std::size_t k = 0; k < values.size(); ++k)
        if (carried[i]) values[k] += (random() % 2 == 0 ? off[k] : -off[k]) * 0.999;
      moved.push_back(Tensor::of(inputs[i].shape(), std::move(values)));
    }
    for (const Tensor& one : moved) there.push_back(&one);
    const auto exact = run_node(node, there, Precision::Double, 1);
    ASSERT_TRUE(exact);
    const auto wanted = exact->front().doubles();  // nan: moved to where the function has no number
    for (std::size_t k = 0; k < wanted.size(); ++k)
      EXPECT_TRUE(std::isnan(wanted[k]) || std::isinf(allowed[k]) || std::abs(got[k] - wanted[k]) <= allowed[k])
          << "element " << k << ": " << got[k] << " against " << wanted[k] << ", allowed " << allowed[k];
  }
}
INSTANTIATE_TEST_SUITE_P(
    Bound, InputsThatAreOff,
    testing::Values(
        Operator{"input x float32[4,9]\ny = softmax(x) axes=1\noutput y\n", {{-6, 6, 1.5}}, "SoftmaxFarOff"},
        Operator{
            "input x float32[4,9]\ny = softmax(x) axes=1\noutput y\n", {{-200, 200, 90}}, "SoftmaxOfSharesTooSmall"},
        Operator{
            "input x float32[4,9]\ny = softmax(x) axes=1 logarithm=true\noutput y\n", {{-6, 6, 1.5}}, "LogSoftmax"},
        Operator{"input x float32[2,3,4]\ninput g float32[3]\ninput b float32[3]\ninput m float32[3]\ninput v "
                 "float32[3]\ny = batch_norm(x, g, b, m, v) axis=1 epsilon=0.001\noutput y\n",
                 {{-3, 3, 0.01}, {-3, 3, 0.02}, {-3, 3, 0.03}, {-3, 3, 0.02}, {0.001, 0.02, 0.0005}},
                 "BatchNormWithComputedStatistics"},
        Operator{"input x float32[2,3,8]\ninput g float32[8]\ninput b float32[8]\ny = layer_norm(x, g, b) "
                 "axes=2\noutput y\n",
                 {{-3, 3, 0}, {-3, 3, 0.02}, {-3, 3, 0.03}},
                 "LayerNormWithComputedScale"},
        Operator{"input x float32[2,3,8]\ninput g float32[8]\ny = rms_norm(x, g) axes=2\noutput y\n",
                 {{-3, 3, 0}, {-3, 3, 0.02}},
                 "RmsNormWithComputedScale"},
        Operator{"input x float32[5,8]\ninput d float32[5,8]\ny = binary(x, d) function=divide\noutput y\n",
                 {{-3, 3, 0.01}, {-1, 1, 0.1}},
                 "QuotientsByNumbersNearZero"},
        Operator{"input x float32[5,8]\ny = unary(x) function=sqrt\noutput y\n", {{0, 1, 0.2}}, "RootsNearZero"},
        Operator{
            "input x float32[5,8]\ny = unary(x) function=log\noutput y\n", {{0.01, 1, 0.2}}, "LogarithmsNearZero"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Bound, ARootOfANumberThatIsOffIsBounded) {
  const Graph graph = graph_with_origins("input x float32[1]\ny = unary(x) function=sqrt\noutput y\n");
  const Tensor x = tensor_of({1}, {0}), off = tensor_of({1}, {1e-4});
  const auto outputs = run_node(graph.nodes[0], {&x}, Precision::Single, 1);
  const auto bound = bound_of({graph.nodes[0], {&x}, {&off}, *outputs, 1});
  ASSERT_TRUE(bound && bound->errors[0]);
  EXPECT_GE(bound->errors[0]->doubles()[0], 0.01);
  EXPECT_LE(bound->errors[0]->doubles()[0], 0.021);
}

TEST(Bound, WholeNumbersThatAreNotOffAreComputedExactly) {
  for (const char* const op :
       {"accumulate(x) reduction=sum axis=0", "reduce(x) reduction=sum axes=0", "binary(x, x) function=multiply"}) {
    const Graph graph = graph_with_origins("input x int64[3]\ny = " + std::string(op) + "\noutput y\n");
    const Tensor x = Tensor::of({3}, std::vector<std::int64_t>{1, 5, 6});
    const std::vector<const Tensor*> read(graph.nodes[0].inputs.size(), &x);
    const auto outputs = run_node(graph.nodes[0], read, Precision::Single, 1);
    ASSERT_TRUE(outputs) << op;
    const auto bound = bound_of({graph.nodes[0], read, std::vector<const Tensor*>(read.size()), *outputs, 1});
    ASSERT_TRUE(bound) << op << ": " << message(bound.error());
    EXPECT_FALSE(bound->errors[0]) << op;
    EXPECT_EQ(bound->limit, 0) << op;
  }
}

TEST(Bound, WholeNumbersThatAreOffKeepTheirType) {
  const std::vector<std::int64_t> numbers{7, 8, -1, 256, 5}, masks{6, 6, 6, 255, 7};
  const Graph graph =
      graph_with_origins("input x int64[5]\ninput m int64[5]\ny = binary(x, m) function=bit_and\noutput y\n");
  const Tensor x = Tensor::of({5}, numbers), m = Tensor::of({5}, masks);
  for (const int off : {1, 3}) {
    const Tensor by = tensor_of({5}, std::vector<double>(5, off));
    const auto outputs = run_node(graph.nodes[0], {&x, &m}, Precision::Single, 1);
    ASSERT_TRUE(outputs);
    const auto bound = bound_of({graph.nodes[0], {&x, &m}, {&by, nullptr}, *outputs, 1});
    ASSERT_TRUE(bound) << message(bound.error());
    ASSERT_TRUE(bound->errors[0]);
    const auto allowed = bound->errors[0]->doubles();
    for (int moved = -off; moved <= off; ++moved)
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        const std::int64_t apart = (numbers[i] & masks[i]) - ((numbers[i] + moved) & masks[i]);
        EXPECT_LE(static_cast<double>(std::abs(apart)), allowed[i]) << i << " moved by " << moved;
      }
  }
}

// A batch norm as exporters write it out: the source computes scale and offset from its parameters, the port holds them as
// they come out of float32.
const std::string frozen = R"(
input x float32[2,64,3]
const gamma float32[64,1] = seed 1
const beta float32[64,1] = seed 2
const mean float32[64,1] = seed 3
const variance float32[64,1] = seed 4 positive
n = affine(variance) offset=1e-05 @ n
r = unary(n) function=rsqrt @ r
scale = binary(gamma, r) function=multiply @ scale
part = binary(mean, scale) function=multiply @ part
offset = binary(beta, part) function=subtract @ offset
a = binary(x, scale) function=multiply @ a
y = binary(a, offset) function=add @ y
output y
)";
const std::string folded = R"(
input x float32[2,64,3]
const own/scale float32[64,1] = seed 1
const own/offset float32[64,1] = seed 2
a = binary(x, own/scale) function=multiply @ a
y = binary(a, own/offset) function=add @ y
output y
)";

Tensor& constant(Graph& graph, std::string_view name) {
  for (Value& value : graph.values)
    if (value.name == name) return *value.constant;
  ADD_FAILURE() << name;
  return *graph.values[1].constant;
}

Proof proof_of_folded(int ulps_off) {
  Graph source = graph_with_origins(frozen), target = graph_with_origins(folded);
  const auto gamma = constant(source, "gamma").floats(), beta = constant(source, "beta").floats(),
             mean = constant(source, "mean").floats(), variance = constant(source, "variance").floats();
  std::vector<float> scale, offset;
  for (std::size_t i = 0; i < gamma.size(); ++i) {
    const float n = variance[i] + 1e-5F, root = 1 / std::sqrt(n);
    scale.push_back(gamma[i] * root);
    const float part = mean[i] * scale.back();
    offset.push_back(beta[i] - part);
  }
  for (int step = 0; step < ulps_off; ++step)
    scale[5] = std::nextafter(scale[5], std::numeric_limits<float>::infinity());
  constant(target, "own/scale") = Tensor::of({64, 1}, scale);
  constant(target, "own/offset") = Tensor::of({64, 1}, offset);
  auto proof = prove(source, target);
  EXPECT_TRUE(proof) << message(proof.error());
  return proof ? *std::move(proof) : Proof{};
}

TEST(Bound, ConstantsThatAPortComputesAreRoundedOnTheWay) {
  const Proof proof = proof_of_folded(0);
  EXPECT_TRUE(proof.holds) << proof.reason;
  double worst = 0;
  for (const LayerProof& layer : proof.layers) worst = std::max(worst, layer.r);
  EXPECT_GT(worst, 0) << "something is rounded";
}

TEST(Bound, AConstantThatRoundingDoesNotExplainIsFound) {
  const Proof proof = proof_of_folded(40);
  EXPECT_FALSE(proof.holds);
  EXPECT_NE(proof.reason.find("layer 'a'"), std::string::npos) << proof.reason;
}

TEST(Bound, WhatThePortComputesItselfIsForcedAndKeepsTheNarrowBound) {
  const Proof proof = prove(graph_with_origins(frozen), graph_with_origins(frozen)).value_or(Proof{});
  EXPECT_TRUE(proof.holds) << proof.reason;
  for (const LayerProof& layer : proof.layers) {
    if (layer.layer == "a" || layer.layer == "y") { EXPECT_EQ(layer.limit, 2) << layer.layer; }
  }
}

// Another runtime may add a long row one by one in float32, where ours keeps more digits.
TEST(Bound, AWrittenModelsOwnCheckAllowsForSumsInAnyOrder) {
  const std::string text =
      "input x float32[1,3000]\na = affine(x) offset=100\nm = reduce(a) axes=1 keeps_axes=true\n"
      "y = binary(a, m) function=subtract\noutput y\n";
  const Proof proof = prove(graph_with_origins(text), graph_with_origins(text)).value_or(Proof{});
  ASSERT_TRUE(proof.holds) << proof.reason;
  ASSERT_EQ(proof.check.outputs.size(), 1U);
  auto x = proof.check.inputs[0].floats();
  float sum = 0;
  for (float& one : x) one += 100, sum += one;
  const float mean = sum / static_cast<float>(x.size());
  const auto wanted = proof.check.outputs[0].doubles(), allowed = proof.check.bounds[0].doubles();
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double apart = std::abs(static_cast<double>(x[i] - mean) - wanted[i]);
    worst = std::max(worst, apart);
    EXPECT_LE(apart, allowed[i]);
  }
  EXPECT_GT(worst, 1e-5) << "added one by one it is off by more than a last digit of what comes out";
  EXPECT_LT(allowed[0], 0.1) << "a mean that is left out is still seen";
}

}  // namespace
}  // namespace convoy::bound_test
