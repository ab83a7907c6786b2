// TensorFlow's graphs as they come, and as somebody who means harm would send them.
#include "base/mapped_file.h"
#include "formats/tf/messages.h"
#include "formats/tf/tf.h"
#include "graph/text.h"
#include "run/run.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace convoy::read_test {
namespace {

namespace fs = std::filesystem;
using namespace tf_messages;

const std::string half("\x00\x00\x00\x3f", 4);  // 0.5 as float32

Result<Graph> read(const std::string& text, const LoadOptions& options = {}) {
  const auto bytes = std::as_bytes(std::span(text));
  const auto file = file_of({bytes.begin(), bytes.end()});
  return tf::read_graph(blob_of(file), options);
}

std::string refusal(const std::string& text) {
  const auto graph = read(text);
  EXPECT_FALSE(graph);
  if (graph) return {};
  EXPECT_NE(graph.error().fault, Fault::Internal);
  return message(graph.error());
}

// What the graph gives for the numbers 1, 2, 3, ... in a tensor of this shape.
std::vector<double> answer(const std::string& text, const Sizes& shape) {
  const auto graph = read(text);
  EXPECT_TRUE(graph) << message(graph.error());
  if (!graph) return {};
  std::vector<float> numbers;
  for (Size i = 1; i <= *checked_count(shape); ++i) numbers.push_back(static_cast<float>(i));
  const auto values = run(*graph, {Tensor::of(shape, numbers)});
  EXPECT_TRUE(values) << message(values.error());
  return values ? values->at(graph->outputs.front()).doubles() : std::vector<double>();
}

TEST(TensorFlowGraph, AShortListOfNumbersRepeatsItsLast) {
  const std::string list = half + std::string("\x00\x00\x80\x3f", 4);
  EXPECT_EQ(answer(graph({placeholder("x", {4}), repeated("w", {4}, list), node("y", "Mul", {"x", "w"})}), {4}),
            (std::vector<double>{0.5, 2, 3, 4}));
}

TEST(TensorFlowGraph, ControlInputsAndOrderSayNothing) {
  EXPECT_EQ(
      answer(graph({node("y", "Identity", {"n", "^never"}), node("n", "Neg", {"x"}), placeholder("x", {2})}), {2}),
      (std::vector<double>{-1, -2}));
}

TEST(TensorFlowGraph, AResultThatIsNotAsTheFileTellsIsRefused) {
  const auto negated = [](const std::vector<std::int64_t>& sizes) {
    return graph({placeholder("x", {-1, 3}),
                  node("y", "Neg", {"x"}, attribute("_output_shapes", run(1, run(7, shape(sizes)))))});
  };
  EXPECT_TRUE(read(negated({-1, 3})));
  EXPECT_TRUE(read(negated({2, 3}))) << "a free size may turn out as any";
  EXPECT_NE(refusal(negated({-1, 4})).find("gives float32 [N, 4] as the file tells"), std::string::npos);
  EXPECT_NE(refusal(negated({3})).find("gives float32 [3] as the file tells"), std::string::npos);
  LoadOptions asked;
  asked.shapes["x"] = {2, 5};
  EXPECT_TRUE(read(negated({-1, 3}), asked)) << "it tells nothing of other sizes";
}

TEST(TensorFlowGraph, AFunctionStandsWhereItIsCalled) {
  const std::string twice = function("twice", {"a"}, {node("sum", "AddV2", {"a", "a"})}, {{"r", "sum:z:0"}});
  const std::string called = attribute("f", run(10, run(1, "twice")));
  EXPECT_EQ(answer(graph({placeholder("x", {2}), node("p", "PartitionedCall", {"x"}, called),
                          node("y", "StatefulPartitionedCall", {"p"}, called)},
                         twice),
                   {2}),
            (std::vector<double>{4, 8}));
}

TEST(TensorFlowGraph, AShapeThatIsNotKnownIsFollowed) {
  // Reshape to [batch, -1] by Shape, StridedSlice and Pack, the batch being free.
  const std::string sliced = attribute("shrink_axis_mask", number(3, 1));
  const auto read_graph = read(graph(
      {placeholder("x", {-1, 3, 2}), node("s", "Shape", {"x"}), whole_numbers("b", {0}), whole_numbers("e", {1}),
       whole_numbers("d", {1}), node("n", "StridedSlice", {"s", "b", "e", "d"}, sliced), whole_numbers("m", {-1}, true),
       node("to", "Pack", {"n", "m"}, attribute("N", number(3, 2))), node("y", "Reshape", {"x", "to"})}));
  ASSERT_TRUE(read_graph) << message(read_graph.error());
  EXPECT_EQ(text_of((*read_graph)[read_graph->outputs.front()].type.shape), "[N, 6]");
}

TEST(TensorFlowGraph, AFreeSizeIsANumberToComputeWith) {
  // x / float(the length of axis 1), which is free.
  const std::string sliced = attribute("shrink_axis_mask", number(3, 1));
  const std::string text =
      graph({placeholder("x", {2, -1}), node("s", "Shape", {"x"}), whole_numbers("b", {1}), whole_numbers("e", {2}),
             whole_numbers("d", {1}), node("n", "StridedSlice", {"s", "b", "e", "d"}, sliced),
             node("f", "Cast", {"n"}, attribute("DstT", type(1)) + attribute("SrcT", type(3))),
             node("y", "RealDiv", {"x", "f"})});
  EXPECT_EQ(answer(text, {2, 2}), (std::vector<double>{0.5, 1, 1.5, 2}));
  EXPECT_EQ(answer(text, {2, 1}), (std::vector<double>{1, 2}));
}

TEST(TensorFlowGraph, ALoopOfAKnownCountRuns) {
  const std::string body = function("body", {"i", "v"},
                                    {whole_numbers("one", {1}, true), node("next", "AddV2", {"i", "one:output:0"}),
                                     node("twice", "AddV2", {"v", "v"})},
                                    {{"ri", "next:z:0"}, {"rv", "twice:z:0"}});
  const std::string until =
      function("until", {"i", "v"}, {whole_numbers("three", {3}, true), node("less", "Less", {"i", "three:output:0"})},
               {{"r", "less:z:0"}});
  const std::string loop = attribute("cond", run(10, run(1, "until"))) + attribute("body", run(10, run(1, "body")));
  EXPECT_EQ(answer(graph({placeholder("x", {2}), whole_numbers("zero", {0}, true),
                          node("w", "StatelessWhile", {"zero", "x"}, loop), node("y", "Identity", {"w:1"})},
                         body + until),
                   {2}),
            (std::vector<double>{8, 16}));
}

TEST(TensorFlowGraph, DivisionsRoundAsTensorFlowRoundsThem) {
  const auto quotient = [](const char* op) {
    return answer(graph({placeholder("x", {2}), whole_numbers("a", {-7, 7}), whole_numbers("b", {2, -2}),
                         node("q", op, {"a", "b"}),
                         node("r", "Cast", {"q"}, attribute("DstT", type(1)) + attribute("SrcT", type(3))),
                         node("z", "Sub", {"x", "x"}), node("y", "AddV2", {"z", "r"})}),
                  {2});
  };
  EXPECT_EQ(quotient("FloorDiv"), (std::vector<double>{-4, -4}));
  EXPECT_EQ(quotient("TruncateDiv"), (std::vector<double>{-3, -3}));
  EXPECT_EQ(quotient("FloorMod"), (std::vector<double>{1, -1}));
}

TEST(TensorFlowGraph, QuotientsByZeroAreZeroWhereTheOperatorSaysSo) {
  EXPECT_EQ(answer(graph({placeholder("x", {2}), repeated("w", {2}, std::string(4, '\0')),
                          node("y", "DivNoNan", {"x", "w"})}),
                   {2}),
            (std::vector<double>{0, 0}));
}

TEST(TensorFlowGraph, WhatTrainsIsLeftOut) {
  const auto graph_read = read(graph({placeholder("x", {2}), node("y", "Tanh", {"x"}), node("v", "VariableV2"),
                                      node("step", "AssignAdd", {"v", "x"}), node("done", "NoOp", {"^step"})}));
  ASSERT_TRUE(graph_read) << message(graph_read.error());
  EXPECT_EQ(graph_read->output_names, (std::vector<std::string>{"y"}));
}

TEST(TensorFlowGraph, ADropoutThatKeepsAllIsNone) {
  const auto dropped = [](const std::string& keep) {
    const std::string tensor = number(1, 1) + run(2, "") + run(5, keep);
    const std::string kept =
        node("keep", "Const", {}, attribute("dtype", type(1)) + attribute("value", run(8, tensor)));
    return graph({placeholder("x", {2, 3}), kept, node("s", "Shape", {"x"}), node("u", "RandomUniform", {"s"}),
                  node("a", "AddV2", {"keep", "u"}), node("f", "Floor", {"a"}), node("d", "RealDiv", {"x", "keep"}),
                  node("y", "Mul", {"d", "f"})});
  };
  EXPECT_EQ(answer(dropped(std::string("\x00\x00\x80\x3f", 4)), {2, 3}), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(refusal(dropped(half)).contains("by chance"));
}

TEST(TensorFlowGraph, AListIsFollowedWhereItsLengthIsKnown) {
  // The rows of x in turned order.
  std::vector<std::string> nodes{placeholder("x", {3, 2}), whole_numbers("e", {2}), whole_numbers("n", {3}, true),
                                 node("from", "TensorListFromTensor", {"x", "e"}),
                                 node("to0", "TensorListReserve", {"e", "n"})};
  for (int i = 0; i < 3; ++i) {
    const std::string k = std::to_string(i), next = std::to_string(i + 1);
    nodes.push_back(whole_numbers("i" + k, {i}, true));
    nodes.push_back(whole_numbers("j" + k, {2 - i}, true));
    nodes.push_back(node("item" + k, "TensorListGetItem", {"from", "i" + k, "e"}));
    nodes.push_back(node("to" + next, "TensorListSetItem", {"to" + k, "j" + k, "item" + k}));
  }
  nodes.push_back(node("y", "TensorListStack", {"to3", "e"}));
  EXPECT_EQ(answer(graph(nodes), {3, 2}), (std::vector<double>{5, 6, 3, 4, 1, 2}));
}

TEST(TensorFlowGraph, DepthMovesIntoImagesAlone) {
  EXPECT_TRUE(refusal(graph({placeholder("x", {2, 3, 8}),
                             node("y", "DepthToSpace", {"x"}, attribute("block_size", number(3, 2)))}))
                  .contains("expected 4 axes"));
}

TEST(TensorFlowGraph, BlocksInTheBatchAreADilation) {
  // [1, 6, 7, 1], block 2; what is padded behind is cut off again, save two cells in front and one behind.
  const auto pairs = [](const std::string& name, const std::vector<std::int64_t>& all) {
    std::string values;
    for (const std::int64_t n : all) values += varint(static_cast<std::uint64_t>(n));
    const std::string tensor = number(1, 3) + run(2, shape({2, 2})) + run(7, values);
    return node(name, "Const", {}, attribute("dtype", type(3)) + attribute("value", run(8, tensor)));
  };
  const std::string moves = attribute("strides", run(1, number(3, 1) + number(3, 1) + number(3, 1) + number(3, 1))) +
                            attribute("padding", run(2, "VALID"));
  const auto made = read(graph({placeholder("x", {1, 6, 7, 1}), whole_numbers("b", {2, 2}), pairs("p", {2, 2, 2, 1}),
                                node("s", "SpaceToBatchND", {"x", "b", "p"}), repeated("k", {3, 2, 1, 1}, half),
                                node("c", "Conv2D", {"s", "k"}, moves), pairs("r", {0, 0, 0, 0}),
                                node("y", "BatchToSpaceND", {"c", "b", "r"})}));
  ASSERT_TRUE(made) << message(made.error());
  const std::string text = text_of(*made);
  EXPECT_TRUE(text.contains("windows=3@2,2@2 paddings=2:2,2:1")) << text;
  EXPECT_FALSE(text.contains("batch")) << text;
}

TEST(TensorFlowGraph, ACircleIsRefused) {
  const std::string said = refusal(graph(
      {placeholder("x", {2}), node("a", "AddV2", {"x", "b"}), node("b", "Neg", {"a"}), node("y", "Identity", {"b"})}));
  EXPECT_TRUE(said.contains("computed from its own result")) << said;
}

TEST(TensorFlowGraph, AFunctionThatCallsItselfIsRefused) {
  const std::string self =
      function("f", {"a"}, {node("again", "PartitionedCall", {"a"}, attribute("f", run(10, run(1, "f"))))},
               {{"r", "again:output:0"}});
  const std::string said = refusal(graph({placeholder("x", {2}), node("y", "f", {"x"})}, self));
  EXPECT_TRUE(said.contains("call one another")) << said;
}

TEST(TensorFlowGraph, UnknownOperatorsAndAttributesAreNamed) {
  EXPECT_EQ(refusal(graph({placeholder("x", {2}), node("y", "Frobnicate", {"x"})})),
            "node 'y' (Frobnicate): is an operator that this version does not read");
  EXPECT_TRUE(refusal(graph({placeholder("x", {2}), node("y", "Tanh", {"x"}, attribute("warp", number(3, 1)))}))
                  .contains("'warp'"));
  EXPECT_EQ(refusal(graph({placeholder("x", {2}), node("y", "AddV2", {"x", "nobody"})})),
            "node 'y' (AddV2): there is no node 'nobody'");
}

TEST(TensorFlowGraph, ALargeRepetitionIsNoLargeFile) {
  const std::string said = refusal(
      graph({placeholder("x", {1}), repeated("w", {1LL << 40, 1LL << 30}, half), node("y", "Mul", {"x", "w"})}));
  EXPECT_TRUE(said.contains("too large")) << said;
}

TEST(TensorFlowGraph, EveryTruncationIsReadOrRefused) {
  std::ifstream in("tests/data/corpus/tensorflow/net_while_loop/frozen.pb", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  ASSERT_FALSE(bytes.empty());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto graph = read(bytes.substr(0, size));
    if (graph) continue;
    ASSERT_NE(graph.error().fault, Fault::Internal) << message(graph.error()) << " at " << size;
  }
}

TEST(TensorFlowSavedModel, EveryTruncationOfItsIndexIsRefused) {
  const fs::path folder = fs::temp_directory_path() / ("convoy_saved_model_" + std::to_string(::getpid()));
  fs::copy("tests/data/corpus/tensorflow/fused_bn/saved_model", folder, fs::copy_options::recursive);
  ASSERT_TRUE(load(folder));
  const fs::path index = folder / "variables" / "variables.index";
  const auto whole = fs::file_size(index);
  for (std::uintmax_t size = whole; size-- > 0;) {
    fs::resize_file(index, size);
    const auto graph = load(folder);
    ASSERT_FALSE(graph) << size;
    ASSERT_NE(graph.error().fault, Fault::Internal) << message(graph.error());
  }
  fs::remove_all(folder);
}

TEST(TensorFlowSavedModel, OneThatIsCutOffIsABrokenFileOfItsOwnKind) {
  const fs::path folder = fs::temp_directory_path() / ("convoy_cut_model_" + std::to_string(::getpid()));
  fs::copy("tests/data/corpus/tensorflow/fused_bn/saved_model", folder, fs::copy_options::recursive);
  const fs::path file = folder / "saved_model.pb";
  const auto whole = fs::file_size(file);
  for (const std::uintmax_t size : {whole - 1, whole / 2, std::uintmax_t{50}, std::uintmax_t{3}}) {
    fs::resize_file(file, size);
    const auto graph = load(folder);
    ASSERT_FALSE(graph) << size;
    EXPECT_NE(graph.error().fault, Fault::Unsupported) << size << ": " << message(graph.error());
  }
  fs::remove_all(folder);
}

TEST(TensorFlowSavedModel, WeightsHaveTheCheckpointsNames) {
  const auto weights =
      load_weights("tests/data/corpus/tensorflow/conv2d_same_bias_relu/saved_model/variables/variables.index");
  ASSERT_TRUE(weights) << message(weights.error());
  ASSERT_FALSE(weights->empty());
  EXPECT_TRUE(weights->front().name.ends_with("/.ATTRIBUTES/VARIABLE_VALUE")) << weights->front().name;
}

TEST(TensorFlowSavedModel, ASignatureThatIsNotThereIsNamed) {
  LoadOptions options;
  options.signature = "serving";
  const auto graph = load("tests/data/corpus/tensorflow/fused_bn/saved_model", options);
  ASSERT_FALSE(graph);
  EXPECT_TRUE(message(graph.error()).contains("did you mean 'serving_default'?")) << message(graph.error());
}

}  // namespace
}  // namespace convoy::read_test
