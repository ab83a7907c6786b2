#include "prove/prove.h"

#include "graph/text.h"
#include "support/graphs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

namespace convoy::prove_test {
namespace {

// A graph whose values are those of the same name in the source, unless the text says otherwise.
Proof proof_of(std::string_view source, std::string_view target, ProofOptions options = {}) {
  auto proof = prove(graph_with_origins(source), graph_with_origins(target), options);
  EXPECT_TRUE(proof) << message(proof.error());
  return proof ? *std::move(proof) : Proof{};
}

std::string replaced(std::string text, std::string_view before, std::string_view after) {
  const auto at = text.find(before);
  EXPECT_NE(at, std::string::npos) << before;
  return at == std::string::npos ? text : text.replace(at, before.size(), after);
}

// What Keras would give: channels last, SAME with strides, flattened rows first.
const std::string source = R"(
input  image float32[?,12,10,3]
const  conv/kernel float32[3,3,3,4] = seed 1
const  conv/bias float32[4] = seed 2
const  norm/gamma float32[4] = seed 3
const  norm/beta float32[4] = seed 4
const  norm/mean float32[4] frozen = seed 5
const  norm/variance float32[4] frozen = seed 6 positive
const  up/kernel float32[3,3,5,4] = seed 7
const  dense/kernel float32[150,6] = seed 8
const  dense/bias float32[6] = seed 9
conv   = conv(image, conv/kernel, conv/bias) axes=channels_last/2 kernel_order=space_in_out windows=3/2,3/2 paddings=same,same @ conv kind Conv2D
norm   = batch_norm(conv, norm/gamma, norm/beta, norm/mean, norm/variance) axis=3 @ norm kind BatchNormalization
act    = relu(norm) negative_slope=0.3 @ act kind LeakyReLU
up     = conv_transpose(act, up/kernel, _) axes=channels_last/2 kernel_order=space_out_in windows=3/2,3/2 paddings=keras_same,keras_same @ up kind Conv2DTranspose
pool   = average_pool(up) axes=channels_last/2 windows=3/2,3/2 paddings=same,same @ pool kind AveragePooling2D
flat   = flatten(pool) @ flat kind Flatten
dense  = linear(flat, dense/kernel, dense/bias) order=in_out @ dense kind Dense
soft   = softmax(dense) axes=1 @ soft kind Softmax
output soft
)";

// The same in PyTorch's words.
const std::string target = R"(
input  image float32[?,3,12,10] <- image permuted[0,3,1,2]
const  conv/kernel float32[4,3,3,3] <- conv/kernel permuted[3,2,0,1] = seed 1
const  conv/bias float32[4] = seed 2
const  norm/gamma float32[4] = seed 3
const  norm/beta float32[4] = seed 4
const  norm/mean float32[4] frozen = seed 5
const  norm/variance float32[4] frozen = seed 6 positive
const  up/kernel float32[4,5,3,3] <- up/kernel permuted[3,2,0,1] = seed 7
const  dense/kernel float32[6,150] <- dense/kernel split[6,5,5,6] permuted[3,2,0,1] = seed 8
const  dense/bias float32[6] = seed 9
own/pad = pad(image) before=0,0,0,0 after=0,0,1,1 @ conv kind Conv2D
conv   = conv(own/pad, conv/kernel, conv/bias) windows=3/2,3/2 paddings=valid,valid <- conv permuted[0,3,1,2] @ conv kind Conv2D
norm   = batch_norm(conv, norm/gamma, norm/beta, norm/mean, norm/variance) axis=1 <- norm permuted[0,3,1,2] @ norm kind BatchNormalization
act    = relu(norm) negative_slope=0.3 <- act permuted[0,3,1,2] @ act kind LeakyReLU
up     = conv_transpose(act, up/kernel, _) windows=3/2,3/2 paddings=0:1,0:1 <- up permuted[0,3,1,2] @ up kind Conv2DTranspose
pool   = average_pool(up) windows=3/2,3/2 paddings=0:1,0:1 <- pool permuted[0,3,1,2] @ pool kind AveragePooling2D
flat   = flatten(pool) <- flat split[-1,6,5,5] permuted[0,3,1,2] @ flat kind Flatten
dense  = linear(flat, dense/kernel, dense/bias) @ dense kind Dense
soft   = softmax(dense) axes=1 @ soft kind Softmax
output soft
)";

// Seeds fill a tensor in its own order: the target's kernels take the source's numbers, moved as their origins say.
Graph target_of(const std::string& text) {
  const Graph from = graph_with_origins(source);
  Graph to = graph_with_origins(text);
  for (Value& value : to.values) {
    if (!value.constant || !value.origin || value.origin->permutation.empty()) continue;
    for (const Value& other : from.values) {
      if (other.name != value.origin->source) continue;
      Tensor tensor = *other.constant;
      if (!value.origin->split.empty()) tensor = tensor.reshaped(value.origin->split);
      value.constant = tensor.permuted(value.origin->permutation).reshaped(value.constant->shape());
    }
  }
  return to;
}

Proof proof_of_target(const std::string& text) {
  auto proof = prove(graph_with_origins(source), target_of(text));
  EXPECT_TRUE(proof) << message(proof.error());
  return proof ? *std::move(proof) : Proof{};
}

TEST(Prove, APortInAnotherLayoutHolds) {
  const Proof proof = proof_of_target(target);
  EXPECT_TRUE(proof.holds) << proof.reason;
  EXPECT_EQ(proof.layers.size(), 8U);
  EXPECT_EQ(proof.weights_reordered, 3);
  EXPECT_EQ(proof.weights_equal, 6);
  EXPECT_EQ(proof.weights_different, 0);
  EXPECT_EQ(proof.sizes, std::vector<std::string>{"12x10"});
  EXPECT_FALSE(proof.every_size);
  for (const LayerProof& layer : proof.layers) {
    EXPECT_TRUE(layer.same) << layer.layer;
    EXPECT_LE(layer.r, layer.limit) << layer.layer;
    if (layer.layer == "flat") {
      EXPECT_EQ(layer.limit, 0);
      EXPECT_EQ(layer.largest, 0);
    }
    if (layer.layer == "conv") {
      EXPECT_EQ(layer.terms, 27);
      EXPECT_EQ(layer.kind, "Conv2D");
    }
  }
  EXPECT_LT(proof.whole_largest, 1e-4);
  ASSERT_EQ(proof.check.outputs.size(), 1U);
  EXPECT_EQ(proof.check.inputs[0].shape()[1], 3);
  EXPECT_EQ(proof.check.outputs[0].shape(), proof.check.bounds[0].shape());
}

struct Fault1 {
  std::string_view before, after, layer;
};
class DeliberateFault : public testing::TestWithParam<Fault1> {};
TEST_P(DeliberateFault, IsFoundInItsLayer) {
  const Fault1& fault = GetParam();
  const Proof proof = proof_of_target(replaced(target, fault.before, fault.after));
  EXPECT_FALSE(proof.holds);
  EXPECT_NE(proof.reason.find("layer '" + std::string(fault.layer) + "'"), std::string::npos) << proof.reason;
  for (const LayerProof& layer : proof.layers) EXPECT_EQ(layer.same, layer.layer != fault.layer) << layer.layer;
}
INSTANTIATE_TEST_SUITE_P(
    Prove, DeliberateFault,
    testing::Values(Fault1{"before=0,0,0,0 after=0,0,1,1", "before=0,0,1,1 after=0,0,0,0", "conv"},
                    Fault1{"before=0,0,0,0 after=0,0,1,1", "before=0,0,0,1 after=0,0,1,0", "conv"},
                    Fault1{"norm/variance) axis=1", "norm/variance) axis=1 epsilon=0.001001", "norm"},
                    Fault1{"norm/variance) axis=1", "norm/variance) axis=1 epsilon=1e-05", "norm"},
                    Fault1{"norm/gamma, norm/beta", "norm/gamma, norm/gamma", "norm"},
                    Fault1{"negative_slope=0.3", "negative_slope=0.30001", "act"},
                    Fault1{"negative_slope=0.3", "", "act"},
                    Fault1{"paddings=0:1,0:1 <- up", "paddings=1:0,1:0 <- up", "up"},
                    Fault1{"paddings=0:1,0:1 <- pool", "paddings=0:1,0:1 counts_padding=true <- pool", "pool"},
                    Fault1{"paddings=0:1,0:1 <- pool", "paddings=1:0,1:0 <- pool", "pool"},
                    Fault1{"flat   = flatten(pool)",
                           "own/t = transpose(pool) permutation=0,1,3,2 @ flat\nflat   = flatten(own/t)", "flat"},
                    Fault1{"linear(flat, dense/kernel, dense/bias)", "linear(flat, dense/kernel, _)", "dense"}),
    [](const auto& test) { return std::to_string(test.index); });

TEST(Prove, AWeightThatIsNotTheSourcesIsNamed) {
  Proof proof = proof_of_target(
      replaced(target, "const  conv/bias float32[4] = seed 2", "const  conv/bias float32[4] = seed 12"));
  EXPECT_FALSE(proof.holds);
  EXPECT_EQ(proof.weights_different, 1);
  EXPECT_EQ(proof.reason, "weight 'conv/bias' is not 'conv/bias' of the source in the order it should have");
  proof = proof_of_target(replaced(target, "<- up/kernel permuted[3,2,0,1]", "<- up/kernel permuted[3,2,1,0]"));
  EXPECT_FALSE(proof.holds) << "a kernel whose height and width were swapped";
  EXPECT_NE(proof.reason.find("'up'"), std::string::npos) << proof.reason;
}

const std::string small = R"(
input  x float32[?,?,?,2]
const  k float32[3,3,2,2] = seed 5
y      = conv(x, k, _) axes=channels_last/2 kernel_order=space_in_out windows=3/2,3/2 paddings=same,same
output y
)";

TEST(Prove, FreeSizesAreTriedEvenAndOdd) {
  const Proof same = proof_of(small, small);
  EXPECT_TRUE(same.holds) << same.reason;
  EXPECT_TRUE(same.every_size);
  EXPECT_EQ(same.sizes, (std::vector<std::string>{"32x36", "33x37"}));
  const Proof odd = proof_of(small, replaced(small, "paddings=same,same", "paddings=1:1,1:1"));
  EXPECT_FALSE(odd.holds) << "symmetric padding is SAME at odd sizes only";
  const Proof even = proof_of(small, replaced(small, "paddings=same,same", "paddings=0:1,0:1"));
  EXPECT_FALSE(even.holds) << "one pixel behind is SAME at even sizes only";
}

TEST(Prove, AnOutputWithoutOriginIsNotCovered) {
  auto proof = prove(graph_with_origins(small), *parse_graph(small));
  ASSERT_TRUE(proof);
  EXPECT_FALSE(proof->holds);
  EXPECT_EQ(proof->reason, "output 'y' does not say which value of the source it is");
}

TEST(Prove, AnOutputThatCarriesAnotherValueIsRefused) {
  const std::string two = "input x float32[2,3]\na = relu(x)\nb = unary(a) function=tanh\noutput b\n";
  const Proof proof = proof_of(two, replaced(two, "output b", "output a"));
  EXPECT_FALSE(proof.holds);
  EXPECT_EQ(proof.reason, "output 'a' carries 'a' of the source, not its output 'b'");
}

TEST(Prove, TheSameNumbersUnderAnotherShapeAreAnotherOutput) {
  const std::string wide = "input x float32[2,6]\na = relu(x)\nb = reshape(a) to=2,3,2\noutput b\n";
  EXPECT_TRUE(proof_of(wide, wide).holds);
  const auto proof = prove(graph_with_origins(wide), graph_with_origins(replaced(wide, "to=2,3,2", "to=6,2")));
  EXPECT_FALSE(proof && proof->holds);
  const std::string said = proof ? proof->reason : message(proof.error());
  EXPECT_NE(said.find("'b' of the port has the shape [6, 2], the source's is [2, 3, 2]"), std::string::npos) << said;
}

TEST(Prove, AnIdentityMayGo) {
  const Proof proof = proof_of("input x float32[2,3]\na = unary(x)\nb = dropout(a)\noutput b\n",
                               "input x float32[2,3]\na = unary(x)\noutput a\n");
  EXPECT_TRUE(proof.holds) << proof.reason;
}

// No identity by its kind, but by its numbers; the input is float32 and what is computed from it float64.
TEST(Prove, AnOutputMayBeTheInputThatAComputationLeavesAsItIs) {
  const std::string identity = "input x float32[2,3]\na = pad(x) before=0,0 after=0,0\noutput a\n";
  const Proof proof = proof_of(identity, "input x float32[2,3]\noutput x\n");
  EXPECT_TRUE(proof.holds) << proof.reason;
}

// Two moves that undo each other may go, though the value between them is rounded, or is another one's input.
TEST(Prove, MovesThatUndoEachOtherMayGo) {
  const std::string from =
      "input x float32[2,3,4]\nconst w float32[4,5] = seed 4\na = linear(x, w) order=in_out\nb = transpose(a) "
      "permutation=0,2,1\nc = transpose(b) permutation=0,2,1\nd = reshape(c) to=0,15\ne = reshape(d) to=0,3,5\n"
      "output e\n";
  const std::string to =
      "input x float32[2,3,4]\nconst w float32[4,5] = seed 4\na = linear(x, w) order=in_out\noutput a\n";
  const Proof proof = proof_of(from, to);
  EXPECT_TRUE(proof.holds) << proof.reason;
  const Proof both = proof_of(from + "output b\n",
                              replaced(to, "output a\n", "b = transpose(a) permutation=0,2,1\noutput a\noutput b\n"));
  EXPECT_TRUE(both.holds) << both.reason;
  const Proof other = proof_of(replaced(from, "reshape(d) to=0,3,5", "pad(c) before=0,1,0 after=0,-1,0"), to);
  EXPECT_FALSE(other.holds);
  EXPECT_EQ(other.reason, "output 'a' carries 'a' of the source, not its output 'e'");
}

// What a stretch of several of the target's nodes may be off by follows from all of them.
struct Stretch {
  std::string_view source, target;
};
class EqualStretch : public testing::TestWithParam<Stretch> {};
TEST_P(EqualStretch, Holds) {
  const Proof proof = proof_of(GetParam().source, GetParam().target);
  EXPECT_TRUE(proof.holds) << proof.reason;
}
INSTANTIATE_TEST_SUITE_P(
    Prove, EqualStretch,
    testing::Values(
        Stretch{"input x float32[3,40]\ny = unary(x) function=silu\noutput y\n",
                "input x float32[3,40]\nown/s = unary(x)\ny = binary(x, own/s) function=multiply\noutput y\n"},
        Stretch{"input x float32[3,40]\ny = unary(x) function=mish\noutput y\n",
                "input x float32[3,40]\nown/s = unary(x) function=softplus\nown/t = unary(own/s) function=tanh\n"
                "y = binary(x, own/t) function=multiply\noutput y\n"},
        Stretch{"input x float32[3,40]\ny = softmax(x) axes=1\noutput y\n",
                "input x float32[3,40]\nown/e = unary(x) function=exp\nown/s = reduce(own/e) reduction=sum axes=1 "
                "keeps_axes=true\ny = binary(own/e, own/s) function=divide\noutput y\n"},
        Stretch{"input x float32[2,6,8]\nconst g float32[8] = seed 4\ny = rms_norm(x, g) axes=2\noutput y\n",
                "input x float32[2,6,8]\nconst g float32[8] = seed 4\nown/q = unary(x) function=square\nown/m = "
                "reduce(own/q) axes=2 keeps_axes=true\nown/n = affine(own/m) offset=1e-06\nown/r = unary(own/n) "
                "function=rsqrt\nown/y = binary(x, own/r) function=multiply\ny = binary(own/y, g) "
                "function=multiply\noutput y\n"},
        Stretch{"input x float32[2,6,8]\nconst w float32[8,5] = seed 4\na = linear(x, w) order=in_out\nb = "
                "unary(a) function=tanh\noutput b\n",
                "input x float32[2,6,8]\nconst w float32[8,5] = seed 4\nown/a = linear(x, w) order=in_out\nb = "
                "unary(own/a) function=tanh\noutput b\n"}),
    [](const auto& test) { return std::to_string(test.index); });

TEST(Prove, AThresholdThatTheModelNeverReachesIsTriedToo) {
  const std::string from = "input x float32[3,40]\na = unary(x)\nb = relu(a) max_value=6\noutput b\n";
  EXPECT_TRUE(proof_of(from, from).holds);
  const Proof proof = proof_of(from, replaced(from, " max_value=6", ""));
  EXPECT_FALSE(proof.holds) << "a sigmoid never exceeds 1, and ReLU6 is no ReLU";
  EXPECT_NE(proof.reason.find("layer 'b'"), std::string::npos) << proof.reason;
}

TEST(Prove, BehindAProductThatBothGraphsMakeAlikeFreshNumbersComeStill) {
  const std::string from =
      "input x float32[3,2]\nconst w float32[2,5] = seed 4\nown/s = unary(x)\ns = affine(own/s) scale=0.25 offset=0\n"
      "a = linear(s, w) order=in_out\nb = relu(a) max_value=6\noutput b\n";
  const Proof same = proof_of(from, from);
  EXPECT_TRUE(same.holds) << same.reason;
  const auto product = std::ranges::find(same.layers, "a", &LayerProof::layer);
  ASSERT_NE(product, same.layers.end());
  EXPECT_GT(product->structure.compared, 0);
  const Proof proof = proof_of(from, replaced(from, " max_value=6", ""));
  EXPECT_FALSE(proof.holds);
  EXPECT_NE(proof.reason.find("layer 'b'"), std::string::npos) << proof.reason;
}

// Gates that are not bounded multiply a state with itself: each step squares what the last one rounded.
const std::string growing =
    "input x float32[2,9,3]\nconst k float32[3,12] = seed 1\nconst r float32[4,12] = seed 2\nconst b float32[12] = "
    "seed 3\n"
    "const w float32[4,2] = seed 4\n"
    "cell = gru(x, k, r, b) activation=relu recurrent_activation=linear returns_sequence=true\n"
    "y = linear(cell, w) order=in_out\noutput y\n";

const LayerProof& cell_of(const Proof& proof) { return *std::ranges::find(proof.layers, "cell", &LayerProof::layer); }

TEST(Prove, ACellThatMagnifiesRoundingAsItsSourceDoesHolds) {
  const Proof proof = proof_of(growing, growing);
  EXPECT_TRUE(proof.holds) << proof.reason;
  EXPECT_GT(cell_of(proof).magnified, 0);
}

TEST(Prove, ACellThatMagnifiesRoundingAndIsAnotherDiffers) {
  for (const auto& [is, other] : {std::pair{"float32[12] = seed 3", "float32[12] = seed 5"},
                                  std::pair{"activation=relu", "activation=softsign"}}) {
    const Proof proof = proof_of(growing, replaced(growing, is, other));
    EXPECT_FALSE(proof.holds) << other;
  }
}

TEST(Prove, APortThatRoundsWorseThanItsSourceDiffers) {
  const std::string from = "input x float32[2,9,3]\ny = relu(x)\noutput y\n";
  const Proof proof = proof_of(
      from, replaced(replaced(growing, "y = linear(cell, w) order=in_out", ""), "output y",
                     "own/less = affine(cell) scale=0 offset=0\nown/none = reduce(own/less) reduction=sum axes=1,2 "
                     "keeps_axes=true\nown/x = relu(x)\ny = binary(own/x, own/none) function=add\noutput y"));
  EXPECT_FALSE(proof.holds) << "nothing times what float32 does not hold";
  EXPECT_NE(proof.reason.find("layer 'y'"), std::string::npos) << proof.reason;
}

TEST(Prove, APadThatOneGraphMergesAndAnotherReaderNeedsHolds) {
  const std::string from =
      "input x float32[1,2,6,8]\nconst k float32[2,2,3,3] = seed 1\na = unary(x)\np = pad(a) before=0,0,1,1 "
      "after=0,0,1,1\nc = conv(p, k, _) windows=3,3 paddings=valid,valid\nd = relu(p)\noutput c\noutput d\n";
  const Proof proof = proof_of(from, replaced(from, "conv(p, k, _) windows=3,3 paddings=valid,valid",
                                              "conv(a, k, _) windows=3,3 paddings=1:1,1:1"));
  EXPECT_TRUE(proof.holds) << proof.reason;
}

// The target makes the one from the other, which fresh numbers in place of either would tell from the source.
TEST(Prove, AValueThatOneGraphMakesBackFromAnotherHolds) {
  const std::string from =
      "input x float32[2,4,5]\na = relu(x)\nt = transpose(a) permutation=0,2,1\nu = affine(t) scale=1 offset=0\n"
      "y = matmul(a, u)\noutput y\n";
  for (const std::string& back : {replaced(from, "matmul(a, u)", "matmul(own/back, u)"),
                                  replaced(from, "matmul(a, u)", "matmul(a, own/forth)")}) {
    const std::string to = replaced(back, "y = matmul",
                                    "own/back = transpose(u) permutation=0,2,1\nown/forth = transpose(a) "
                                    "permutation=0,2,1\ny = matmul");
    const Proof proof = proof_of(from, to);
    EXPECT_TRUE(proof.holds) << to << proof.reason;
  }
}

TEST(Prove, TheMemoryLimitIsAnError) {
  ProofOptions options;
  options.memory_limit = 1000;
  const auto proof = prove(graph_with_origins(source), target_of(target), options);
  ASSERT_FALSE(proof);
  EXPECT_EQ(proof.error().fault, Fault::Budget);
}

// Every step is rounded on the way, so that each bound also carries the errors of those in front.
TEST(Prove, ErrorsAreCarriedThroughPoolsNormsAndColumns) {
  const std::string steps = R"(
input x float32[?,3,9,7]
own/a = affine(x) scale=0.37 offset=0.1
own/b, own/at = max_pool(own/a) windows=2,3 paddings=valid,valid positions=plane
own/c = max_unpool(own/b, own/at) out=9,7
own/d = lp_pool(own/c) windows=3,2 paddings=1:1,0:1 p=3
own/e = local_response_norm(own/d) before=1 after=1 alpha=0.2 beta=0.75
own/f = softplus(own/e) beta=2
own/g = unfold(own/f) windows=2/2,3 paddings=0:0,1:1
own/h = fold(own/g) windows=2/2,3 paddings=0:0,1:1 out=9,7
own/i = space_to_batch(own/h) axes=2 block=3 before=0 after=0
own/j = batch_to_space(own/i) axes=2 block=3 before=0 after=0
own/k = length_norm(own/j) axes=1
own/l = resize(own/k) axes=2,3 sizes=5,11 interpolation=cubic coordinates=half_pixel_symmetric
out = adaptive_pool(own/l) kind=maximum out=3,4
output out
)";
  std::string plain = steps;
  for (auto at = plain.find("own/"); at != std::string::npos; at = plain.find("own/")) plain.replace(at, 4, "its_");
  const Proof proof = proof_of(plain, steps);
  EXPECT_TRUE(proof.holds) << proof.reason;
  for (const auto& [before, after] : {std::pair{"p=3", "p=2"}, {"alpha=0.2", "alpha=0.21"}, {"beta=2", "beta=2.05"}})
    EXPECT_FALSE(proof_of(plain, replaced(steps, before, after)).holds) << after;
}

}  // namespace
}  // namespace convoy::prove_test
