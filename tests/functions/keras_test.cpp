// Keras' layers as a C++ author calls them. Numbers are those of Keras 3.15 where a comment does not redo them.
#include "convoy/keras.h"
#include "support/refusal.h"

#include <gtest/gtest.h>

#include <cmath>

namespace convoy::keras_test {
namespace {

using Floats = std::vector<float>;

Tensor array(Sizes shape, Floats values) { return Tensor::of(std::move(shape), std::move(values)); }

Floats numbers(const Result<Tensor>& y) {
  EXPECT_TRUE(y) << message(y.error());
  return y ? y->floats() : Floats{};
}

const Tensor x4 = array({1, 4, 1}, {1, 10, 100, 1000}), x3 = array({1, 3, 1}, {1, 10, 100});
const Tensor w3 = array({3, 1, 1}, {1, 2, 3}), w2 = array({2, 1, 1}, {1, 2});

TEST(KerasFunctions, SameAtStrideTwoDependsOnTheSize) {
  EXPECT_EQ(numbers(keras::conv1d(x4, w3, nullptr, {.strides = 2, .padding = "same"})), (Floats{321, 2100}));
  EXPECT_EQ(numbers(keras::conv1d(x3, w3, nullptr, {.strides = 2, .padding = "same"})), (Floats{32, 210}));
  EXPECT_EQ(numbers(keras::conv1d(x4, w3, nullptr, {.strides = 2})), (Floats{321}));
  EXPECT_EQ(numbers(keras::conv1d(x4, w3, nullptr, {.padding = "causal"})), (Floats{3, 32, 321, 3210}));
}

TEST(KerasFunctions, ChannelsAreWhereDataFormatSays) {
  // Two channels: 1 2 3 and 10 20 30; the kernel takes the first and three times the second.
  const Tensor last = array({1, 3, 2}, {1, 10, 2, 20, 3, 30}), first = array({1, 2, 3}, {1, 2, 3, 10, 20, 30});
  const Tensor kernel = array({1, 2, 1}, {1, 3}), bias = array({1}, {100});
  const View b(bias);
  EXPECT_EQ(numbers(keras::conv1d(last, kernel, &b)), (Floats{131, 162, 193}));
  EXPECT_EQ(numbers(keras::conv1d(first, kernel, &b, {.data_format = keras::channels_first})), (Floats{131, 162, 193}));
  EXPECT_EQ(refusal(keras::conv1d(first, kernel, nullptr, {.data_format = "NCW"})),
            "layer 'conv1d' (Conv1D): attribute 'data_format' is 'NCW', expected 'channels_last' or 'channels_first'");
}

TEST(KerasFunctions, EveryAxisHasItsOwnNumbers) {
  const Tensor x = array({1, 2, 3, 1}, {1, 2, 3, 4, 5, 6}), kernel = array({1, 2, 1, 1}, {1, 10});
  // Along the width: (1,2) (3,0) and (4,5) (6,0); the height keeps its second row only at stride 1.
  EXPECT_EQ(numbers(keras::conv2d(x, kernel, nullptr, {.strides = {1, 2}, .padding = "same"})), (Floats{21, 3, 54, 6}));
  EXPECT_EQ(numbers(keras::conv2d(x, kernel, nullptr, {.strides = {2, 1}, .padding = "same"})), (Floats{21, 32, 3}));
  const Tensor cube = array({1, 1, 2, 3, 1}, {1, 2, 3, 4, 5, 6}), deep = array({1, 2, 1, 1, 1}, {1, 10});
  EXPECT_EQ(numbers(keras::conv3d(cube, deep)), (Floats{41, 52, 63}));
}

TEST(KerasFunctions, DepthwiseOutputsAreOrderedByChannelThenMultiplier) {
  const Tensor x = array({1, 1, 1, 2}, {1, 10}), kernel = array({1, 1, 2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(numbers(keras::depthwise_conv2d(x, kernel)), (Floats{1, 2, 30, 40}));
  const Tensor point = array({1, 1, 4, 1}, {1, 1, 1, 1});
  EXPECT_EQ(numbers(keras::separable_conv2d(x, kernel, point)), (Floats{73}));
  EXPECT_EQ(numbers(keras::depthwise_conv1d(x4, w2, nullptr, {.strides = 2, .padding = "same"})), (Floats{21, 2100}));
  EXPECT_EQ(numbers(keras::separable_conv1d(x4, w2, array({1, 1, 1}, {2}))), (Floats{42, 420, 4200}));
}

TEST(KerasFunctions, AnAbsentOutputPaddingIsNotZero) {
  keras::ConvTranspose same{.strides = 2, .padding = "same"};
  EXPECT_EQ(numbers(keras::conv1d_transpose(x3, w3, nullptr, same)), (Floats{1, 2, 13, 20, 130, 200}));
  same.output_padding = 0;
  EXPECT_EQ(numbers(keras::conv1d_transpose(x3, w3, nullptr, same)), (Floats{2, 13, 20, 130, 200}));
  // Keras' valid is longer than the full convolution where the stride is larger than the kernel.
  EXPECT_EQ(numbers(keras::conv1d_transpose(x3, w2, nullptr, {.strides = 3})),
            (Floats{1, 2, 0, 10, 20, 0, 100, 200, 0}));
  const Tensor x = array({1, 1, 2, 1}, {1, 10}), w = array({1, 2, 1, 1}, {1, 2});
  EXPECT_EQ(numbers(keras::conv2d_transpose(x, w, nullptr, {.strides = {1, 2}})), (Floats{1, 2, 10, 20}));
  const Tensor cube = array({1, 1, 1, 2, 1}, {1, 10}), deep = array({1, 1, 2, 1, 1}, {1, 2});
  EXPECT_EQ(numbers(keras::conv3d_transpose(cube, deep)), (Floats{1, 12, 20}));
}

TEST(KerasFunctions, WhatKerasRefusesIsRefused) {
  EXPECT_EQ(refusal(keras::conv1d(x4, w3, nullptr, {.strides = 2, .dilation_rate = 2})),
            "layer 'conv1d' (Conv1D): has both strides and dilation, which Keras does not run");
  EXPECT_EQ(
      refusal(keras::conv2d(array({1, 4, 4, 1}, Floats(16)), array({1, 1, 1, 1}, {1}), nullptr, {.padding = "causal"})),
      "layer 'conv2d' (Conv2D): attribute 'padding' is 'causal', expected 'valid' or 'same'");
  EXPECT_EQ(refusal(keras::conv1d_transpose(x3, w3, nullptr, {.strides = 2, .output_padding = 2})),
            "layer 'conv1d_transpose' (Conv1DTranspose): output_padding is 2, expected less than the stride 2");
  EXPECT_EQ(refusal(keras::conv2d(x4, w3)), "conv2d: kernel has 3 axes, expected 4");
  const Floats three{1, 2, 3};
  EXPECT_FALSE(keras::conv1d(View(std::span(three), {1, 4, 1}), w3));
}

TEST(KerasFunctions, PaddingCountsForNothingInPools) {
  keras::Pool same{.pool_size = 3, .strides = 2, .padding = "same"};
  EXPECT_EQ(numbers(keras::average_pooling1d(x4, same)), (Floats{37, 550}));
  EXPECT_EQ(numbers(keras::max_pooling1d(array({1, 4, 1}, {-1, -10, -100, -1000}), same)), (Floats{-1, -100}));
  EXPECT_EQ(numbers(keras::max_pooling1d(x4)), (Floats{10, 1000}));
  const Tensor x = array({1, 2, 3, 1}, {1, 2, 3, 4, 5, 9});
  EXPECT_EQ(numbers(keras::max_pooling2d(x, {.pool_size = {1, 2}, .strides = 1})), (Floats{2, 3, 5, 9}));
  EXPECT_EQ(numbers(keras::average_pooling2d(x, {.pool_size = {2, 1}})), (Floats{2.5, 3.5, 6}));
  const Tensor cube = array({1, 1, 2, 3, 1}, {1, 2, 3, 4, 5, 9});
  EXPECT_EQ(numbers(keras::max_pooling3d(cube, {.pool_size = {1, 2, 3}})), (Floats{9}));
  EXPECT_EQ(numbers(keras::average_pooling3d(cube, {.pool_size = {1, 2, 3}})), (Floats{4}));
}

TEST(KerasFunctions, GlobalAndAdaptivePools) {
  const Tensor x = array({1, 2, 3, 1}, {1, 2, 3, 4, 5, 9});
  EXPECT_EQ(numbers(keras::global_average_pooling2d(x)), (Floats{4}));
  EXPECT_EQ(keras::global_max_pooling2d(x, {.keepdims = true})->shape(), (Sizes{1, 1, 1, 1}));
  EXPECT_EQ(keras::global_max_pooling2d(x)->shape(), (Sizes{1, 1}));
  EXPECT_EQ(numbers(keras::adaptive_average_pooling1d(array({1, 5, 1}, {0, 1, 2, 3, 4}), 3)), (Floats{0.5, 2, 3.5}));
  EXPECT_EQ(numbers(keras::adaptive_max_pooling2d(x, {1, 2})), (Floats{5, 9}));
}

TEST(KerasFunctions, BordersAreSaidOnceOrForEachAxis) {
  EXPECT_EQ(numbers(keras::zero_padding1d(x3, {{0, 2}})), (Floats{1, 10, 100, 0, 0}));
  EXPECT_EQ(numbers(keras::zero_padding1d(x3)), (Floats{0, 1, 10, 100, 0}));
  EXPECT_EQ(numbers(keras::cropping1d(x4, {{2, 1}})), (Floats{100}));
  const Tensor x = array({1, 2, 3, 1}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(keras::zero_padding2d(x, {{1, 2}, {3, 4}})->shape(), (Sizes{1, 5, 10, 1}));
  EXPECT_EQ(numbers(keras::cropping2d(x, {{0, 1}, {2, 0}})), (Floats{3}));
  EXPECT_EQ(keras::zero_padding3d(array({1, 1, 1, 2, 3}, Floats(6)), {{1, 0}, {0, 2}, {1, 1}}, keras::channels_first)
                ->shape(),
            (Sizes{1, 1, 2, 4, 5}));
  EXPECT_FALSE(keras::zero_padding2d(x, -1));
  EXPECT_FALSE(keras::cropping2d(x, 1));  // nothing is left
}

TEST(KerasFunctions, Sizes) {
  EXPECT_EQ(numbers(keras::up_sampling1d(x3)), (Floats{1, 1, 10, 10, 100, 100}));
  const Tensor x = array({1, 1, 2, 1}, {0, 4});
  EXPECT_EQ(numbers(keras::up_sampling2d(x, {1, 2}, "bilinear")), (Floats{0, 1, 3, 4}));
  EXPECT_EQ(numbers(keras::resizing(x, 1, 4)), (Floats{0, 1, 3, 4}));
  EXPECT_EQ(keras::up_sampling3d(array({1, 1, 2, 3, 1}, Floats(6)), {3, 2, 1})->shape(), (Sizes{1, 3, 4, 3, 1}));
}

TEST(KerasFunctions, NormalizationRunsAlongItsAxis) {
  const Tensor x = array({1, 2, 2}, {1, 2, 3, 4}), mean = array({2}, {1, 3}), variance = array({2}, {4, 1});
  const Tensor gamma = array({2}, {2, 10}), beta = array({2}, {0, 100});
  const View g(gamma), b(beta);
  EXPECT_EQ(numbers(keras::batch_normalization(x, mean, variance, &g, &b, {.axis = 1, .epsilon = 0})),
            (Floats{0, 1, 100, 110}));
  EXPECT_EQ(numbers(keras::batch_normalization(x, mean, variance, nullptr, &b, {.epsilon = 0})),
            (Floats{0, 99, 1, 101}));
  EXPECT_EQ(numbers(keras::layer_normalization(x, nullptr, nullptr, {.epsilon = 0})), (Floats{-1, 1, -1, 1}));
  EXPECT_EQ(numbers(keras::layer_normalization(x, nullptr, &b, {.epsilon = 0})), (Floats{-1, 101, -1, 101}));
  EXPECT_EQ(numbers(keras::group_normalization(x, nullptr, nullptr, {.groups = -1, .epsilon = 0})),
            (Floats{-1, -1, 1, 1}));
}

TEST(KerasFunctions, DenseAndActivations) {
  const Tensor x = array({1, 2}, {1, -2}), kernel = array({2, 3}, {1, 2, 3, 4, 5, 6}), bias = array({3}, {10, 0, 0});
  const View b(bias);
  EXPECT_EQ(numbers(keras::dense(x, kernel, &b, "relu")), (Floats{3, 0, 0}));
  EXPECT_EQ(refusal(keras::dense(x, array({6}, Floats(6)))), "dense: kernel has 1 axes, expected 2");
  EXPECT_EQ(numbers(keras::activation(x, "relu")), (Floats{1, 0}));
  EXPECT_EQ(numbers(keras::relu(x, {.max_value = 0.5, .negative_slope = 0.25})), (Floats{0.5, -0.5}));
  EXPECT_EQ(numbers(keras::leaky_relu(x)), (Floats{1, -0.6F}));
  EXPECT_NEAR(numbers(keras::elu(x, 2))[1], 2 * (std::exp(-2.0) - 1), 1e-6);
  EXPECT_NEAR(numbers(keras::softmax(x))[0], 1 / (1 + std::exp(-3.0)), 1e-6);
  EXPECT_EQ(numbers(keras::prelu(x, array({2}, {3, 4}))), (Floats{1, -8}));
  EXPECT_FALSE(keras::activation(x, "rectified"));
}

}  // namespace
}  // namespace convoy::keras_test
