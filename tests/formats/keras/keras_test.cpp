// Configs of every age against the operators they become; the arithmetic is the runtime's and tested there.
#include "formats/keras/keras.h"

#include "graph/graph.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace convoy::keras::keras_test {
namespace {

Graph structure(const std::string& text) {
  LoadOptions options;
  options.structure_only = true;
  auto graph = read_json(text, options);
  EXPECT_TRUE(graph) << (graph ? "" : message(graph.error()));
  return graph ? std::move(*graph) : Graph{};
}

std::string failure(const std::string& text) {
  LoadOptions options;
  options.structure_only = true;
  const auto graph = read_json(text, options);
  return graph ? "" : message(graph.error());
}

std::string chain(const std::string& layers, const std::string& version = "3.15.1") {
  return R"({"keras_version": ")" + version + R"(", "class_name": "Sequential", "config": {"name": "net", "layers": [
    {"class_name": "InputLayer", "config": {"name": "image", "batch_shape": [null, 8, 9, 3]}}, )" +
         layers + "]}}";
}

template <class T>
T only(const Graph& graph) {
  for (const Node& node : graph.nodes)
    if (const T* op = get_if<T>(&node.op)) return *op;
  ADD_FAILURE() << "the graph has no " << T::name;
  return T{};
}

Shape shape_out(const Graph& graph) {
  return graph.outputs.empty() ? Shape{} : graph[graph.outputs.front()].type.shape;
}

TEST(Keras, AResidualOfItsApplicationsIsScaled) {
  const std::string x =
      R"({"class_name": "__keras_tensor__", "config": {"shape": [null, 5], "keras_history": ["x", 0, 0]}})";
  const Graph graph = structure(
      R"({"keras_version": "3.15.1", "class_name": "Functional", "config": {"name": "net", "layers": [
    {"class_name": "InputLayer", "name": "x", "config": {"name": "x", "batch_shape": [null, 5]}, "inbound_nodes": []},
    {"module": "keras.src.applications.inception_resnet_v2", "class_name": "CustomScaleLayer", "name": "s",
     "registered_name": "CustomScaleLayer", "config": {"name": "s", "scale": 0.25}, "inbound_nodes": [{"args": [[)" +
      x + ", " + x + R"(]], "kwargs": {}}]}], "input_layers": [["x", 0, 0]], "output_layers": [["s", 0, 0]]}})");
  EXPECT_EQ(only<Affine>(graph).scale, 0.25);
  EXPECT_EQ(only<Binary>(graph).function, BinaryFunction::Add);
}

TEST(Keras, ALayerNamesItsResultAndNotAStepInFrontOfIt) {
  const Graph graph = structure(
      R"({"keras_version": "3.15.1", "class_name": "Functional", "config": {"name": "net", "layers": [
    {"class_name": "InputLayer", "name": "x", "config": {"name": "x", "batch_shape": [null, 5], "dtype": "uint8"},
     "inbound_nodes": []},
    {"module": "keras.src.ops.numpy", "class_name": "Greater", "name": "larger", "config": {"name": "larger"},
     "inbound_nodes": [{"args": [{"class_name": "__keras_tensor__", "config": {"shape": [null, 5],
      "keras_history": ["x", 0, 0]}}, 200], "kwargs": {}}]}],
    "input_layers": [["x", 0, 0]], "output_layers": [["larger", 0, 0]]}})");
  ASSERT_EQ(graph.outputs.size(), 1U);
  EXPECT_EQ(graph[graph.outputs[0]].name, "larger");
  EXPECT_EQ(only<Cast>(graph).to, DType::I32);
}

TEST(Keras, AClassOfANotebookIsNotTheStockOneOfItsName) {
  const auto dense = [](const std::string& written_as) {
    return failure(chain(R"({"class_name": "Dense", )" + written_as + R"("config": {"name": "d", "units": 2}})"));
  };
  EXPECT_NE(dense(R"("module": null, "registered_name": "Dense", )").find("is a class of its own ('Dense')"),
            std::string::npos);
  EXPECT_EQ(dense(R"("module": "keras.layers", "registered_name": null, )"), "");
  EXPECT_EQ(dense(""), "");
  EXPECT_NE(failure(R"({"keras_version": "3.15.1", "module": null, "registered_name": "Sequential",
      "class_name": "Sequential", "config": {"name": "net", "layers": []}})")
                .find("is a class of its own"),
            std::string::npos);
}

TEST(Keras, SameStaysSameAndKernelsStayAsTheyAreStored) {
  const Graph graph =
      structure(chain(R"({"class_name": "Conv2D", "config": {"name": "conv", "filters": 4, "kernel_size": [3, 2],
    "strides": [2, 1], "padding": "same", "activation": "relu"}})"));
  const Conv conv = only<Conv>(graph);
  EXPECT_EQ(conv.axes, (Axes{Order::ChannelsLast, 2}));
  EXPECT_EQ(conv.kernel_order, KernelOrder::SpaceInOut);
  EXPECT_EQ(conv.paddings.front().spelling, Spelling::SameUpper);
  EXPECT_EQ(conv.windows, (std::vector<Window>{{3, 2, 1}, {2, 1, 1}}));
  EXPECT_EQ(shape_out(graph), (Shape{Dim::unknown(), 4, 9, 4}));
  EXPECT_EQ(graph[graph.outputs.front()].name, "conv");
  EXPECT_EQ(graph.nodes.back().kind, "Conv2D");
}

TEST(Keras, AnAttributeNobodyUnderstandsIsNamed) {
  const auto text = failure(chain(R"({"class_name": "Dense", "config": {"name": "fc", "units": 4, "wobble": 3}})"));
  EXPECT_EQ(text, "layer 'fc' (Dense): attribute 'wobble' is not understood");
}

TEST(Keras, PythonCodeIsRefusedNamingTheLayer) {
  const auto text = failure(chain(R"({"class_name": "Lambda", "config": {"name": "secret"}})"));
  EXPECT_EQ(text,
            "layer 'secret' (Lambda): holds Python code, which has no meaning outside Python; cut the model before it "
            "with --outputs");
}

TEST(Keras, AnActivationThatIsALambdaIsRefusedAsCode) {
  for (const char* lambda : {R"({"value": ["4wEAAAA=\n", null, null]})",
                             R"({"class_name": "__lambda__", "config": {"value": ["4wEAAAA=\n", null, null]}})"})
    EXPECT_EQ(failure(chain(R"({"class_name": "Dense", "config": {"name": "fc", "units": 4, "activation": )" +
                            std::string(lambda) + "}}")),
              "layer 'fc' (Dense): activation is a lambda, Python code, which has no meaning outside Python");
}

TEST(Keras, ALayerBehindTheCutIsNotLookedAt) {
  LoadOptions options;
  options.structure_only = true;
  options.outputs = {"conv"};
  const auto graph =
      read_json(chain(R"({"class_name": "Conv2D", "config": {"name": "conv", "filters": 4, "kernel_size": 1}},
    {"class_name": "Lambda", "config": {"name": "secret"}})"),
                options);
  ASSERT_TRUE(graph) << message(graph.error());
  EXPECT_EQ(graph->output_names, std::vector<std::string>{"conv"});
}

// What comes in is cast, the bias is added behind the rounded sum, and the next layer of float32 casts back.
TEST(Keras, APolicyOf16BitsCastsWhatComesInAndAddsTheBiasApart) {
  const auto graph = structure(chain(R"({"class_name": "Dense", "config": {"name": "fc", "units": 4,
    "dtype": {"class_name": "DTypePolicy", "config": {"name": "mixed_float16"}}}},
    {"class_name": "ReLU", "config": {"name": "act", "dtype": "float32"}})"));
  std::string kinds;
  for (const Node& node : graph.nodes)
    kinds += std::string(name_of(node.op)) + " " + std::string(name_of(graph[node.outputs[0]].type.dtype)) + "; ";
  EXPECT_EQ(kinds, "cast float16; linear float16; binary float16; cast float32; relu float32; ");
  EXPECT_EQ(graph[graph.nodes[1].inputs[1]].type.dtype, DType::F16);
}

TEST(Keras, NormsOfAPolicyOf16BitsComputeInFloat32) {
  const auto graph = structure(chain(R"({"class_name": "BatchNormalization", "config": {"name": "bn", "axis": [3],
    "dtype": "mixed_bfloat16"}})"));
  ASSERT_EQ(graph.nodes.size(), 4);
  EXPECT_TRUE(holds_alternative<BatchNorm>(graph.nodes[2].op));
  EXPECT_EQ(graph[graph.nodes[2].inputs[1]].type.dtype, DType::F32);
  EXPECT_EQ(graph[graph.outputs[0]].type.dtype, DType::BF16);
  EXPECT_EQ(graph[graph.outputs[0]].name, "bn");
}

TEST(Keras, WhatIsNotFollowedIn16BitsIsRefusedByName) {
  EXPECT_EQ(failure(chain(R"({"class_name": "CenterCrop", "config": {"name": "crop", "height": 4, "width": 3,
        "dtype": "mixed_float16"}})")),
            "layer 'crop' (CenterCrop): computes in float16, which this version follows in Keras 3's layers without "
            "random or "
            "changing state, such as convolutions, attention and recurrent layers");
  EXPECT_EQ(failure(chain(R"({"class_name": "Dense", "config": {"name": "fc", "units": 4, "dtype": "float8_e4m3"}})")),
            "layer 'fc' (Dense): computes in float8_e4m3, which this version does not carry");
}

TEST(Keras, AMaskStaysWhereALayerTurnsItsInputIntoItsOwnType) {
  const Graph graph = structure(chain(
      R"({"class_name": "Reshape", "config": {"name": "steps", "target_shape": [72, 3]}},
         {"class_name": "Masking", "config": {"name": "masking", "mask_value": 0.0}},
         {"class_name": "GlobalAveragePooling1D", "config": {"name": "mean", "dtype": "mixed_float16"}})"));
  for (const Node& node : graph.nodes) {
    const auto* reduce = get_if<Reduce>(&node.op);
    EXPECT_FALSE(reduce && reduce->reduction == Reduction::Mean);
  }
  EXPECT_EQ(graph[graph.outputs.front()].type.dtype, DType::F16);
}

TEST(Keras, AModelInsideTurnsItsInputIntoTheTypeThatItDeclares) {
  const Graph graph = structure(chain(R"({"class_name": "Sequential", "config": {"name": "inside", "layers": [
    {"class_name": "InputLayer", "config": {"name": "i", "batch_shape": [null, 8, 9, 3], "dtype": "float16"}},
    {"class_name": "ReLU", "config": {"name": "relu", "dtype": "float32"}}]}})"));
  EXPECT_EQ(only<Cast>(graph).to, DType::F16);
  EXPECT_EQ(graph[graph.outputs.front()].type.dtype, DType::F32);
}

TEST(Keras, HardSigmoidFollowsTheVersionOfTheFile) {
  const std::string layer = R"({"class_name": "Activation", "config": {"name": "a", "activation": "hard_sigmoid"}})";
  EXPECT_DOUBLE_EQ(only<HardSigmoid>(structure(chain(layer, "2.15.0"))).alpha, 0.2);
  EXPECT_DOUBLE_EQ(only<HardSigmoid>(structure(chain(layer, "3.0.0"))).alpha, 1.0 / 6);
}

TEST(Keras, TheFusedBatchNormalizationOfKeras2RaisesASmallEpsilon) {
  const std::string layer =
      R"({"class_name": "BatchNormalization", "config": {"name": "bn", "axis": [3], "epsilon": 1e-05}})";
  EXPECT_DOUBLE_EQ(only<BatchNorm>(structure(chain(layer, "2.21.0"))).epsilon, 1.001e-5);
  EXPECT_DOUBLE_EQ(only<BatchNorm>(structure(chain(layer, "3.15.1"))).epsilon, 1e-5);
}

TEST(Keras, BatchNormalizationOnHeightHasOneWeightPerRow) {
  const Graph graph = structure(chain(R"({"class_name": "BatchNormalization", "config": {"name": "bn", "axis": 1}})"));
  EXPECT_EQ(only<BatchNorm>(graph).axis, 1);
  for (const Value& value : graph.values)
    if (value.constant) {
      EXPECT_EQ(value.constant->shape(), Sizes{8});
      EXPECT_EQ(value.trainable, !value.name.starts_with("bn/moving"));
    }
}

TEST(Keras, BilinearUpSamplingFollowsWhoWroteTheFile) {
  const std::string layer =
      R"({"class_name": "UpSampling2D", "config": {"name": "up", "size": [2, 3], "interpolation": "bilinear"}})";
  EXPECT_EQ(only<Resize>(structure(chain(layer, "2.2.4"))).coordinates, Coordinates::Asymmetric);
  EXPECT_EQ(only<Resize>(structure(chain(layer, "2.2.4-tf"))).coordinates, Coordinates::HalfPixel);
  EXPECT_EQ(only<Resize>(structure(chain(layer, "3.1.0"))).coordinates, Coordinates::HalfPixel);
}

TEST(Keras, ChannelsFirstIsFlattenedInChannelsLastOrder) {
  const Graph graph =
      structure(chain(R"({"class_name": "Flatten", "config": {"name": "flat", "data_format": "channels_first"}})"));
  EXPECT_EQ(only<Transpose>(graph).permutation, (Sizes{0, 2, 3, 1}));
  EXPECT_EQ(shape_out(graph), (Shape{Dim::unknown(), 216}));
}

TEST(Keras, AFrozenLayersWeightsAreNotTrainable) {
  const Graph graph = structure(chain(R"({"class_name": "Conv2D", "config": {"name": "kept", "trainable": false,
    "filters": 4, "kernel_size": [3, 2]}}, {"class_name": "Conv2D", "config": {"name": "learns", "trainable": true,
    "filters": 5, "kernel_size": [1, 2]}})"));
  for (const Value& value : graph.values) {
    if (!value.constant) continue;
    EXPECT_EQ(value.trainable, value.name.starts_with("learns")) << value.name;
  }
}

TEST(Keras, CroppingCutsByNegativePadding) {
  const Pad pad = only<Pad>(
      structure(chain(R"({"class_name": "Cropping2D", "config": {"name": "c", "cropping": [[1, 0], [2, 3]]}})")));
  EXPECT_EQ(pad.before, (Sizes{0, -1, -2, 0}));
  EXPECT_EQ(pad.after, (Sizes{0, 0, -3, 0}));
}

// keras.ops.multiply(x, numpy.array([3, 5], dtype)) and ops.take(numpy.array(...), x), as Keras 3.15 writes them.
std::string whole_constant_model(const std::string& dtype, bool takes, const std::string& values = "3, 5") {
  const std::string array = R"({"class_name": "__numpy__", "config": {"value": [)" + values + R"(], "dtype": ")" +
                            dtype + R"("}})",
                    x = R"({"class_name": "__keras_tensor__", "config": {"shape": [4, 2], "dtype": ")" + dtype +
                        R"(", "keras_history": ["x", 0, 0]}})";
  return R"({"keras_version": "3.15.1", "module": "keras.src.models.functional", "class_name": "Functional", "config": {
    "name": "net", "layers": [{"module": "keras.layers", "class_name": "InputLayer", "name": "x", "inbound_nodes": [],
    "config": {"name": "x", "batch_shape": [4, 2], "dtype": ")" +
         dtype + R"("}}, {"module": "keras.src.ops.numpy", "class_name": ")" + (takes ? "Take" : "Multiply") +
         R"(", "config": {"name": "y"}, "name": "y", "inbound_nodes": [{"args": [)" +
         (takes ? array + ", " + x : x + ", " + array) +
         R"(], "kwargs": {}}]}], "input_layers": [["x", 0, 0]], "output_layers": [["y", 0, 0]]}})";
}

TEST(Keras, WholeConstantsKeepTheTypeThatTheyAreWrittenWith) {
  for (const DType dtype : {DType::U8, DType::I8, DType::I32, DType::I64})
    for (const bool takes : {false, true}) {
      const Graph graph = structure(whole_constant_model(std::string(name_of(dtype)), takes));
      ASSERT_FALSE(graph.outputs.empty());
      EXPECT_EQ(graph[graph.outputs[0]].type.dtype, dtype) << takes;
    }
  const Graph large = structure(whole_constant_model("int64", false, "3, 9007199254740993"));
  const auto is_large = [](const Value& value) {
    return value.constant && value.constant->integers() == std::vector<std::int64_t>{3, 9007199254740993};
  };
  EXPECT_TRUE(std::ranges::any_of(large.values, is_large)) << "no float64 holds it";
  EXPECT_NE(failure(whole_constant_model("int8", false, "3, 1e30")).find("holds a fraction"), std::string::npos);
}

// keras.ops.argmax(x, 1), read by keras.ops.negative: what the file tells of the places in between.
std::string model_of_places(const std::string& shape, const std::string& dtype) {
  const auto tensor = [](const std::string& name, const std::string& sizes, const std::string& type) {
    return R"({"class_name": "__keras_tensor__", "config": {"shape": )" + sizes + R"(, "dtype": ")" + type +
           R"(", "keras_history": [")" + name + R"(", 0, 0]}})";
  };
  return R"({"keras_version": "3.15.1", "module": "keras.src.models.functional", "class_name": "Functional", "config": {
    "name": "net", "layers": [{"module": "keras.layers", "class_name": "InputLayer", "name": "x", "inbound_nodes": [],
    "config": {"name": "x", "batch_shape": [null, 5, 4], "dtype": "float32"}},
    {"module": "keras.src.ops.numpy", "class_name": "Argmax", "config": {"name": "a", "axis": 1}, "name": "a",
     "inbound_nodes": [{"args": [)" +
         tensor("x", "[null, 5, 4]", "float32") + R"(], "kwargs": {}}]},
    {"module": "keras.src.ops.numpy", "class_name": "Negative", "config": {"name": "n"}, "name": "n",
     "inbound_nodes": [{"args": [)" +
         tensor("a", shape, dtype) +
         R"(], "kwargs": {}}]}], "input_layers": [["x", 0, 0]], "output_layers": [["n", 0, 0]]}})";
}

TEST(Keras, ATensorThatIsNotAsTheFileTellsIsRefused) {
  const Graph graph = structure(model_of_places("[null, 4]", "int32"));
  ASSERT_FALSE(graph.outputs.empty());
  EXPECT_EQ(graph[graph.outputs[0]].type.dtype, DType::I32) << "places are of 32 bits";
  EXPECT_NE(failure(model_of_places("[null, 4]", "int64")).find("layer 'a' (Argmax): gives int64 [N, 4] as the file"),
            std::string::npos);
  EXPECT_NE(failure(model_of_places("[null, 5]", "int32")).find("gives int32 [N, 5] as the file"), std::string::npos);
}

// Keras 1.2, by its documentation; no such framework made these numbers.
TEST(Keras, Keras1WordsAreRead) {
  const Graph graph = structure(R"({"class_name": "Sequential", "config": [
    {"class_name": "Convolution2D", "config": {"name": "convolution2d_1", "batch_input_shape": [null, 3, 8, 9], "nb_filter": 4,
      "nb_row": 3, "nb_col": 2, "border_mode": "same", "subsample": [2, 1], "dim_ordering": "th", "bias": true,
      "activation": "relu", "init": "glorot_uniform", "W_regularizer": null, "b_regularizer": null,
      "activity_regularizer": null, "W_constraint": null, "b_constraint": null, "trainable": true, "input_dtype": "float32"}},
    {"class_name": "MaxPooling2D", "config": {"name": "p", "pool_size": [2, 3], "strides": [2, 3], "border_mode": "valid",
      "dim_ordering": "th", "trainable": true}},
    {"class_name": "Dropout", "config": {"name": "d", "p": 0.25, "trainable": true}},
    {"class_name": "Flatten", "config": {"name": "f", "trainable": true}},
    {"class_name": "Dense", "config": {"name": "fc", "output_dim": 5, "input_dim": null, "bias": true, "init": "uniform",
      "activation": "softmax"}}]})");
  EXPECT_EQ(only<Conv>(graph).kernel_order, KernelOrder::OutInSpace);
  EXPECT_EQ(only<Conv>(graph).axes.order, Order::ChannelsFirst);
  EXPECT_DOUBLE_EQ(only<Dropout>(graph).rate, 0.25);
  EXPECT_EQ(shape_out(graph), (Shape{Dim::unknown(), 5}));
  EXPECT_EQ(graph.source_format, "Keras 1");
}

TEST(Keras, LayersThatFormACycleAreNamed) {
  const auto text =
      failure(R"({"keras_version": "2.4.0", "class_name": "Functional", "config": {"name": "net", "layers": [
    {"class_name": "InputLayer", "name": "x", "config": {"name": "x", "batch_input_shape": [null, 4]}, "inbound_nodes": []},
    {"class_name": "Add", "name": "a", "config": {"name": "a"}, "inbound_nodes": [[["x", 0, 0, {}], ["b", 0, 0, {}]]]},
    {"class_name": "ReLU", "name": "b", "config": {"name": "b"}, "inbound_nodes": [[["a", 0, 0, {}]]]}],
    "input_layers": [["x", 0, 0]], "output_layers": [["b", 0, 0]]}})");
  EXPECT_EQ(text, "layer 'a' reads what it makes: the layers form a cycle");
}

TEST(Keras, AModelWithoutWeightsAsksForThem) {
  const auto graph = read_json(chain(R"({"class_name": "ReLU", "config": {"name": "r"}})"), {});
  ASSERT_FALSE(graph);
  EXPECT_EQ(message(graph.error()), "holds a model without weights; give them with --weights FILE");
}

TEST(Keras, SizeFreesTheSpatialAxesOfAnImage) {
  LoadOptions options;
  options.structure_only = true;
  options.size = {std::nullopt, Size{16}};
  const auto graph = read_json(chain(R"({"class_name": "ReLU", "config": {"name": "r"}})"), options);
  ASSERT_TRUE(graph);
  EXPECT_EQ(shape_out(*graph), (Shape{Dim::unknown(), Dim::unknown(), 16, 3}));
}

TEST(Keras, AKernelOfAnotherShapeIsAnError) {
  const Json config = Json::parse(R"({"name": "fc", "units": 2, "use_bias": false})");
  const auto graph =
      graph_of_layer("Dense", config, {TensorType{DType::F32, {1, 3}}}, {Tensor::of({2, 2}, std::vector<float>(4))});
  ASSERT_FALSE(graph);
  EXPECT_EQ(message(graph.error()), "layer 'fc' (Dense): kernel has shape [2, 2], expected [3, 2]");
}

TEST(Keras, AnArrayThatNoConfigAsksForIsAnError) {
  const Json config = Json::parse(R"({"name": "fc", "units": 2, "use_bias": false})");
  const auto graph =
      graph_of_layer("Dense", config, {TensorType{DType::F32, {1, 3}}},
                     {Tensor::of({3, 2}, std::vector<float>(6)), Tensor::of({2}, std::vector<float>(2))});
  ASSERT_FALSE(graph);
  EXPECT_EQ(message(graph.error()), "layer 'fc' (Dense): the file holds 2 arrays for it, its config asks for 1");
}

}  // namespace
}  // namespace convoy::keras::keras_test
