// Functions of TensorFlow that files of Keras 2 call in the place of layers.
#include "formats/keras/keras.h"

#include "graph/graph.h"

#include <gtest/gtest.h>

namespace convoy::keras::functions_test {
namespace {

struct Called {
  std::string name, function, node;  // TFOpLambda; without a function: SlicingOpLambda
};

// An image [7, 9, 3] that functions are called on, one behind the other; the last one gives the output.
std::string model(const std::vector<Called>& calls, const std::string& height = "7") {
  std::string text = R"({"keras_version": "2.15.0", "class_name": "Functional", "config": {"name": "net", "layers": [
    {"class_name": "InputLayer", "name": "x", "config": {"name": "x", "batch_input_shape": [null, )" +
                     height + R"(, 9, 3]}, "inbound_nodes": []})";
  for (const Called& call : calls)
    text += R"(, {"class_name": ")" + std::string(call.function.empty() ? "SlicingOpLambda" : "TFOpLambda") +
            R"(", "name": ")" + call.name + R"(", "config": {"name": ")" + call.name + R"(", "function": ")" +
            (call.function.empty() ? "__operators__.getitem" : call.function) + R"("}, "inbound_nodes": [)" +
            call.node + "]}";
  return text + R"(], "input_layers": [["x", 0, 0]], "output_layers": [[")" + calls.back().name + R"(", 0, 0]]}})";
}

std::string shape_or_refusal(const std::string& text) {
  LoadOptions options;
  options.structure_only = true;
  const auto graph = read_json(text, options);
  if (!graph) return message(graph.error());
  return text_of((*graph)[graph->outputs.front()].type.shape);
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(KerasFunctionLayers, ArgumentsStandInTheNode) {
  EXPECT_EQ(shape_or_refusal(model({{"m", "math.multiply", R"(["x", 0, 0, {"y": 2.0, "name": null}])"}})),
            "[N, 7, 9, 3]");
  EXPECT_EQ(shape_or_refusal(model({{"r", "math.subtract", R"(["_CONSTANT_VALUE", -1, 1.5, {"y": ["x", 0, 0]}])"}})),
            "[N, 7, 9, 3]");
  EXPECT_EQ(shape_or_refusal(model({{"c", "concat", R"([["x", 0, 0, {"axis": 2}], ["x", 0, 0, {"axis": 2}]])"}})),
            "[N, 7, 18, 3]");
  EXPECT_EQ(shape_or_refusal(model({{"t", "compat.v1.transpose", R"(["x", 0, 0, {"perm": [0, 3, 1, 2]}])"}})),
            "[N, 3, 7, 9]");
  EXPECT_EQ(
      shape_or_refusal(model({{"s", "", R"(["x", 0, 0, {"slice_spec": [{"start": null, "stop": null, "step": null},
                                                                              2, {"start": 1, "stop": -1, "step": 2}]}])"}})),
      "[N, 4, 3]");
}

TEST(KerasFunctionLayers, SizesAreReadByFunctionsAlone) {
  const Called sizes{"n", "compat.v1.shape", R"(["x", 0, 0, {}])"}, batch{"b", "", R"(["n", 0, 0, {"slice_spec": 0}])"},
      height{"h", "", R"(["n", 0, 0, {"slice_spec": 1}])"};
  EXPECT_EQ(
      shape_or_refusal(model({sizes, batch, {"r", "reshape", R"(["x", 0, 0, {"shape": [["b", 0, 0], -1, 3]}])"}})),
      "[N, 63, 3]");
  // A free height in front would say nothing of the batch.
  const std::string other = shape_or_refusal(
      model({sizes, height, {"r", "reshape", R"(["x", 0, 0, {"shape": [["h", 0, 0], -1, 3]}])"}}, "null"));
  EXPECT_TRUE(holds(other, "several sizes that are free")) << other;
  EXPECT_TRUE(holds(shape_or_refusal(model({sizes})), "as an output")) << shape_or_refusal(model({sizes}));
}

TEST(KerasFunctionLayers, WhatIsNotKnownIsRefusedByName) {
  EXPECT_TRUE(holds(shape_or_refusal(model({{"f", "signal.stft", R"(["x", 0, 0, {}])"}})), "'tf.signal.stft'"));
  EXPECT_TRUE(
      holds(shape_or_refusal(model({{"f", "math.multiply", R"(["x", 0, 0, {"y": {"$tensor": 7}}])"}})), "not read"));
  EXPECT_TRUE(holds(shape_or_refusal(model({{"f", "concat", R"(["y", 0, 0, {}])"}})), "'y', which does not exist"));
}

}  // namespace
}  // namespace convoy::keras::functions_test
