// ONNX's operators as a C++ author calls them. Numbers come from ONNX Runtime 1.30 or from short arithmetic.
#include "convoy/onnx.h"

#include <gtest/gtest.h>

namespace convoy::onnx_test {
namespace {

using Floats = std::vector<float>;

View row(const Floats& values) { return View(std::span(values), {1, 1, static_cast<Size>(values.size())}); }

Floats numbers(const Result<Tensor>& y) { return y ? y->floats() : Floats{}; }
std::string sentence(const Result<Tensor>& y) { return y ? "" : message(y.error()); }

const Floats four{1, 10, 100, 1000}, three{1, 10, 100}, kernel{1, 2, 3};

TEST(OnnxFunctions, SamePutsTheOddCellBehindOrBefore) {
  EXPECT_EQ(numbers(onnx::conv(row(four), row(kernel), nullptr, {.auto_pad = "SAME_UPPER", .strides = 2})),
            (Floats{321, 2100}));
  EXPECT_EQ(numbers(onnx::conv(row(four), row(kernel), nullptr, {.auto_pad = "SAME_LOWER", .strides = 2})),
            (Floats{32, 3210}));
  EXPECT_EQ(numbers(onnx::conv(row(four), row(kernel), nullptr, {.strides = 2, .pads = Sizes{0, 1}})),
            (Floats{321, 2100}));
}

TEST(OnnxFunctions, ATransposedConvolutionIsAWindowOfItsScatter) {
  const auto y = [](const onnx::ConvTranspose& o) {
    return numbers(onnx::conv_transpose(row(three), row(kernel), nullptr, o));
  };
  EXPECT_EQ(y({.strides = 2}), (Floats{1, 2, 13, 20, 130, 200, 300}));
  EXPECT_EQ(y({.auto_pad = "SAME_UPPER", .strides = 2}), (Floats{1, 2, 13, 20, 130, 200}));
  EXPECT_EQ(y({.auto_pad = "SAME_LOWER", .strides = 2}), (Floats{2, 13, 20, 130, 200, 300}));
  EXPECT_EQ(y({.strides = 2, .output_shape = Sizes{6}}), (Floats{2, 13, 20, 130, 200, 300}));
  EXPECT_EQ(y({.auto_pad = "SAME_UPPER", .strides = 2, .output_shape = Sizes{6}}), (Floats{1, 2, 13, 20, 130, 200}));
  EXPECT_EQ(y({.strides = 2, .output_shape = Sizes{8}}), (Floats{1, 2, 13, 20, 130, 200, 300, 0}));
}

TEST(OnnxFunctions, PoolsLeaveOutAWindowThatStartsInThePadding) {
  const Floats x{1, 2, 3, 4, 5};
  EXPECT_EQ(numbers(onnx::max_pool(row(x), {1}, {.strides = 3, .ceil_mode = true})), (Floats{1, 4}));
  EXPECT_EQ(numbers(onnx::average_pool(row(x), {2}, {.pads = Sizes{1, 0}, .strides = 2})), (Floats{1, 2.5F, 4.5F}));
  EXPECT_EQ(numbers(onnx::average_pool(row(x), {2}, {.pads = Sizes{1, 0}, .strides = 2}, true)),
            (Floats{0.5F, 2.5F, 4.5F}));
}

TEST(OnnxFunctions, IndicesCountInTheWholeTensor) {
  const Floats x{0, 1, 2, 3, 4, 5, 6, 7};
  const View image(std::span<const float>(x), {1, 2, 2, 2});
  const auto maxima = onnx::max_pool_with_indices(image, {2, 2});
  ASSERT_TRUE(maxima);
  EXPECT_EQ(maxima->indices.integers(), (std::vector<std::int64_t>{3, 7}));
}

TEST(OnnxFunctions, PadsWrapAsOftenAsTheyMust) {
  const Floats x{1, 2, 3};
  const View data = row(x);
  EXPECT_EQ(numbers(onnx::pad(data, {0, 0, 5, 0, 0, 0}, {.mode = "wrap"})), (Floats{2, 3, 1, 2, 3, 1, 2, 3}));
  EXPECT_EQ(numbers(onnx::pad(data, {2, 2}, {.mode = "reflect", .axes = Sizes{-1}})), (Floats{3, 2, 1, 2, 3, 2, 1}));
  EXPECT_EQ(numbers(onnx::pad(data, {0, 0, -1, 0, 0, 2}, {.constant_value = 9})), (Floats{2, 3, 9, 9}));
}

TEST(OnnxFunctions, ResizeFollowsItsOpset) {
  const Floats x{0, 1, 2, 3};
  EXPECT_EQ(numbers(onnx::resize(row(x), {1, 1, 1.5F}, {.opset = 10})), (Floats{0, 0, 1, 2, 2, 3}));
  EXPECT_EQ(numbers(onnx::resize_to(row(x), {1, 1, 6})), (Floats{0, 0, 1, 2, 2, 3}));  // 0.5 and 2.5 go down
  EXPECT_EQ(numbers(onnx::resize(row(x), {1, 1, 0.6F}, {.opset = 10})), (Floats{0, 2}));
}

TEST(OnnxFunctions, WhatAnOpsetDoesNotKnowIsRefusedByName) {
  EXPECT_EQ(sentence(onnx::max_pool(row(four), {2}, {.ceil_mode = true, .opset = 8})),
            "MaxPool: attribute 'ceil_mode' is not understood");
  EXPECT_EQ(sentence(onnx::pad(row(four), {0, 0, 1, 0, 0, 1}, {.mode = "wrap", .opset = 18})),
            "Pad: attribute 'mode' is 'wrap', which is not known");
  EXPECT_EQ(sentence(onnx::conv(row(four), row(kernel), nullptr, {.opset = 6})), "Conv: opset is 6, expected 7 to 28");
}

TEST(OnnxFunctions, ContradictionsAreRefused) {
  EXPECT_EQ(sentence(onnx::conv(row(four), row(kernel), nullptr, {.auto_pad = "VALID", .pads = Sizes{1, 1}})),
            "Conv: both attributes 'auto_pad' and 'pads' are given");
  EXPECT_EQ(sentence(onnx::conv_transpose(row(three), row(kernel), nullptr, {.strides = 2, .output_shape = Sizes{9}})),
            "ConvTranspose: attribute 'output_shape' is [9], which no convolution maps back to input size 3 on spatial "
            "axis 0");
  EXPECT_EQ(sentence(onnx::max_pool(row(four), {2}, {.pads = Sizes{2, 0}})),
            "MaxPool: attribute 'pads' holds 2, expected less than the kernel 2");
}

}  // namespace
}  // namespace convoy::onnx_test
