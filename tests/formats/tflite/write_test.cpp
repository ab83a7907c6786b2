// TFLite files that are written: read back they compute the same, constants lie where kernels want them, and bytes depend on
// the model alone.
#include "base/mapped_file.h"
#include "formats/tflite/model.h"
#include "formats/tflite/tflite.h"
#include "passes/passes.h"
#include "run/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

namespace convoy::write_test {
namespace {

std::vector<std::byte> written(const Graph& graph) {
  std::vector<std::byte> bytes;
  const auto done = tflite::write_model(graph, [&](std::span<const std::byte> more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
    return Status();
  });
  EXPECT_TRUE(done) << message(done.error());
  return bytes;
}

Graph rewritten(const char* name) {
  auto graph = load(std::filesystem::path("tests/data/corpus/keras") / name / "model.keras");
  EXPECT_TRUE(graph) << message(graph.error());
  const auto passes = run_passes(*graph, tflite_target());
  EXPECT_TRUE(passes) << message(passes.error());
  return *graph;
}

Tensor filled(const Shape& shape) {
  Sizes sizes;
  for (const Dim n : shape) sizes.push_back(n.known() ? *n : 7 + static_cast<Size>(sizes.size()));
  std::vector<float> values(static_cast<std::size_t>(*checked_count(sizes)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 37 % 101) / 50.0F - 1.0F;
  return Tensor::of(sizes, std::move(values));
}

// As it is read back, with the numbers that it answers.
void expect_same_behind_the_file(const Graph& graph) {
  const auto bytes = written(graph);
  const auto file = file_of(bytes);
  const auto read = tflite::read_model(blob_of(file), {});
  ASSERT_TRUE(read) << message(read.error());
  std::vector<Tensor> inputs;
  for (const ValueId v : graph.inputs) inputs.push_back(filled(graph[v].type.shape));
  const auto want = run(graph, inputs), got = run(*read, inputs);
  ASSERT_TRUE(want && got);
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const auto a = want->at(graph.outputs[i]).doubles(), b = got->at(read->outputs[i]).doubles();
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t k = 0; k < a.size(); ++k) EXPECT_NEAR(a[k], b[k], 1e-5) << k;
  }
}

Graph of_one(Op op, Shape shape, std::size_t outputs = 1) {
  Graph graph;
  const ValueId x = graph.input("x", {DType::F32, std::move(shape)});
  const auto made = graph.add(std::move(op), {x}, "layer");
  EXPECT_TRUE(made) << message(made.error());
  graph.outputs = {made->begin(), made->begin() + static_cast<std::ptrdiff_t>(outputs)};
  for (std::size_t i = 0; i < outputs; ++i) graph.output_names.push_back("y" + std::to_string(i));
  return graph;
}

TEST(WriteTfliteOperators, ActivationsWithBoundsAndThresholdsAreComposed) {
  expect_same_behind_the_file(of_one(Relu{0.7, 0.25, -0.3, false}, {Dim(), Dim(5)}));
  expect_same_behind_the_file(of_one(Relu{{}, 0, 0.2, true}, {Dim(), Dim(5)}));
  expect_same_behind_the_file(of_one(Shrink{0.3, false}, {Dim(), Dim(5)}));
  expect_same_behind_the_file(of_one(Shrink{0.3, true}, {Dim(), Dim(5)}));
  expect_same_behind_the_file(of_one(Unary{Function::SparsePlus}, {Dim(), Dim(5)}));
  expect_same_behind_the_file(of_one(Unary{Function::SparseSigmoid}, {Dim(), Dim(5)}));
}

TEST(WriteTfliteOperators, APoolOverThreeAxesIsTwoPools) {
  const Padding same{Spelling::SameUpper};
  const Shape shape{Dim(), Dim(5), Dim(6), Dim(7), Dim(2)};
  const std::vector<Window> windows{{2, 2, 1}, {3, 1, 1}, {2, 3, 1}};
  expect_same_behind_the_file(of_one(MaxPool{{Order::ChannelsLast, 3}, windows, {same, same, same}}, shape));
  expect_same_behind_the_file(of_one(AveragePool{{Order::ChannelsLast, 3}, windows, {same, same, same}}, shape));
}

TEST(WriteTfliteOperators, FreeAxesAreFlattenedBesideAFreeBatch) {
  expect_same_behind_the_file(of_one(Reshape{{0, -1, 4}}, {Dim(), Dim(), Dim(), Dim(4)}));
  expect_same_behind_the_file(of_one(Reshape{{0, 3, -1}}, {Dim(), Dim(3), Dim(), Dim()}));
  expect_same_behind_the_file(of_one(Flatten{}, {Dim(), Dim(4), Dim()}));
}

// Two outputs are two tensors, each with a name of its own.
TEST(WriteTfliteOperators, AValueHandedOutTwiceHasTwoNames) {
  Graph graph = of_one(Relu{}, {Dim(), Dim(5), Dim(3)});
  for (int i = 0; i < 2; ++i) {
    graph.outputs.push_back(graph.add(Identity{}, {graph.outputs[0]}, "again")->front());
    graph.output_names.push_back("again" + std::to_string(i));
  }
  graph.outputs.erase(graph.outputs.begin()), graph.output_names.erase(graph.output_names.begin());
  expect_same_behind_the_file(graph);
  const auto file = file_of(written(graph));
  const auto read = tflite::read_model(blob_of(file), {});
  ASSERT_TRUE(read) << message(read.error());
  EXPECT_NE(read->outputs[0], read->outputs[1]);
}

// The convolution's windows `same` over a free batch, rows and columns.
Graph convolved(const std::vector<Window>& windows, Dim rows, Dim columns) {
  Graph graph;
  const ValueId x = graph.input("x", {DType::F32, {Dim(), rows, columns, Dim(3)}});
  const ValueId w = graph.constant("w", filled({Dim(windows[0].kernel), Dim(windows[1].kernel), Dim(3), Dim(5)}));
  const Padding same{Spelling::SameUpper};
  const Conv conv{{Order::ChannelsLast, 2}, KernelOrder::SpaceInOut, windows, {same, same}, 1};
  graph.outputs = *graph.add(conv, {x, w}, "conv"), graph.output_names = {"y"};
  return graph;
}

// XNNPACK folds a lower bound that is one number into the convolution, and then cannot prepare the model.
TEST(WriteTfliteOperators, LowerBoundsBehindAConvolutionAreANumberForEachChannel) {
  Graph graph = convolved({{2, 1, 1}, {3, 1, 1}}, Dim(), Dim(7));
  graph.outputs = *graph.add(Clip{0.1, 0.9}, {graph.outputs[0]}, "clip");
  expect_same_behind_the_file(graph);
  const auto file = file_of(written(graph));
  const auto read = tflite::read_model(blob_of(file), {});
  ASSERT_TRUE(read) << message(read.error());
  std::size_t bounds = 0;
  for (const Value& value : read->values)
    bounds += value.constant && value.constant->shape() == Sizes{5} && value.constant->floats()[0] > 0.05F;
  EXPECT_EQ(bounds, 1U);
}

// Whatever axes the one number has.
TEST(WriteTfliteOperators, AMaximumWithOneNumberOfSeveralAxesHasANumberForEachCell) {
  for (const Sizes& shape : {Sizes{}, Sizes{1}, Sizes{1, 1}, Sizes{1, 1, 1, 1}}) {
    Graph graph;
    const ValueId x = graph.input("x", {DType::F32, {Dim(), Dim(5)}});
    const ValueId one = graph.constant("one", Tensor::of(shape, std::vector<float>{0.25F}));
    graph.outputs = *graph.add(Binary{BinaryFunction::Maximum}, {x, one}, "largest"), graph.output_names = {"y"};
    expect_same_behind_the_file(graph);
    const auto file = file_of(written(graph));
    const auto read = tflite::read_model(blob_of(file), {});
    ASSERT_TRUE(read) << message(read.error());
    for (const Value& value : read->values) {
      const bool is_bound = value.constant && value.type.dtype == DType::F32;
      EXPECT_TRUE(!is_bound || value.constant->count() == 5) << shape.size();
    }
  }
}

// What the written file's convolution says for its padding.
Spelling spelled_in_file(const Graph& graph) {
  const auto file = file_of(written(graph));
  const auto read = tflite::read_model(blob_of(file), {});
  EXPECT_TRUE(read) << message(read.error());
  for (const Node& node : read->nodes)
    if (const auto* conv = get_if<Conv>(&node.op)) return conv->paddings[0].spelling;
  return Spelling::Explicit;
}

// XNNPACK begins inside the input where SAME's total would be negative.
TEST(WriteTfliteOperators, SameOfAStrideLongerThanTheKernelIsSaidByOtherWords) {
  const Dim free;
  for (const Size rows : {9, 10, 11, 12}) {
    const Graph fixed = convolved({{2, 3, 1}, {3, 2, 1}}, Dim(rows), Dim(7));
    expect_same_behind_the_file(fixed);
    const bool leaves = rows % 3 == 0;
    EXPECT_EQ(spelled_in_file(fixed), leaves ? Spelling::Valid : Spelling::SameUpper) << rows;
  }
  for (const Dim columns : {Dim(8), Dim(9), Dim(10), Dim(11), Dim(12)}) {
    const Graph small = convolved({{2, 3, 1}, {1, 2, 1}}, free, columns);
    expect_same_behind_the_file(small);
    EXPECT_EQ(spelled_in_file(small), Spelling::Valid);
    const Graph sliced = convolved({{3, 2, 1}, {1, 2, 1}}, free, columns);
    expect_same_behind_the_file(sliced);
    EXPECT_EQ(spelled_in_file(sliced), Spelling::SameUpper);
  }
  EXPECT_EQ(spelled_in_file(convolved({{3, 3, 1}, {3, 2, 1}}, free, free)), Spelling::SameUpper);
  EXPECT_EQ(spelled_in_file(convolved({{1, 3, 1}, {1, 2, 1}}, free, free)), Spelling::Valid);
  const auto refused = tflite::write_model(convolved({{3, 4, 1}, {3, 2, 1}}, free, Dim(7)),
                                           [](std::span<const std::byte>) { return Status(); });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, Fault::Unsupported);
  EXPECT_NE(message(refused.error()).find("give the size with --size"), std::string::npos) << message(refused.error());
}

TEST(WriteTfliteOperators, TheLargestFewAreWrittenWithTheirPlaces) {
  expect_same_behind_the_file(of_one(TopK{1, 3, true, true}, {Dim(), Dim(6)}, 2));
}

TEST(WriteTfliteOperators, RowsAreLookedUpByNumbersOf32Bits) {
  Graph graph;
  const ValueId x = graph.input("x", {DType::U8, {Dim(), Dim(3)}});
  graph.outputs = *graph.add(Embedding{}, {x, graph.constant("table", filled({Dim(5), Dim(4)}))}, "rows");
  graph.output_names = {"y"};
  const auto bytes = written(graph);
  const auto file = file_of(bytes);
  const auto read = tflite::read_model(blob_of(file), {});
  ASSERT_TRUE(read) << message(read.error());
  EXPECT_TRUE(std::ranges::any_of(read->nodes, [](const Node& node) {
    const auto* cast = get_if<Cast>(&node.op);
    return cast && cast->to == DType::I32;
  }));
}

TEST(WriteTfliteOperators, TruthIsCutIntoParts) {
  Graph graph;
  const ValueId x = graph.input("x", {DType::F32, {Dim(), Dim(5), Dim(2)}});
  const ValueId zero = graph.constant("zero", Tensor::of({1}, std::vector<float>{0}));
  const ValueId above = graph.add(Binary{BinaryFunction::Greater}, {x, zero}, "above")->front();
  const auto parts = graph.add(Split{1, {2, 3}}, {above}, "parts");
  ASSERT_TRUE(parts) << message(parts.error());
  graph.outputs = {parts->begin(), parts->end()}, graph.output_names = {"first", "second"};
  expect_same_behind_the_file(graph);
}

TEST(WriteTfliteOperators, ANormOfEachChannelNeedsNoKnownSize) {
  expect_same_behind_the_file(of_one(GroupNorm{3, 4, 1e-3}, {Dim(), Dim(), Dim(), Dim(4)}));
}

TEST(WriteTfliteOperators, WeightsThatFloat16HoldsAreStoredInHalfTheBytes) {
  Graph graph;
  const ValueId x = graph.input("x", {DType::F32, {Dim(), Dim(40)}});
  const ValueId w = graph.constant("w", filled({Dim(40), Dim(30)}).converted(DType::F16).converted(DType::F32));
  graph.outputs = *graph.add(Linear{LinearOrder::InOut}, {x, w}, "dense"), graph.output_names = {"y"};
  std::vector<std::byte> halved;
  const auto done = tflite::write_model(graph,
                                        [&](std::span<const std::byte> more) {
                                          halved.insert(halved.end(), more.begin(), more.end());
                                          return Status();
                                        },
                                        {.in_halves = true});
  ASSERT_TRUE(done) << message(done.error());
  EXPECT_LT(halved.size() + 2000, written(graph).size());
  const auto file = file_of(halved);
  const auto read = tflite::read_model(blob_of(file), {});
  ASSERT_TRUE(read) << message(read.error());
  const Tensor input = filled({Dim(3), Dim(40)});
  EXPECT_EQ(run(graph, {input})->at(graph.outputs[0]).floats(), run(*read, {input})->at(read->outputs[0]).floats());
}

class WriteTflite : public testing::TestWithParam<const char*> {};

TEST_P(WriteTflite, WhatIsReadBackComputesTheSame) { expect_same_behind_the_file(rewritten(GetParam())); }

TEST_P(WriteTflite, BytesDependOnTheModelAloneAndConstantsAreAligned) {
  const Graph graph = rewritten(GetParam());
  const auto bytes = written(graph);
  EXPECT_EQ(bytes, written(graph));
  const auto file = file_of(bytes);
  const auto model = tflite::parse_model(file->bytes());
  ASSERT_TRUE(model) << message(model.error());
  EXPECT_TRUE(model->buffers.at(0).empty());
  for (std::size_t i = 1; i < model->buffers.size(); ++i)
    EXPECT_EQ((model->buffers[i].data() - file->bytes().data()) % 16, 0) << i;
}

INSTANTIATE_TEST_SUITE_P(Models, WriteTflite,
                         testing::Values("conv2d_same_k3_s2_even", "separable2d_same_s2", "conv1d_groups", "bn_default",
                                         "act_many_2"));

}  // namespace
}  // namespace convoy::write_test
