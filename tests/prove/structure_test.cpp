#include "prove/structure.h"

#include "graph/text.h"
#include "support/graphs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace convoy::structure_test {
namespace {

std::string replaced(std::string text, std::string_view before, std::string_view after) {
  const auto at = text.find(before);
  EXPECT_NE(at, std::string::npos) << before;
  return at == std::string::npos ? text : text.replace(at, before.size(), after);
}

Proof proof_of(const Graph& source, const Graph& target) {
  auto proof = prove(source, target);
  EXPECT_TRUE(proof) << message(proof.error());
  return proof ? *std::move(proof) : Proof{};
}
Proof proof_of(std::string_view source, std::string_view target) {
  return proof_of(graph_with_origins(source), graph_with_origins(target));
}

const LayerProof& layer_of(const Proof& proof, std::string_view name) {
  for (const LayerProof& layer : proof.layers)
    if (layer.layer == name) return layer;
  static const LayerProof none;
  ADD_FAILURE() << "no layer '" << name << "'";
  return none;
}

const std::string chain = R"(
input  x float32[?,?,?,2]
const  k float32[3,3,2,3] = seed 5
const  b float32[3] = seed 6
const  gamma float32[3] = seed 3
const  beta float32[3] = seed 4
const  mean float32[3] frozen = seed 7
const  variance float32[3] frozen = seed 8 positive
conv   = conv(x, k, b) axes=channels_last/2 kernel_order=space_in_out windows=3/2,3/2 paddings=same,same @ conv
norm   = batch_norm(conv, gamma, beta, mean, variance) axis=3 epsilon=0.001 @ norm
act    = relu(norm) negative_slope=0.3 @ act
pool   = average_pool(act) axes=channels_last/2 windows=3/3,2/2 paddings=same,valid @ pool
big    = max_pool(pool) axes=channels_last/2 windows=2,2 paddings=same,same @ big
curve  = unary(big) function=tanh @ curve
output curve
)";

TEST(Structure, WholeNumbersAreExactWhereNothingRounds) {
  const Proof proof = proof_of(chain, chain);
  ASSERT_TRUE(proof.holds) << proof.reason;
  EXPECT_TRUE(proof.every_size);
  for (const char* name : {"conv", "norm", "act", "pool", "big"}) {
    const LayerStructure& s = layer_of(proof, name).structure;
    EXPECT_TRUE(s.is_exact()) << name << ": " << s.compared << " compared, rounded by " << s.rounds;
    EXPECT_TRUE(s.every_size) << name;
  }
  EXPECT_EQ(layer_of(proof, "curve").structure.rounds, "unary");
  EXPECT_FALSE(layer_of(proof, "curve").structure.is_exact());
}

// ONNX has the bound and the slope apart. A slope above zero makes nothing that the bound could bind.
TEST(Structure, ASlopeKeepsItsSign) {
  const std::string one = "input x float32[2,3]\ny = relu(x) max_value=6 negative_slope=0.1 @ act\noutput y\n";
  const std::string apart =
      "input x float32[2,3]\nleaky = relu(x) negative_slope=0.1 @ act\ny = clip(leaky) most=6 @ act\noutput y\n";
  const Proof proof = proof_of(one, apart);
  EXPECT_TRUE(proof.holds) << proof.reason;
  EXPECT_TRUE(layer_of(proof, "act").structure.is_exact());
  EXPECT_FALSE(proof_of(replaced(one, "0.1", "-0.1"), replaced(apart, "0.1", "-0.1")).holds);
}

TEST(Structure, EveryRemainderOfALayersStridesIsTried) {
  const Proof proof = proof_of(chain, chain);
  const LayerStructure& conv = layer_of(proof, "conv").structure;
  EXPECT_EQ(conv.period, 2);
  EXPECT_EQ(conv.tried.front(), 1);
  EXPECT_GE(conv.tried.back(), conv.settled + 1);
  for (std::size_t i = 0; i < conv.tried.size(); ++i) EXPECT_EQ(conv.tried[i], static_cast<Size>(i + 1));
  EXPECT_EQ(layer_of(proof, "pool").structure.period, 6) << "3 rows, 2 columns";
}

struct Padded {
  std::string_view paddings, says;
};
class OtherPadding : public testing::TestWithParam<Padded> {};
TEST_P(OtherPadding, IsToldWithTheSizesAtWhichItIsTheSame) {
  const std::string one =
      "input x float32[?,?,?,2]\nconst k float32[3,3,2,2] = seed 5\ny = conv(x, k, _) axes=channels_last/2 "
      "kernel_order=space_in_out windows=3/2,3/2 paddings=same,same @ stem\noutput y\n";
  const Proof proof = proof_of(one, replaced(one, "paddings=same,same", GetParam().paddings));
  EXPECT_FALSE(proof.holds);
  EXPECT_FALSE(proof.every_size);
  EXPECT_NE(proof.reason.find(GetParam().says), std::string::npos) << proof.reason;
}
INSTANTIATE_TEST_SUITE_P(Structure, OtherPadding,
                         testing::Values(Padded{"paddings=1:1,1:1", "the same at odd sizes only, not at 10"},
                                         Padded{"paddings=0:1,0:1", "the same at even sizes only, not at 11"},
                                         Padded{"paddings=1:0,1:0", "the same at no size"}),
                         [](const auto& test) { return std::to_string(test.index); });

// Real weights can hide a fault: those that are zero where the port reads the wrong cell.
TEST(Structure, AFaultThatTheWeightsHideIsFound) {
  const std::string one =
      "input x float32[1,6,8,2]\nconst k float32[3,3,2,2] = seed 5\ny = conv(x, k, _) axes=channels_last/2 "
      "kernel_order=space_in_out windows=3,3 paddings=same,same @ stem\noutput y\n";
  Graph source = graph_with_origins(one),
        target = graph_with_origins(replaced(one, "paddings=same,same", "paddings=1:1,0:2"));
  const Tensor zeros = Tensor::of({3, 3, 2, 2}, std::vector<float>(36, 0.0F));
  for (Graph* graph : {&source, &target})
    for (Value& value : graph->values)
      if (value.constant) value.constant = zeros;
  const Proof proof = proof_of(source, target);
  EXPECT_FALSE(proof.holds);
  EXPECT_NE(proof.reason.find("differs in structure"), std::string::npos) << proof.reason;
  EXPECT_LE(layer_of(proof, "stem").r, layer_of(proof, "stem").limit);
}

TEST(Structure, AWeightThatAPassComputedIsNamedWithWhatItIsMadeOf) {
  const std::string from =
      "input x float32[1,2,6,8]\nconst k float32[3,2,1,1] = seed 1\nconst s float32[3,1,1] = seed 2\n"
      "a = conv(x, k, _) windows=1,1 paddings=valid,valid @ a\nb = binary(a, s) function=multiply @ b\noutput b\n";
  const std::string to =
      "input x float32[1,2,6,8]\nconst own/k float32[3,2,1,1] = seed 1\nb = conv(x, own/k, _) windows=1,1 "
      "paddings=valid,valid @ b\noutput b\n";
  Graph source = graph_with_origins(from), target = graph_with_origins(to);
  std::vector<float> folded;
  const auto tensor = [&](Graph& graph, std::string_view name) -> Tensor& {
    for (Value& value : graph.values)
      if (value.name == name) return *value.constant;
    ADD_FAILURE() << name;
    return *graph.values[0].constant;
  };
  tensor(source, "s") = Tensor::of({3, 1, 1}, std::vector<float>{0.3F, 0.7F, 1.1F});
  const auto k = tensor(source, "k").floats(), s = tensor(source, "s").floats();
  for (std::size_t i = 0; i < k.size(); ++i) folded.push_back(k[i] * s[i / 2]);
  tensor(target, "own/k") = Tensor::of({3, 2, 1, 1}, folded);
  const Proof proof = proof_of(source, target);
  EXPECT_TRUE(proof.holds) << proof.reason;
  ASSERT_EQ(proof.weights.size(), 1U);
  EXPECT_EQ(proof.weights[0].kept, Kept::Computed);
  EXPECT_EQ(proof.weights[0].layer, "b");
  EXPECT_EQ(proof.weights[0].made_of, (std::vector<std::string>{"k", "s"}));
  EXPECT_TRUE(proof.weights_left.empty());
  EXPECT_FALSE(layer_of(proof, "b").structure.is_exact()) << "real weights stayed, and they round";
}

TEST(Structure, AProductIsExactUpToTheBoundAndNotBeyond) {
  const Graph graph = graph_with_origins(
      "input x float32[1,512,3,3]\nconst k float32[2,512,3,3] = seed 1\ny = conv(x, k, _) windows=3,3 "
      "paddings=valid,valid @ y\noutput y\n");
  const auto filled = [](Sizes shape, float value) {
    std::vector<float> values(static_cast<std::size_t>(*checked_count(shape)), value);
    return Tensor::of(std::move(shape), std::move(values));
  };
  const Tensor kernel = filled({2, 512, 3, 3}, 3), at = filled({1, 512, 3, 3}, 1213),
               beyond = filled({1, 512, 3, 3}, 1214);
  EXPECT_TRUE(is_exact(graph.nodes[0], {&at, &kernel, nullptr}, {1, 2, 1, 1})) << "4608 * 3 * 1213 < 2^24";
  EXPECT_FALSE(is_exact(graph.nodes[0], {&beyond, &kernel, nullptr}, {1, 2, 1, 1}));
  const Tensor thirds = filled({1, 512, 3, 3}, 1.0F / 3);
  EXPECT_FALSE(is_exact(graph.nodes[0], {&thirds, &kernel, nullptr}, {1, 2, 1, 1}));
}

TEST(Structure, NumbersFedHaveBothSignsAndNoZeros) {
  const Tensor numbers = whole_numbers({40, 50}, {500, 36}, 1);
  int negative = 0, small = 0;
  for (const double x : numbers.doubles()) {
    EXPECT_NE(x, 0);
    EXPECT_EQ(std::fmod(x, 36), 0);
    EXPECT_LE(std::abs(x), 500 * 36);
    negative += x < 0;
    small += std::abs(x) <= 6 * 36;
  }
  EXPECT_GT(negative, 800);
  EXPECT_LT(negative, 1200);
  EXPECT_GT(small, 300) << "small numbers are as likely as large ones, octave by octave";
}

}  // namespace
}  // namespace convoy::structure_test
