// Variance 3.75 and epsilon 0.25 make a scale of gamma / 2: every number below is whole or a half, so the folded layer's
// weights are known exactly.
#include "passes/optimize.h"
#include "passes/semantics.h"

namespace convoy::optimize_test {
namespace {

constexpr const char* conv_and_norm = R"(
input x float32[?,2,5,4]
const k float32[3,2,1,2] = 1 2 3 4 -1 0 2 -2 5 1 0 -3
const b float32[3] = 1 -2 3
const gamma float32[3] = 2 4 -6
const beta float32[3] = 7 0 -1
const mean float32[3] = 1 -1 2
const variance float32[3] = 3.75 3.75 3.75
y = conv(x, k, b) axes=channels_first/2 windows=1,2 paddings=valid,valid
norm = batch_norm(y, gamma, beta, mean, variance) axis=1 epsilon=0.25
output norm
)";

std::vector<double> numbers(const Graph& graph, ValueId value) { return graph[value].constant->doubles(); }

Graph optimized(const std::string& text, std::size_t passes) {
  Graph graph = parsed(text);
  name_origins(graph);
  const auto done = optimize(graph);
  if (!done) ADD_FAILURE() << message(done.error());
  else EXPECT_EQ(done->size(), passes);
  return graph;
}

TEST(Optimize, TakesANormIntoKernelAndBias) {
  const Graph graph = optimized(conv_and_norm, 1);
  ASSERT_EQ(graph.nodes.size(), 1U);
  // Scales 1, 2, -3; biases scale * (b - mean) + beta.
  EXPECT_EQ(numbers(graph, graph.nodes[0].inputs[1]), (std::vector<double>{1, 2, 3, 4, -2, 0, 4, -4, -15, -3, 0, 9}));
  EXPECT_EQ(numbers(graph, graph.nodes[0].inputs[2]), (std::vector<double>{7, -2, -4}));
  EXPECT_EQ(graph[graph.nodes[0].inputs[1]].name, "k");
  EXPECT_EQ(graph[graph.nodes[0].inputs[2]].name, "b");
  expect_same_numbers(parsed(conv_and_norm), graph, {{2, 2, 5, 4}});
}

TEST(Optimize, MakesABiasWhereThereIsNone) {
  const std::string text = R"(
input x float32[?,3,6]
const k float32[3,2,2] = 1 2 3 4 5 6 -1 -2 -3 -4 -5 -6
const beta float32[2] = 4 -5
const mean float32[2] = 3 1
const variance float32[2] = 3.75 15.75
y = conv_transpose(x, k, _) axes=channels_first/1 kernel_order=in_out_space windows=2/2 paddings=0:0
norm = batch_norm(y, _, beta, mean, variance) axis=1 epsilon=0.25
output norm
)";
  const Graph graph = optimized(text, 1);
  ASSERT_EQ(graph.nodes.size(), 1U);
  // Output channels are the kernel's second axis: scales 1/2 and 1/4.
  EXPECT_EQ(numbers(graph, graph.nodes[0].inputs[1]),
            (std::vector<double>{0.5, 1, 0.75, 1, 2.5, 3, -0.25, -0.5, -1.5, -2, -1.25, -1.5}));
  EXPECT_EQ(numbers(graph, graph.nodes[0].inputs[2]), (std::vector<double>{2.5, -5.25}));
  expect_same_numbers(parsed(text), graph, {{2, 3, 6}});
}

TEST(Optimize, LeavesWhatSomebodyElseReads) {
  const std::string text = std::string(conv_and_norm) + "output y\n";
  const Graph graph = optimized(text, 0);
  EXPECT_EQ(graph.nodes.size(), 2U);
}

TEST(Optimize, ASharedKernelStaysAsItIsForTheOther) {
  std::string text = conv_and_norm;
  text.insert(text.find("norm ="), "other = conv(x, k, b) axes=channels_first/2 windows=1,2 paddings=valid,valid\n");
  text += "output other\n";
  const Graph graph = optimized(text, 1);
  ASSERT_EQ(graph.nodes.size(), 2U);
  expect_same_numbers(parsed(text), graph, {{2, 2, 5, 4}});
}

TEST(Optimize, ANormOverAnotherAxisStays) {
  const std::string text = R"(
input x float32[?,2,3,4]
const k float32[3,2,1,2] = seed 1
const mean float32[3] = seed 2
const variance float32[3] = seed 3 positive
y = conv(x, k, _) axes=channels_first/2 windows=1,2 paddings=valid,valid
norm = batch_norm(y, _, _, mean, variance) axis=3
output norm
)";
  EXPECT_EQ(optimized(text, 0).nodes.size(), 2U);
}

}  // namespace
}  // namespace convoy::optimize_test
