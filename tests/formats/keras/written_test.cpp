// Graphs as documents, and documents as the files that Keras opens. What Keras itself makes of them is asked in
// tests/oracle/test_keras_written.py.
#include "base/mapped_file.h"
#include "formats/keras/keras.h"
#include "formats/keras/write/files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace convoy::keras::written_test {
namespace {

Tensor numbers(Sizes shape, float first) {
  Size count = 1;
  for (const Size n : shape) count *= n;
  std::vector<float> all;
  for (Size i = 0; i < count; ++i) all.push_back(first + static_cast<float>(i));
  return Tensor::of(std::move(shape), std::move(all));
}

Conv same_conv() {
  Conv conv{Axes{Order::ChannelsLast, 2}, KernelOrder::SpaceInOut, {{3, 1, 1}, {2, 1, 1}}, {}, 1};
  conv.paddings.assign(2, Padding{Spelling::SameUpper});
  return conv;
}

// Adds a node, or says why not.
ValueId add(Graph& graph, Op op, std::vector<ValueId> inputs, const std::string& layer,
            std::vector<Scope> scopes = {}) {
  auto made = graph.add(std::move(op), std::move(inputs), layer, "", std::move(scopes));
  EXPECT_TRUE(made) << (made ? "" : message(made.error()));
  return made ? made->front() : ValueId{};
}

Document written(const Graph& graph) {
  auto document = document_of(graph);
  EXPECT_TRUE(document) << (document ? "" : message(document.error()));
  return document ? std::move(*document) : Document{};
}

Graph finished(Graph graph, std::vector<ValueId> outputs) {
  for (const ValueId v : outputs) graph.output_names.push_back(graph[v].name);
  graph.outputs = std::move(outputs);
  return graph;
}

std::vector<std::byte> archive_of(const Document& document) {
  std::vector<std::byte> all;
  const auto done = write_archive(document, [&](Bytes bytes) -> Status {
    all.insert(all.end(), bytes.begin(), bytes.end());
    return {};
  });
  EXPECT_TRUE(done) << (done ? "" : message(done.error()));
  return all;
}

TEST(KerasWritten, OnlyWhatDiffersFromTheDefaultsIsSaid) {
  Graph graph;
  const ValueId x = graph.input("image", {DType::F32, {Dim::unknown(), 5, 7, 3}});
  const ValueId kernel = graph.constant("conv/kernel", numbers({3, 2, 3, 4}, 0));
  const ValueId y = add(graph, same_conv(), {x, kernel}, "conv");
  const Document document = written(finished(std::move(graph), {y}));
  ASSERT_EQ(document.layers.size(), 2U);
  EXPECT_EQ(document.layers[1].class_name, "Conv2D");
  EXPECT_EQ(document.layers[1].arguments.dump(),
            R"({"filters":4,"kernel_size":[3,2],"padding":"same","use_bias":false})");
  EXPECT_TRUE(document.is_sequential());
  EXPECT_EQ(config_of(document)["class_name"], "Sequential");
}

// Keras puts the longer path first when it rebuilds a model, whatever the order in the file: 'aa' is its first Conv2D.
TEST(KerasWritten, LayersStandInTheOrderInWhichKerasCountsThem) {
  Graph graph;
  const ValueId x = graph.input("image", {DType::F32, {Dim::unknown(), 5, 7, 3}});
  const ValueId k1 = graph.constant("zz/kernel", numbers({3, 2, 3, 3}, 100));
  const ValueId k2 = graph.constant("aa/kernel", numbers({3, 2, 3, 3}, 200));
  const ValueId zz = add(graph, same_conv(), {x, k1}, "zz");
  const ValueId aa = add(graph, same_conv(), {x, k2}, "aa");
  const ValueId up = add(graph, Unary{Function::Tanh}, {aa}, "up");
  const ValueId sum = add(graph, Binary{BinaryFunction::Add}, {zz, up}, "sum");
  const Graph whole = finished(std::move(graph), {sum});
  const Document document = written(whole);
  std::vector<std::string> names;
  for (const std::size_t at : order_in_keras(document)) names.push_back(document.layers[at].name);
  EXPECT_EQ(names, (std::vector<std::string>{"image", "aa", "zz", "up", "sum"}));

  const auto bytes = archive_of(document);
  const auto file = file_of(std::vector<std::byte>(bytes));
  const Blob blob = blob_of(file);
  const auto read = read_archive(blob.bytes, blob.keeper, {});
  ASSERT_TRUE(read) << message(read.error());
  for (const Value& value : read->values) {
    if (!value.constant) continue;
    const ValueId from = document.carried.at(value.name);
    EXPECT_TRUE(same_bytes(*value.constant, *whole[from].constant)) << value.name;
  }
  EXPECT_EQ(bytes, archive_of(document));
}

TEST(KerasWritten, ALayerCalledTwiceIsOneLayer) {
  Graph graph;
  const ValueId x = graph.input("x", {DType::F32, {Dim::unknown(), 4}});
  const ValueId kernel = graph.constant("fc/kernel", numbers({4, 4}, 0));
  const ValueId once = add(graph, Linear{LinearOrder::InOut}, {x, kernel}, "fc");
  const ValueId twice = add(graph, Linear{LinearOrder::InOut}, {once, kernel}, "fc");
  const Document document = written(finished(std::move(graph), {twice}));
  ASSERT_EQ(document.layers.size(), 2U);
  EXPECT_EQ(document.layers[1].calls.size(), 2U);
  EXPECT_FALSE(document.is_sequential());
  EXPECT_EQ(document.outputs.front(), (Reference{1, 1, 0}));
}

// Two LSTMs over x [N, 5, 2], 3 units each, one from each end, side by side; and, if asked for, the sum of the one's steps.
Graph two_ways(bool read_elsewhere) {
  Graph graph;
  const ValueId x = graph.input("x", {DType::F32, {Dim::unknown(), 5, 2}});
  const auto cell = [&](bool backwards, float first) {
    const std::string name = backwards ? "rnn/back" : "rnn/there";
    const ValueId kernel = graph.constant(name + "/kernel", numbers({2, 12}, first));
    const ValueId recurrent = graph.constant(name + "/recurrent", numbers({3, 12}, first + 100));
    return add(graph, Lstm{.backwards = backwards, .returns_sequence = true}, {x, kernel, recurrent}, "rnn");
  };
  const ValueId there = cell(false, 1), back = cell(true, 500);
  const ValueId turned = add(graph, Slice{1, {}, {}, -1}, {back}, "rnn");
  std::vector<ValueId> outputs{add(graph, Concat{2}, {there, turned}, "rnn")};
  if (read_elsewhere) outputs.push_back(add(graph, Unary{Function::Tanh}, {there}, "tanh"));
  return finished(std::move(graph), outputs);
}

TEST(KerasWritten, CellsFromBothEndsAreOneLayer) {
  const Graph graph = two_ways(false);
  const Document document = written(graph);
  ASSERT_EQ(document.layers.size(), 2U);
  const DocumentLayer& layer = document.layers[1];
  EXPECT_EQ(layer.class_name, "Bidirectional");
  EXPECT_EQ(layer.name, "rnn");
  EXPECT_EQ(layer.arguments["layer"]["config"].dump(),
            R"({"name":"lstm","units":3,"use_bias":false,"return_sequences":true})");
  std::vector<std::string> parts;
  for (const DocumentWeight& weight : layer.weights) parts.push_back(weight.part + ":" + weight.name);
  EXPECT_EQ(parts, (std::vector<std::string>{"forward_layer/cell:kernel", "forward_layer/cell:recurrent_kernel",
                                             "backward_layer/cell:kernel", "backward_layer/cell:recurrent_kernel"}));
  const auto file = file_of(archive_of(document));
  const Blob blob = blob_of(file);
  const auto read = read_archive(blob.bytes, blob.keeper, {});
  ASSERT_TRUE(read) << message(read.error());
  for (const Value& value : read->values) {
    if (!value.constant) continue;
    ASSERT_TRUE(document.carried.contains(value.name)) << value.name;
    EXPECT_TRUE(same_bytes(*value.constant, *graph[document.carried.at(value.name)].constant)) << value.name;
  }
}

TEST(KerasWritten, ACellThatSomebodyElseReadsStaysALayerOfItsOwn) {
  const Document document = written(two_ways(true));
  std::vector<std::string> classes;
  for (const DocumentLayer& layer : document.layers) classes.push_back(layer.class_name);
  EXPECT_EQ(std::ranges::count(classes, "LSTM"), 2);
  EXPECT_EQ(std::ranges::count(classes, "Bidirectional"), 0);
}

TEST(KerasWritten, StatesToBeginWithAreAnArgumentOfTheCall) {
  Graph graph;
  const ValueId x = graph.input("x", {DType::F32, {2, 5, 2}}), h = graph.input("h", {DType::F32, {2, 3}});
  const ValueId kernel = graph.constant("rnn/kernel", numbers({2, 12}, 0));
  const ValueId recurrent = graph.constant("rnn/recurrent", numbers({3, 12}, 0));
  auto made = graph.add(Lstm{.returns_cell = true}, {x, kernel, recurrent, {}, {}, h}, "rnn");
  ASSERT_TRUE(made) << message(made.error());
  const ValueId cell = made->at(1);
  const Document document = written(finished(std::move(graph), {cell}));
  ASSERT_EQ(document.layers.size(), 4U);
  EXPECT_EQ(document.layers[2].class_name, "ZerosLike");  // c, which is not said
  const DocumentCall& call = document.layers[3].calls.front();
  ASSERT_EQ(call.kwargs.size(), 1U);
  EXPECT_EQ(call.kwargs[0].first, "initial_state");
  const auto& states = std::get<std::vector<Item>>(call.kwargs[0].second);
  EXPECT_EQ(std::get<Reference>(states.at(0)), (Reference{1, 0, 0}));
  EXPECT_EQ(std::get<Reference>(states.at(1)), (Reference{2, 0, 0}));
  EXPECT_EQ(document.outputs.front(), (Reference{3, 0, 2}));  // behind the steps and h
}

TEST(KerasWritten, NamesKeepTheModulesOfTheSource) {
  Graph graph;
  const ValueId x = graph.input("x", {DType::F32, {Dim::unknown(), 4, 5, 3}});
  Pad pad{{0, 1, 2, 0}, {0, 0, 3, 0}};
  const ValueId kernel = graph.constant("k", numbers({3, 2, 3, 4}, 0));
  const ValueId padded = add(graph, pad, {x}, "features.0.conv", {{"features"}, {"features.0"}});
  const ValueId y = add(graph, same_conv(), {padded, kernel}, "features.0.conv", {{"features"}, {"features.0"}});
  const ValueId z = add(graph, Relu{}, {y}, "act", {{"backbone"}});
  const Document document = written(finished(std::move(graph), {z}));
  EXPECT_EQ(document.layers[1].name, "features_0_conv_pad");
  EXPECT_EQ(document.layers[1].arguments.dump(), R"({"padding":[[1,0],[2,3]]})");
  EXPECT_EQ(document.layers[2].name, "features_0_conv");
  EXPECT_EQ(document.layers[3].name, "backbone_act");
}

TEST(KerasWritten, WhatOnlyOperationsSayHasNoOlderForm) {
  Graph graph;
  const ValueId x = graph.input("x", {DType::F32, {Dim::unknown(), 4, 5}});
  const ValueId y = add(graph, Unary{Function::Sqrt}, {x}, "root");
  const Document document = written(finished(std::move(graph), {y}));
  const auto done = write_hdf5(document, [](Bytes) -> Status { return {}; });
  ASSERT_FALSE(done);
  EXPECT_EQ(message(done.error()),
            "layer 'root' (Sqrt): is an operation of keras.ops, which Keras does not load from an .h5 file; write a "
            ".keras file");
}

// Keras drops a list of several axes when it loads the older form, and softens over the last axis instead.
TEST(KerasWritten, SeveralAxesHaveNoOlderForm) {
  Graph graph;
  const ValueId x = graph.input("x", {DType::F32, {Dim::unknown(), 4, 5}});
  const ValueId y = add(graph, Softmax{{1, 2}}, {x}, "soft");
  const Document document = written(finished(std::move(graph), {y}));
  EXPECT_FALSE(write_hdf5(document, [](Bytes) -> Status { return {}; }));
}

// As a number in the model it would stay as it is in training.
TEST(KerasWritten, AFactorThatIsTrainedIsAWeight) {
  for (const bool trained : {true, false}) {
    Graph graph;
    const ValueId x = graph.input("x", {DType::F32, {Dim::unknown(), Dim::unknown(), 5, 3}});
    const ValueId factor = graph.constant("scale/gamma", numbers({1, 5, 3}, 2), trained);
    const ValueId y = add(graph, Binary{BinaryFunction::Multiply}, {factor, x}, "scale");
    const Document document = written(finished(std::move(graph), {y}));
    ASSERT_EQ(document.layers.size(), 2U);
    const DocumentLayer& layer = document.layers[1];
    EXPECT_EQ(layer.class_name, trained ? "EinsumDense" : "Multiply");
    ASSERT_EQ(layer.weights.size(), trained ? 1U : 0U);
    if (!trained) continue;
    EXPECT_EQ(layer.arguments.dump(), R"({"equation":"abcd,cd->abcd","output_shape":[null,5,3]})");
    EXPECT_EQ(layer.weights[0].tensor.shape(), (Sizes{5, 3}));
  }
}

TEST(KerasWritten, TruthsAreChosenAsTruths) {
  Graph graph;
  const ValueId x = graph.input("x", {DType::Bool, {2}});
  const auto truth = [&](bool is) {
    return graph.constant("truth", *Tensor::owning(DType::Bool, {}, {static_cast<std::byte>(is)}));
  };
  const ValueId y = add(graph, Where{}, {x, truth(true), truth(false)}, "where");
  const Document document = written(finished(std::move(graph), {y}));
  ASSERT_EQ(document.layers.back().calls.size(), 1U);
  const auto& args = document.layers.back().calls[0].args;
  ASSERT_EQ(args.size(), 3U);
  EXPECT_EQ(std::get<Json>(args[1]), Json(true));
  EXPECT_EQ(std::get<Json>(args[2]), Json(false));
}

TEST(KerasWritten, NumbersThatAreNoneAreSaidAsPythonSaysThem) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(python_json({{"a", -infinity}, {"b", {infinity, 0.5}}}), R"({"a": -Infinity, "b": [Infinity, 0.5]})");
}

TEST(KerasWritten, WhatKerasCannotSayIsNamed) {
  Graph graph;
  const ValueId x = graph.input("x", {DType::F32, {Dim::unknown(), 6, 5, 3}});
  const ValueId y = add(graph, LocalResponseNorm{3}, {x}, "norm");
  const auto document = document_of(finished(std::move(graph), {y}));
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error().fault, Fault::Unsupported);
  EXPECT_NE(message(document.error()).find("layer 'norm'"), std::string::npos);
}

}  // namespace
}  // namespace convoy::keras::written_test
