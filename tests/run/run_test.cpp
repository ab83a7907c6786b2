// The engine: what it gives back, what it frees, and what it refuses before it takes memory.
#include "run/one_node.h"

namespace convoy::run_test {
namespace {

using test::counting;
using test::numbers;

// x [N, 3] -> linear [N, 2] -> relu -> reshape; the kernel is stored in half precision.
Graph small_network() {
  Graph graph;
  const ValueId x = graph.input("x", {DType::F32, {Dim::unknown(), 3}});
  const ValueId kernel = graph.constant("kernel", numbers({2, 3}, {1, 0, 0, 0, -1, 0}).converted(DType::F16));
  const ValueId line = graph.add(Linear{}, {x, kernel}, "dense")->front();
  const ValueId bent = graph.add(Relu{}, {line}, "relu")->front();
  graph.outputs = {graph.add(Reshape{{0, 1, 2}}, {bent}, "reshape")->front()};
  graph.output_names = {"reshape"};
  return graph;
}

TEST(Run, GivesTheOutputsInTheAskedPrecision) {
  const Graph graph = small_network();
  for (const Precision precision : {Precision::Single, Precision::Double}) {
    const auto values = run(graph, {counting({2, 3})}, {.precision = precision});
    ASSERT_TRUE(values) << message(values.error());
    ASSERT_EQ(values->size(), 1);
    const Tensor& y = values->at(graph.outputs[0]);
    EXPECT_EQ(y.dtype(), precision == Precision::Single ? DType::F32 : DType::F64);
    EXPECT_EQ(y.shape(), (Sizes{2, 1, 2}));
    EXPECT_EQ(y.doubles(), (std::vector<double>{1, 0, 4, 0}));
  }
}

TEST(Run, KeepsEveryValueWhenAsked) {
  const Graph graph = small_network();
  const auto values = run(graph, {counting({1, 3})}, {.keeps_all = true});
  ASSERT_TRUE(values);
  EXPECT_EQ(values->size(), 4);  // the input and three results; constants are the graph's
}

TEST(Run, AnInputOfAnotherShapeIsRefusedNamingBoth) {
  const auto values = run(small_network(), {counting({2, 4})});
  ASSERT_FALSE(values);
  EXPECT_EQ(message(values.error()), "input 'x' has shape [2, 4], expected [N, 3]");
  EXPECT_FALSE(run(small_network(), {}));
}

TEST(Run, MemoryIsAskedForBeforeItIsTaken) {
  Graph graph;
  const ValueId x = graph.input("x", {DType::F32, {1, 3}});
  graph.outputs = {graph.add(Tile{0, Size{1} << 50}, {x}, "tile")->front()};
  graph.output_names = {"tile"};
  const auto values = run(graph, {counting({1, 3})});
  ASSERT_FALSE(values);
  EXPECT_EQ(values.error().fault, Fault::Budget);
  EXPECT_EQ(values.error().where, "layer 'tile' (tile)");
}

TEST(Run, WhatNobodyReadsAnyMoreIsFreed) {
  // Forty steps of 4 KB each fit where only a few are alive at once.
  Graph graph;
  ValueId x = graph.input("x", {DType::F32, {1024}});
  for (int i = 0; i < 40; ++i) x = graph.add(Unary{Function::Negate}, {x}, "step" + std::to_string(i))->front();
  graph.outputs = {x};
  graph.output_names = {"y"};
  const Tensor input = Tensor::of({1024}, std::vector<float>(1024, 2.0F));
  const auto values = run(graph, {input}, {.memory_limit = 16384});
  ASSERT_TRUE(values) << message(values.error());
  EXPECT_EQ(values->at(x).floats()[5], 2.0F);
  EXPECT_FALSE(run(graph, {input}, {.memory_limit = 16384, .keeps_all = true}));
}

TEST(Run, AnOutputThatIsAnInputIsGivenBack) {
  Graph graph;
  const ValueId x = graph.input("x", {DType::F32, {2}});
  graph.outputs = {x};
  graph.output_names = {"x"};
  const auto values = run(graph, {counting({2})});
  ASSERT_TRUE(values);
  EXPECT_EQ(values->at(x).doubles(), (std::vector<double>{1, 2}));
}

}  // namespace
}  // namespace convoy::run_test
