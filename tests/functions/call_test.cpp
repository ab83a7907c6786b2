#include "convoy/call.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace convoy {
namespace {

const Tensor four_cells = Tensor::of({1, 1, 4}, std::vector<float>{1, 10, 100, 1000});
const Tensor three_taps = Tensor::of({1, 1, 3}, std::vector<float>{1, 2, 3});

TEST(FunctionByName, FunctionsAreCalledByNameWithTheFrameworksWords) {
  const auto torch =
      call("torch", "conv1d", {{"input", four_cells}, {"weight", three_taps}}, R"({"stride": 2, "padding": [1]})");
  ASSERT_TRUE(torch) << message(torch.error());
  EXPECT_EQ(torch->front().floats(), (std::vector<float>{32, 3210}));
  const std::vector<NamedArray> last{{"x", four_cells.reshaped({1, 4, 1})}, {"kernel", three_taps.reshaped({3, 1, 1})}};
  const auto keras = call("keras", "conv1d", last, R"({"strides": 2, "padding": "same"})");
  ASSERT_TRUE(keras) << message(keras.error());
  EXPECT_EQ(keras->front().floats(), (std::vector<float>{321, 2100}));
  const auto onnx = call("onnx", "Conv", {{"X", four_cells}, {"W", three_taps}}, R"({"strides": [2], "pads": [0, 1]})",
                         {.opset = 17});
  ASSERT_TRUE(onnx) << message(onnx.error());
  EXPECT_EQ(onnx->front().floats(), (std::vector<float>{321, 2100}));
}

TEST(FunctionByName, WhatAFunctionDoesNotTakeIsRefused) {
  EXPECT_EQ(call("caffe", "conv1d", {}, "{}").error().fault, Fault::Usage);
  EXPECT_EQ(call("torch", "conv1d", {{"input", four_cells}}, "[]").error().fault, Fault::Usage);
  const auto misspelt = call("torch", "conv1s", {{"input", four_cells}}, "{}");
  ASSERT_FALSE(misspelt);
  EXPECT_NE(misspelt.error().what.find("did you mean"), std::string::npos) << misspelt.error().what;
  EXPECT_FALSE(call("torch", "conv1d", {{"input", four_cells}, {"weight", three_taps}}, R"({"strid": 2})"));
  EXPECT_FALSE(call("keras", "conv1d", {{"x", four_cells}}, "{}"));
  EXPECT_FALSE(call("keras", "conv2d", {{"x", four_cells}, {"kernel", three_taps}}, "{}"));
  EXPECT_FALSE(call("onnx", "Relu", {{"X", four_cells}}, "{}", {.opset = 3}));
}

TEST(FunctionByName, EveryFunctionSaysWhatItTakes) {
  for (const char* framework : {"torch", "keras", "tf", "onnx"}) {
    const auto all = functions_of(framework);
    ASSERT_TRUE(all);
    EXPECT_GT(all->size(), 30U) << framework;
    EXPECT_TRUE(std::ranges::all_of(*all, [](const CallableFunction& one) { return !one.name.empty(); }));
  }
  const auto keras = *functions_of("keras");
  const auto norm = std::ranges::find(keras, "batch_normalization", &CallableFunction::name);
  ASSERT_NE(norm, keras.end());
  EXPECT_EQ(norm->parameters, (std::vector<std::string>{"x", "moving_mean", "moving_variance", "gamma", "beta"}));
  for (const char* name :
       {"leaky_relu", "prelu", "elu", "conv2d_transpose", "depthwise_conv1d", "global_max_pooling3d"})
    EXPECT_NE(std::ranges::find(keras, name, &CallableFunction::name), keras.end()) << name;
}

}  // namespace
}  // namespace convoy
