#include "passes/semantics.h"

namespace convoy::layout_test {
namespace {

std::size_t count(const Graph& graph, std::string_view op) {
  std::size_t n = 0;
  for (const Node& node : graph.nodes) n += name_of(node.op) == op;
  return n;
}

constexpr const char* small_net = R"(
input x float32[?,8,7,3]
const k float32[3,2,3,4] = seed 1
const b float32[4] = seed 2
const mean float32[4] = seed 3
const variance float32[4] = seed 4 positive
const gamma float32[4] = seed 5
const w float32[168,5] = seed 6
conv = conv(x, k, b) axes=channels_last/2 kernel_order=space_in_out windows=3,2 paddings=valid,same
norm = batch_norm(conv, gamma, _, mean, variance) axis=3
act = relu(norm)
flat = flatten(act)
drop = dropout(flat)
out = linear(drop, w, _) order=in_out
output out
)";

TEST(MoveAxes, FoldsTheFlattenPermutationIntoTheLinearBehindIt) {
  const Graph source = parsed(small_net);
  const Graph target = rewritten(source);
  EXPECT_EQ(count(target, "transpose"), 0U) << text_of(target);
  expect_same_numbers(source, target, {{2, 8, 7, 3}});
}

TEST(MoveAxes, EveryReorderedConstantIsItsSourceByteForByte) {
  const Graph source = parsed(small_net), target = rewritten(source);
  for (const Value& v : target.values) {
    if (!v.constant) continue;
    ASSERT_TRUE(v.origin) << v.name;
    for (const Value& s : source.values) {
      if (!s.constant || s.name != v.origin->source) continue;
      EXPECT_TRUE(same_bytes(carried_by(*v.origin, *s.constant, v.type.shape), *v.constant)) << v.name;
    }
  }
}

TEST(MoveAxes, ChangesNothingTwice) {
  Graph target = rewritten(parsed(small_net));
  const std::string once = text_of(target);
  auto again = run_passes(target, torch_target());
  ASSERT_TRUE(again);
  EXPECT_EQ(text_of(target), once);
}

TEST(MoveAxes, PutsATransposeBeforeAFlattenThatIsAnOutput) {
  const char* text = R"(
input x float32[?,4,5,3]
conv = max_pool(x) axes=channels_last/2 windows=2,3 paddings=valid,valid
flat = flatten(conv)
output flat
)";
  EXPECT_EQ(count(rewritten(parsed(text)), "transpose"), 1U);
  expect_same_numbers(text, {{2, 4, 5, 3}});
}

TEST(MoveAxes, NeedsNoTransposeForASqueezeAndExciteBlock) {
  const char* text = R"(
input x float32[?,?,?,4]
const k float32[1,1,4,2] = seed 1
const j float32[1,1,2,4] = seed 2
pool = max_pool(x) axes=channels_last/2 windows=3,2 paddings=valid,valid
mean = reduce(pool) axes=1,2
one = reshape(mean) to=-1,1,1,4
low = conv(one, k, _) axes=channels_last/2 kernel_order=space_in_out windows=1,1 paddings=same,same
act = relu(low)
high = conv(act, j, _) axes=channels_last/2 kernel_order=space_in_out windows=1,1 paddings=same,same
gate = unary(high) function=sigmoid
out = binary(pool, gate) function=multiply
output out
)";
  EXPECT_EQ(count(rewritten(parsed(text)), "transpose"), 0U) << text_of(rewritten(parsed(text)));
  expect_same_numbers(text, {{2, 6, 5, 4}});
}

TEST(MoveAxes, LeavesSequencesOfARecurrentCellAsTheyAre) {
  const char* text = R"(
input x float32[?,5,3]
const k float32[3,8] = seed 1
const r float32[2,8] = seed 2
const b float32[8] = seed 3
cell = lstm(x, k, r, b) returns_sequence=true
output cell
)";
  const Graph target = rewritten(parsed(text));
  EXPECT_EQ(count(target, "transpose"), 0U);
  expect_same_numbers(text, {{2, 5, 3}});
}

TEST(MoveAxes, OrdersTheGatesOfAGru) {
  expect_same_numbers(R"(
input x float32[?,5,3]
const k float32[3,6] = seed 1
const r float32[2,6] = seed 2
const b float32[6] = seed 3
const c float32[6] = seed 4
cell = gru(x, k, r, b, c) backwards=true
output cell
)",
                      {{2, 5, 3}});
}

TEST(MoveAxes, CarriesEveryKindOfOperatorAcross) {
  expect_same_numbers(R"(
input x float32[?,6,5,4]
const slope float32[6,1,4] = seed 1
const shift float32[4] = seed 2
const rows float32[5,4] = seed 3
const gamma float32[4] = seed 4
const mean float32[6] = seed 5
const variance float32[6] = seed 6 positive
pool = max_pool(x) axes=channels_last/2 windows=3/1,2/1 paddings=same,same
pre = prelu(pool, slope)
sum = binary(pre, shift)
prod = binary(rows, sum) function=multiply
height = batch_norm(prod, _, _, mean, variance) axis=1
layer = layer_norm(height, gamma, _) axes=3
soft = softmax(layer) axes=1,3
group = group_norm(soft, _, _) axis=3 groups=2
cut = slice(group) axis=1 start=1
pad = pad(cut) before=0,1,-1,0 after=0,0,2,1
both = concat(pad, pad) axis=2
unit = unit_norm(both) axes=3
output unit
)",
                      {{2, 6, 5, 4}});
}

TEST(MoveAxes, LayerNormOverSeveralAxesPermutesItsParameters) {
  const char* text = R"(
input x float32[?,6,5,4]
const gamma float32[6,5,4] = seed 4
pool = max_pool(x) axes=channels_last/2 windows=3/1,2/1 paddings=same,same
out = layer_norm(pool, gamma, _) axes=1,2,3
output out
)";
  EXPECT_EQ(count(rewritten(parsed(text)), "transpose"), 0U);
  expect_same_numbers(text, {{2, 6, 5, 4}});
}

TEST(MoveAxes, MergesSpaceWithoutMovingData) {
  expect_same_numbers(R"(
input x float32[?,6,5,4]
const w float32[4,3] = seed 4
pool = max_pool(x) axes=channels_last/2 windows=3/1,2/1 paddings=same,same
rows = reshape(pool) to=-1,30,4
dense = linear(rows, w, _) order=in_out
back = reshape(dense) to=-1,6,5,3
again = average_pool(back) axes=channels_last/2 windows=3,2 paddings=valid,valid
output dense
output again
)",
                      {{2, 6, 5, 4}});
}

TEST(MoveAxes, AppliesAConvolutionToEveryStep) {
  expect_same_numbers(R"(
input x float32[?,3,6,5,4]
const k float32[3,2,4,2] = seed 4
flat = reshape(x) to=-1,6,5,4
conv = conv(flat, k, _) axes=channels_last/2 kernel_order=space_in_out windows=3/2,2/1 paddings=same,same
steps = reshape(conv) to=-1,3,3,5,2
mean = reduce(steps) axes=2,3
output mean
)",
                      {{2, 3, 6, 5, 4}});
}

TEST(MoveAxes, TakesAChannelsFirstSourceWithItsFlattenAsItIs) {
  const char* text = R"(
input x float32[?,3,6,5]
const v float32[48,2] = seed 3
pool = max_pool(x) axes=channels_first/2 windows=3/1,2/1 paddings=valid,valid
last = transpose(pool) permutation=0,2,3,1
flat = flatten(last)
out = linear(flat, v, _) order=in_out
output out
)";
  EXPECT_EQ(count(rewritten(parsed(text)), "transpose"), 0U);
  expect_same_numbers(text, {{2, 3, 6, 5}});
}

TEST(MoveAxes, TurnsAnEmbeddingOnceForAConvolution) {
  expect_same_numbers(R"(
input x float32[?,7,3]
const w float32[3,4] = seed 1
const k float32[3,4,2] = seed 2
dense = linear(x, w, _) order=in_out
conv = conv(dense, k, _) axes=channels_last/1 kernel_order=space_in_out windows=3 paddings=causal
output conv
output dense
)",
                      {{2, 7, 3}});
}

}  // namespace
}  // namespace convoy::layout_test
