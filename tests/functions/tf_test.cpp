// TensorFlow's functions as a C++ author calls them: numbers short enough to redo by hand, every option, the refusals.
#include "convoy/tf.h"
#include "support/refusal.h"

#include <gtest/gtest.h>
#include <cmath>

namespace convoy::tf_test {
namespace {

using Floats = std::vector<float>;

// The arrays of the classic questions: a line of digits and the kernels [1, 2, 3] and [1, 2].
const Floats line{1, 10, 100, 1000}, three{1, 2, 3}, two{1, 2};

View array(const Floats& values, Sizes shape) { return Tensor::of(std::move(shape), values); }

Floats numbers(const Result<Tensor>& y) {
  EXPECT_TRUE(y) << (y ? "" : message(y.error()));
  return y ? y->floats() : Floats{};
}

void expect_near(const Result<Tensor>& y, const Floats& wanted) {
  const Floats got = numbers(y);
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], wanted[i], 1e-4 * std::max(1.0F, std::abs(wanted[i])));
}

// Whole numbers that no two axes order alike: step, 2 * step, ... modulo, brought below zero.
View counted(Sizes shape, int step = 7, int modulo = 11, int less = 5) {
  Size count = 1;
  for (const Size n : shape) count *= n;
  Floats values;
  for (Size i = 0; i < count; ++i) values.push_back(static_cast<float>(i * step % modulo - less));
  return array(values, std::move(shape));
}
View weights(Sizes shape) { return counted(std::move(shape), 5, 7, 3); }

void expect_answer(const Result<Tensor>& y, const Sizes& shape, const Floats& wanted) {
  ASSERT_TRUE(y) << message(y.error());
  EXPECT_EQ(y->shape(), shape);
  expect_near(y, wanted);
}

// Answers of TensorFlow 2.21, every axis of another length, stride and padding.
TEST(TfConvolution, EveryAxisHasItsOwnNumbers) {
  const View x = counted({1, 4, 5, 2}), w = weights({3, 2, 2, 3});
  expect_answer(tf::nn::conv2d(x, w, {2, 3}, "SAME"), {1, 2, 2, 3}, {11, 11, 4, 10, 13, 9, 12, 7, 2, -15, -19, -9});
  expect_answer(tf::nn::conv2d(x, w, {1, 2, 4, 1}, {{0, 0}, {1, 0}, {0, 2}, {0, 0}}), {1, 2, 2, 3},
                {-17, 23, 14, 6, 16, -2, -9, -37, 5, 14, -37, -11});
  expect_answer(tf::nn::conv2d(x, weights({2, 3, 2, 3}), 1, "VALID", {.dilations = {3, 1}}), {1, 1, 3, 3},
                {-8, 3, 21, 10, 0, -3, 6, -3, -5});
  const View volume = counted({1, 3, 4, 5, 2}), w3 = weights({2, 1, 3, 2, 3});
  expect_answer(tf::nn::conv3d(volume, w3, {1, 2, 3, 4, 1}, "SAME"), {1, 2, 2, 2, 3},
                {16, 20, -4, -28, 34, -2, -6, 11, 21, -4, 15, 6, 0, -14, 14, -2, 14, -5, 13, 13, -8, -8, 14, 1});
  expect_answer(tf::nn::conv3d(volume, w3, {1, 1, 2, 3, 1}, "VALID"), {1, 2, 2, 1, 3},
                {17, 3, -4, -12, 28, -2, 14, -24, 22, 7, 23, -31});
  expect_answer(tf::nn::atrous_conv2d(counted({1, 6, 7, 1}), weights({2, 3, 1, 2}), 2, "VALID"), {1, 4, 3, 2},
                {7, -20, 0, -24, 15, 16, -20, 7, 17, 14, -1, -1, -25, 1, 1, -25, 16, 15, 14, 17, 7, -20, 0, -24});
}

TEST(TfConvolution, EveryAxisOfADepthwiseOneHasItsOwnNumbers) {
  const View x = counted({1, 4, 5, 2}), filter = weights({3, 2, 2, 2});
  expect_answer(tf::nn::depthwise_conv2d(x, filter, {1, 2, 2, 1}, "SAME"), {1, 2, 3, 4},
                {14, -5, 12, -39, 15, 10, -5, 22, 12, -16, 8, -18, -33, 2, 7, -5, 18, -8, 4, -5, -18, 8, -8, 12});
  expect_answer(tf::nn::depthwise_conv2d(x, filter, {1, 3, 3, 1}, {{0, 0}, {2, 0}, {0, 1}, {0, 0}}), {1, 2, 2, 4},
                {2, 16, 16, 2, 4, 4, 6, 0, 11, 16, -3, 20, 18, -11, 21, -4});
  expect_answer(tf::nn::separable_conv2d(x, filter, counted({1, 1, 4, 3}, 3, 5, 2), {1, 2, 2, 1}, "VALID"),
                {1, 1, 2, 3}, {-26, 80, -19, -15, -24, -23});
}

TEST(TfConvTranspose, EveryAxisHasItsOwnNumbers) {
  const View x = counted({1, 2, 3, 2}), w = weights({3, 2, 1, 2});
  expect_answer(tf::nn::conv2d_transpose(x, w, {1, 3, 5, 1}, {2, 2}), {1, 3, 5, 1},
                {-13, -1, -1, -13, 0, -22, 16, 14, 13, -5, 12, -4, -9, -5, -8});
  expect_answer(tf::nn::conv2d_transpose(x, w, {1, 4, 5, 1}, {2, 2}, {.padding = {{0, 0}, {1, 0}, {0, 1}, {0, 0}}}),
                {1, 4, 5, 1}, {-13, -1, -1, -13, 0, -22, 16, 14, 13, -5, 12, -4, -9, -5, -8, 8, -8, -8, 17, -2});
  expect_answer(tf::nn::conv2d_transpose(x, w, {1, 4, 8, 1}, {1, 3}, {.padding = "VALID"}), {1, 4, 8, 1},
                {19, -4, 0, 16,  -10, 0, -9, 6, -25, -1, 0, 17, -19, 0, -7, 18,
                 2,  12, 0, -13, 14,  0, -6, 5, 8,   -8, 0, -8, 17,  0, -2, -13});
  expect_answer(tf::nn::conv3d_transpose(counted({1, 2, 1, 3, 2}), weights({1, 3, 2, 1, 2}), {1, 3, 3, 4, 1}, {2, 1, 1},
                                         {.padding = "VALID"}),
                {1, 3, 3, 4, 1}, {19, 12, -19, 6, -13, -2, -13, 8,  -10, 12, 21, -11, 0,   0,  0, 0,   0,  0,
                                  0,  0,  0,   0, 0,   0,  -12, 18, -13, 10, 12, -13, -13, 16, 8, -16, 15, -13});
}

TEST(TfPooling, EveryAxisHasItsOwnNumbers) {
  const View x = counted({1, 4, 5, 2}), volume = counted({1, 3, 4, 5, 2});
  expect_answer(tf::nn::max_pool2d(x, {3, 2}, {2, 3}, "SAME"), {1, 2, 2, 2}, {3, 5, 4, 4, 3, 3, 5, 4});
  expect_answer(tf::nn::avg_pool2d(x, {3, 2}, {2, 3}, "SAME"), {1, 2, 2, 2},
                {-1.33333F, 0.166667F, 0.333333F, 0, -1.75F, -0.25F, 1.75F, 0.5F});
  expect_answer(tf::nn::max_pool2d(x, {3, 2}, {2, 3}, {{0, 0}, {2, 0}, {0, 1}, {0, 0}}), {1, 2, 2, 2},
                {-2, 5, 4, 3, 3, 5, 4, 4});
  expect_answer(tf::nn::max_pool3d(volume, {2, 3, 1}, {1, 2, 4}, "SAME"), {1, 3, 2, 2, 2},
                {4, 4, 5, 5, 3, 4, 4, 5, 5, 5, 5, 5, 2, 4, 3, 5, 5, 5, 3, 2, 2, 2, 3, 3});
  expect_answer(tf::nn::avg_pool3d(volume, {2, 3, 1}, {1, 2, 4}, "SAME"), {1, 3, 2, 2, 2},
                {-0.333333F, -0.666667F, 0.666667F, 0.333333F,  -0.75F, 0.75F, 0.25F,  1.75F,
                 1,          0.666667F,  0.166667F, -0.166667F, -1.25F, 0.25F, -0.25F, 1.25F,
                 1.66667F,   1.33333F,   -1,        -1.33333F,  -1.5F,  0,     -0.5F,  1});
  expect_answer(tf::nn::pool(x, {2, 3}, "AVG", {.dilations = {3, 1}}), {1, 1, 3, 2},
                {-1.5F, 0, 1.5F, -0.666667F, 0.833333F, 0.5F});
  expect_answer(tf::nn::pool(x, {3, 2}, "MAX", {.strides = {2, 1}, .padding = "SAME"}), {1, 2, 5, 2},
                {3, 5, 5, 5, 5, 5, 4, 4, 4, 3, 3, 3, 2, 5, 5, 5, 5, 4, 4, 4});
}

TEST(TfReshape, EveryAxisHasItsOwnNumbers) {
  expect_answer(tf::nn::depth_to_space(counted({1, 2, 1, 12}), 2), {1, 4, 2, 3},
                {-5, 2, -2, 5, 1, -3, 4, 0, -4, 3, -1, -5, 2, -2, 5, 1, -3, 4, 0, -4, 3, -1, -5, 2});
  expect_answer(tf::nn::space_to_depth(counted({1, 2, 4, 3}), 2), {1, 1, 2, 12},
                {-5, 2, -2, 5, 1, -3, 2, -2, 5, 1, -3, 4, 4, 0, -4, 3, -1, -5, 0, -4, 3, -1, -5, 2});
  expect_answer(tf::space_to_batch(counted({1, 3, 4, 1}), {2, 3}, {{0, 1}, {1, 1}}), {6, 2, 2, 1},
                {0, -2, 0, -1, -5, 5, -4, -5, 2, 0, 3, 0, 0, 4, 0, 0, 1, 0, 0, 0, -3, 0, 0, 0});
  expect_answer(tf::batch_to_space(counted({6, 2, 1, 1}), {2, 3}, {{0, 1}, {1, 0}}), {1, 3, 2, 1},
                {-2, 1, -4, -1, 5, -3});
  expect_answer(tf::pad(counted({2, 3}), {{1, 0}, {2, 1}}), {3, 6},
                {0, 0, 0, 0, 0, 0, 0, 0, -5, 2, -2, 0, 0, 0, 5, 1, -3, 0});
  expect_answer(tf::pad(counted({2, 3}), {{1, 0}, {2, 1}}, {.mode = "REFLECT"}), {3, 6},
                {-3, 1, 5, 1, -3, 1, -2, 2, -5, 2, -2, 2, -3, 1, 5, 1, -3, 1});
  expect_answer(tf::pad(counted({2, 3}), {{2, 0}, {0, 3}}, {.mode = "SYMMETRIC"}), {4, 6},
                {5, 1, -3, -3, 1, 5, -5, 2, -2, -2, 2, -5, -5, 2, -2, -2, 2, -5, 5, 1, -3, -3, 1, 5});
}

TEST(TfResize, EveryAxisHasItsOwnNumbers) {
  namespace v1 = tf::compat::v1;
  const View x = counted({1, 2, 4, 1});
  const Sizes shape{1, 3, 5, 1};
  const Floats cubic{-5.72845F, 0.499885F, -0.0329444F, -0.565774F, 5.66257F,  -2.06469F, -1.02751F, 0.25F,
                     1.52751F,  2.56469F,  1.59908F,    -2.55491F,  0.532944F, 3.6208F,   -0.533194F};
  expect_answer(tf::image::resize(x, {3, 6}, {.method = "nearest"}), {1, 3, 6, 1},
                {-5, 2, 2, -2, 5, 5, 1, -3, -3, 4, 0, 0, 1, -3, -3, 4, 0, 0});
  expect_answer(tf::image::resize(x, {3, 5}), shape,
                {-5, -0.1F, 0, 0.1F, 5, -2, -0.95F, 0.25F, 1.45F, 2.5F, 1, -1.8F, 0.5F, 2.8F, 0});
  expect_answer(tf::image::resize(x, {3, 5}, {.method = "bicubic"}), shape, cubic);
  expect_answer(v1::image::resize_nearest_neighbor(x, {3, 6}), {1, 3, 6, 1},
                {-5, -5, 2, -2, -2, 5, -5, -5, 2, -2, -2, 5, 1, 1, -3, 4, 4, 0});
  expect_answer(v1::image::resize_bilinear(x, {3, 5}), shape,
                {-5, 0.6F, -0.4F, 0.8F, 5, -1, -1.26667F, 0.666667F, 1.86667F, 1.66667F, 1, -2.2F, 1.2F, 2.4F, 0});
  expect_answer(v1::image::resize_bilinear(x, {3, 5}, {.align_corners = true}), shape,
                {-5, 0.25F, 0, -0.25F, 5, -2, -0.875F, 0.25F, 1.375F, 2.5F, 1, -2, 0.5F, 3, 0});
  expect_answer(v1::image::resize_bicubic(x, {3, 5}), shape,
                {-5, 1.15083F, -0.697363F, 0.287176F, 5.67233F, -0.886773F, -1.67248F, 0.757219F, 2.28541F, 1.52036F,
                 1.66667F, -3.42515F, 1.66021F, 3.52589F, -1.05713F});
  expect_answer(v1::image::resize_bicubic(x, {3, 5}, {.half_pixel_centers = true}), shape, cubic);
}

TEST(TfNormalization, EveryAxisHasItsOwnNumbers) {
  const View x = counted({1, 2, 3, 2});
  const View scale = array({2, 3}, {2}), offset = array({1, -1}, {2}), mean = array({1, 2}, {2}),
             variance = array({1, 6}, {2});
  expect_answer(tf::compat::v1::nn::fused_batch_norm(x, scale, offset, mean, variance, {.epsilon = 3}), {1, 2, 3, 2},
                {-5, -1, -2, 2, 1, -6, 4, -3, -4, 0, -1, -8});
  expect_answer(tf::nn::local_response_normalization(counted({1, 2, 1, 4}),
                                                     {.depth_radius = 1, .bias = 2, .alpha = 3, .beta = 1}),
                {1, 2, 1, 4}, {-0.0561798F, 0.019802F, -0.019802F, 0.0561798F, 0.03125F, -0.0375F, 0.0519481F, 0});
  expect_answer(tf::nn::bias_add(x, array({10, 20}, {2})), {1, 2, 3, 2}, {5, 22, 8, 25, 11, 17, 14, 20, 6, 23, 9, 15});
}

TEST(TfConvolution, SamePadsByTheSizeAndValidDoesNot) {
  const View x = array(line, {1, 4, 1}), w = array(three, {3, 1, 1}), w2 = array(two, {2, 1, 1});
  EXPECT_EQ(numbers(tf::nn::conv1d(x, w, 2, "SAME")), (Floats{321, 2100}));
  EXPECT_EQ(numbers(tf::nn::conv1d(x, w, 2, "VALID")), (Floats{321}));
  EXPECT_EQ(numbers(tf::nn::conv1d(x, w2, 1, "VALID", {.dilations = 2})), (Floats{201, 2010}));
  EXPECT_EQ(numbers(tf::nn::conv1d(array(line, {1, 1, 4}), w, 2, "SAME", {.data_format = "NCW"})), (Floats{321, 2100}));
}

TEST(TfConvolution, ListsPadEveryAxisOfTwoDimensions) {
  const View x = array(line, {1, 1, 4, 1}), w = array(three, {1, 3, 1, 1});
  EXPECT_EQ(numbers(tf::nn::conv2d(x, w, {1, 2}, "SAME")), (Floats{321, 2100}));
  EXPECT_EQ(numbers(tf::nn::conv2d(x, w, {1, 1, 2, 1}, {{0, 0}, {0, 0}, {1, 0}, {0, 0}})), (Floats{32, 3210}));
  const View first = array(line, {1, 1, 1, 4}), w2 = array(two, {1, 2, 1, 1});
  EXPECT_EQ(numbers(tf::nn::conv2d(first, w2, 1, "VALID", {.data_format = "NCHW", .dilations = {1, 2}})),
            (Floats{201, 2010}));
  EXPECT_EQ(refusal(tf::nn::conv2d(x, w, 1, {{0, 0}, {1, 0}, {1, 0}, {1, 0}})),
            "nn.conv2d: argument 'padding' pads batch or channels");
  EXPECT_EQ(refusal(tf::nn::conv2d(x, w, {2, 1, 1, 1}, "SAME")),
            "nn.conv2d: argument 'strides' is [2, 1, 1, 1], which moves along batch or channels");
  EXPECT_EQ(refusal(tf::nn::conv2d(x, w, 1, "same")),
            "nn.conv2d: argument 'padding' is 'same', expected 'SAME', 'VALID' or a list of pairs");
  EXPECT_EQ(refusal(tf::nn::conv2d(x, w, 0, "SAME")),
            "nn.conv2d: argument 'strides' is [0, 0], expected positive numbers");
  EXPECT_EQ(refusal(tf::nn::conv2d(x, w, 1, "SAME", {.data_format = "NWC"})),
            "nn.conv2d: argument 'data_format' is 'NWC', which names no order of 2 spatial axes");
}

TEST(TfConvolution, ThreeDimensionsHaveNoListsAndNoGroups) {
  const View x = array(line, {1, 1, 1, 4, 1}), w = array(three, {1, 1, 3, 1, 1}), w2 = array(two, {1, 1, 2, 1, 1});
  EXPECT_EQ(numbers(tf::nn::conv3d(x, w, {1, 1, 2}, "SAME")), (Floats{321, 2100}));
  EXPECT_EQ(numbers(tf::nn::conv3d(array(line, {1, 1, 1, 1, 4}), w2, 1, "VALID",
                                   {.data_format = "NCDHW", .dilations = {1, 1, 2}})),
            (Floats{201, 2010}));
  EXPECT_EQ(
      refusal(tf::nn::conv3d(x, w, 1, {{0, 0}, {0, 0}, {0, 0}, {1, 1}, {0, 0}})),
      "nn.conv3d: argument 'padding' is a list, which this function does not take: put tf.pad in front and use VALID");
  EXPECT_EQ(refusal(tf::nn::conv3d(array(line, {1, 1, 1, 2, 2}), w2, 1, "SAME")),
            "nn.conv3d: the kernel reads 1 of 2 channels; TensorFlow has no groups in 3-D");
  EXPECT_EQ(numbers(tf::nn::conv3d(array({-7, -4}, {1, 1, 1, 1, 2}), array({1, -1}, {1, 1, 1, 1, 2}), 1, "VALID",
                                   {.dilations = {1, 1, 2}})),
            (Floats{-7, 4}));
}

TEST(TfConvolution, GroupsFollowFromTheKernel) {
  const Floats kernel{1, 2, 3, 4};  // reads one of two channels, gives four
  EXPECT_EQ(numbers(tf::nn::conv1d(array({1, 10}, {1, 1, 2}), array(kernel, {1, 1, 4}), 1, "VALID")),
            (Floats{1, 2, 30, 40}));
  EXPECT_EQ(refusal(tf::nn::conv1d(array({1, 2, 3}, {1, 1, 3}), array(kernel, {1, 2, 2}), 1, "VALID")),
            "nn.conv1d: the kernel reads 2 channels, which does not divide the 3 of the input");
}

TEST(TfConvolution, AWindowOneStrideTooLargeGivesNothingAndALargerOneIsRefused) {
  const auto empty = tf::nn::conv1d(array({1, 2}, {1, 2, 1}), array(three, {3, 1, 1}), 1, "VALID");
  ASSERT_TRUE(empty) << message(empty.error());
  EXPECT_EQ(empty->shape(), (Sizes{1, 0, 1}));
  EXPECT_FALSE(tf::nn::conv1d(array({1}, {1, 1, 1}), array(three, {3, 1, 1}), 1, "VALID"));
  const auto padded = tf::nn::conv2d(array({1, 2}, {1, 1, 2, 1}), array({1, 2, 3, 4}, {1, 4, 1, 1}), 1,
                                     {{0, 0}, {0, 0}, {1, 0}, {0, 0}});
  ASSERT_TRUE(padded) << message(padded.error());
  EXPECT_EQ(padded->shape(), (Sizes{1, 1, 0, 1}));
}

TEST(TfConvolution, MoreBatchAxesAreKept) {
  expect_answer(tf::nn::conv1d(counted({2, 3, 4, 1}), array(three, {3, 1, 1}), 2, "SAME"), {2, 3, 2, 1},
                {-7, 8, 7, 4, -1, -11, 13, 7, 5, -8, -14, -1});
}

TEST(TfConvolution, TheGeneralOneTakesItsRankFromTheKernel) {
  const View x = array(line, {1, 4, 1}), w = array(three, {3, 1, 1}), w2 = array(two, {2, 1, 1});
  EXPECT_EQ(numbers(tf::nn::convolution(x, w)), (Floats{321, 3210}));
  EXPECT_EQ(numbers(tf::nn::convolution(x, w, {.strides = 2, .padding = "SAME"})), (Floats{321, 2100}));
  EXPECT_EQ(numbers(tf::nn::convolution(array(line, {1, 1, 4}), w2, {.data_format = "NCW", .dilations = 2})),
            (Floats{201, 2010}));
  EXPECT_EQ(refusal(tf::nn::convolution(x, w2, {.strides = 2, .dilations = 2})),
            "nn.convolution: tf.nn.convolution takes no stride together with a dilation; tf.nn.conv2d does");
  EXPECT_EQ(numbers(tf::nn::atrous_conv2d(array(line, {1, 1, 4, 1}), array(two, {1, 2, 1, 1}), {1, 2}, "VALID")),
            (Floats{201, 2010}));
}

TEST(TfConvolution, DepthwiseKeepsChannelsApart) {
  const View x = array({1, 10}, {1, 1, 1, 2}), filter = array({1, 2, 3, 4}, {1, 1, 2, 2});
  EXPECT_EQ(numbers(tf::nn::depthwise_conv2d(x, filter, {1, 1, 1, 1}, "SAME")), (Floats{1, 2, 30, 40}));
  EXPECT_EQ(numbers(tf::nn::separable_conv2d(x, filter, array({1, 1, 1, 1}, {1, 1, 4, 1}), {1, 1, 1, 1}, "SAME")),
            (Floats{73}));
  // A stride and a dilation together: windows start at -1, 1 and 3 and read every second cell.
  const Floats five{1, 10, 100, 1000, 10000};
  EXPECT_EQ(numbers(tf::nn::depthwise_conv2d(array(five, {1, 1, 1, 5}), array(two, {1, 2, 1, 1}), {1, 1, 2, 2}, "SAME",
                                             {.data_format = "NCHW", .dilations = {2, 2}})),
            (Floats{20, 2010, 1000}));
  EXPECT_EQ(numbers(tf::nn::depthwise_conv2d(array(line, {1, 1, 4, 1}), array(two, {1, 2, 1, 1}), {1, 3, 3, 1},
                                             {{0, 0}, {0, 0}, {1, 1}, {0, 0}})),
            (Floats{2, 2100}));
  EXPECT_EQ(refusal(tf::nn::depthwise_conv2d(x, filter, 1, "SAME")),
            "nn.depthwise_conv2d: argument 'strides' needs 4 numbers");
  EXPECT_EQ(refusal(tf::nn::separable_conv2d(x, filter, array({1, 1}, {1, 1, 2, 1}), {1, 1, 1, 1}, "SAME")),
            "nn.separable_conv2d: pointwise_filter reads 2 channels, expected 4");
}

TEST(TfConvTranspose, TheOutputShapeSaysWhatIsKeptOfTheScatter) {
  const Floats x3{1, 10, 100};
  const View x = array(x3, {1, 3, 1}), w = array(three, {3, 1, 1});
  EXPECT_EQ(numbers(tf::nn::conv1d_transpose(x, w, {1, 6, 1}, 2)), (Floats{1, 2, 13, 20, 130, 200}));
  EXPECT_EQ(numbers(tf::nn::conv1d_transpose(x, w, {1, 5, 1}, 2)), (Floats{2, 13, 20, 130, 200}));
  EXPECT_EQ(numbers(tf::nn::conv1d_transpose(x, w, {1, 8, 1}, 2, {.padding = "VALID"})),
            (Floats{1, 2, 13, 20, 130, 200, 300, 0}));
  EXPECT_EQ(numbers(tf::nn::conv1d_transpose(array({1, 10}, {1, 1, 2}), w, {1, 1, 6}, 1,
                                             {.padding = "VALID", .data_format = "NCW", .dilations = 2})),
            (Floats{1, 10, 2, 20, 3, 30}));
  EXPECT_EQ(
      refusal(tf::nn::conv1d_transpose(x, w, {1, 4, 1}, 2)),
      "nn.conv1d_transpose: output_shape says 4 on spatial axis 0, from which the forward convolution makes 2 cells, "
      "not the 3 of the input");
  EXPECT_EQ(refusal(tf::nn::conv1d_transpose(x, w, {1, 6, 1, 1}, 2)),
            "nn.conv1d_transpose: output_shape is [1, 6, 1, 1], expected 3 sizes");
  EXPECT_EQ(refusal(tf::nn::conv1d_transpose(x, w, {2, 6, 1}, 2)),
            "nn.conv1d_transpose: output_shape says 2 batches, the input has 1");
}

TEST(TfConvTranspose, TwoAndThreeDimensions) {
  const Floats x3{1, 10, 100};
  const View w = array(three, {1, 3, 1, 1});
  EXPECT_EQ(numbers(tf::nn::conv2d_transpose(array(x3, {1, 1, 3, 1}), w, {1, 1, 6, 1}, {1, 2},
                                             {.padding = {{0, 0}, {0, 0}, {1, 0}, {0, 0}}})),
            (Floats{2, 13, 20, 130, 200, 300}));
  EXPECT_EQ(numbers(tf::nn::conv2d_transpose(array({1, 10}, {1, 1, 1, 2}), w, {1, 1, 1, 6}, 1,
                                             {.padding = "VALID", .data_format = "NCHW", .dilations = {1, 2}})),
            (Floats{1, 10, 2, 20, 3, 30}));
  EXPECT_EQ(numbers(tf::nn::conv3d_transpose(array(x3, {1, 1, 1, 3, 1}), array(three, {1, 1, 3, 1, 1}), {1, 1, 1, 7, 1},
                                             {1, 1, 2}, {.padding = "VALID"})),
            (Floats{1, 2, 13, 20, 130, 200, 300}));
  EXPECT_EQ(
      numbers(tf::nn::conv3d_transpose(array({1, 10}, {1, 1, 1, 1, 2}), array(three, {1, 1, 3, 1, 1}), {1, 1, 1, 1, 6},
                                       1, {.padding = "VALID", .data_format = "NCDHW", .dilations = {1, 1, 2}})),
      (Floats{1, 10, 2, 20, 3, 30}));
}

TEST(TfPooling, PaddingIsPartOfNoMaximumAndNoAverage) {
  const Floats negative{-1, -10, -100, -1000};
  EXPECT_EQ(numbers(tf::nn::max_pool1d(array(negative, {1, 4, 1}), 3, 2, "SAME")), (Floats{-1, -100}));
  EXPECT_EQ(numbers(tf::nn::avg_pool1d(array(line, {1, 1, 4}), 3, 2, "SAME", "NCW")), (Floats{37, 550}));
  EXPECT_EQ(numbers(tf::nn::max_pool1d(array(line, {1, 1, 4}), 3, 1, "VALID", "NCW")), (Floats{100, 1000}));
  EXPECT_EQ(
      numbers(tf::nn::max_pool2d(array(negative, {1, 1, 4, 1}), {1, 3}, {1, 2}, {{0, 0}, {0, 0}, {2, 0}, {0, 0}})),
      (Floats{-1, -1}));
  EXPECT_EQ(numbers(tf::nn::max_pool2d(array(line, {1, 1, 1, 4}), {1, 1, 1, 3}, 1, "VALID", "NCHW")),
            (Floats{100, 1000}));
  EXPECT_EQ(numbers(tf::nn::avg_pool2d(array(line, {1, 1, 1, 4}), {1, 3}, {1, 2}, "SAME", "NCHW")), (Floats{37, 550}));
  EXPECT_EQ(numbers(tf::nn::max_pool3d(array(line, {1, 1, 1, 1, 4}), {1, 1, 3}, {1, 1, 2}, "SAME", "NCDHW")),
            (Floats{100, 1000}));
  EXPECT_EQ(numbers(tf::nn::avg_pool3d(array(line, {1, 1, 1, 1, 4}), {1, 1, 3}, {1, 1, 2}, "SAME", "NCDHW")),
            (Floats{37, 550}));
  EXPECT_EQ(refusal(tf::nn::max_pool2d(array(line, {1, 1, 4, 1}), {1, 2}, 1, {{0, 0}, {0, 0}, {2, 0}, {0, 0}})),
            "nn.max_pool2d: padding 2 on spatial axis 1 is not below the window of 2 cells");
  EXPECT_EQ(refusal(tf::nn::max_pool2d(array(line, {1, 1, 1, 4}), {1, 2}, 1, {{0, 0}, {0, 0}, {0, 0}, {1, 0}}, "NCHW")),
            "nn.max_pool2d: a list of paddings needs channels last");
}

TEST(TfPooling, TheGeneralOneDilatesByValidOnly) {
  const Floats five{1, 2, 3, 4, 5};
  const View x = array(five, {1, 5, 1}), first = array(five, {1, 1, 5});
  EXPECT_EQ(numbers(tf::nn::pool(first, {2}, "MAX", {.data_format = "NCW", .dilations = {2}})), (Floats{3, 4, 5}));
  EXPECT_EQ(numbers(tf::nn::pool(x, {2}, "AVG", {.strides = {2}, .padding = "SAME"})), (Floats{1.5, 3.5, 5}));
  EXPECT_EQ(refusal(tf::nn::pool(x, {2}, "MAX", {.padding = "SAME", .dilations = {2}})),
            "nn.pool: tf.nn.pool takes a dilation with padding 'VALID' only");
  EXPECT_EQ(refusal(tf::nn::pool(x, {2}, "MAX", {.strides = {2}, .dilations = {2}})),
            "nn.pool: tf.nn.pool takes no stride together with a dilation");
  EXPECT_EQ(refusal(tf::nn::pool(x, {1}, "MAX", {.strides = {2}})),
            "nn.pool: stride 2 is above the window of 1 cells, which tf.nn.pool does not take");
  EXPECT_EQ(refusal(tf::nn::pool(x, {2}, "SUM")), "nn.pool: argument 'pooling_type' is 'SUM', expected 'MAX' or 'AVG'");
}

TEST(TfPooling, PositionsOfMaximaCountTheBatchOnRequest) {
  const View x = counted({2, 4, 5, 3});
  const auto alone = tf::nn::max_pool_with_argmax(x, {3, 4}, {1, 1}, "VALID");
  const auto in_batch = tf::nn::max_pool_with_argmax(x, {3, 4}, {1, 1}, "VALID", true);
  ASSERT_TRUE(alone && in_batch);
  EXPECT_EQ(alone->output.shape(), (Sizes{2, 2, 2, 3}));
  EXPECT_EQ(alone->output.floats(), (Floats{5, 5, 4, 5, 5, 5, 5, 5, 5, 5, 5, 4, 5, 5, 5, 5, 4, 5, 4, 5, 5, 5, 4, 5}));
  EXPECT_EQ(alone->argmax.integers(), (std::vector<std::int64_t>{3, 25, 17, 3, 25, 14, 36, 25, 47, 36, 25, 50,
                                                                 9, 31, 20, 9, 34, 20, 45, 31, 20, 42, 34, 20}));
  EXPECT_EQ(in_batch->argmax.integers(), (std::vector<std::int64_t>{3,  25, 17, 3,  25, 14, 36,  25, 47, 36,  25, 50,
                                                                    69, 91, 80, 69, 94, 80, 105, 91, 80, 102, 94, 80}));
}

TEST(TfPad, MirrorsAtTheBorderCellOrBehindIt) {
  const View x = array(three, {3});
  EXPECT_EQ(numbers(tf::pad(x, {{2, 1}})), (Floats{0, 0, 1, 2, 3, 0}));
  EXPECT_EQ(numbers(tf::pad(x, {{0, 1}}, {.constant_values = 7})), (Floats{1, 2, 3, 7}));
  EXPECT_EQ(numbers(tf::pad(x, {{2, 1}}, {.mode = "REFLECT"})), (Floats{3, 2, 1, 2, 3, 2}));
  EXPECT_EQ(numbers(tf::pad(x, {{3, 1}}, {.mode = "SYMMETRIC"})), (Floats{3, 2, 1, 1, 2, 3, 3}));
  EXPECT_FALSE(tf::pad(x, {{3, 0}}, {.mode = "REFLECT"}));
  EXPECT_FALSE(tf::pad(x, {{4, 0}}, {.mode = "SYMMETRIC"}));
  EXPECT_EQ(refusal(tf::pad(x, {{-1, 0}})), "pad: argument 'paddings' holds -1; tf.pad does not crop");
  EXPECT_EQ(refusal(tf::pad(x, {{1, 0}}, {.mode = "EDGE"})),
            "pad: argument 'mode' is 'EDGE', expected 'CONSTANT', 'REFLECT' or 'SYMMETRIC'");
}

TEST(TfReshape, BlocksMoveBetweenDepthBatchAndSpace) {
  const Floats eight{0, 1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(numbers(tf::nn::depth_to_space(array(eight, {1, 8, 1, 1}), 2, "NCHW")), (Floats{0, 2, 4, 6, 1, 3, 5, 7}));
  EXPECT_EQ(numbers(tf::nn::space_to_depth(array({0, 2, 4, 6, 1, 3, 5, 7}, {1, 2, 2, 2}), 2, "NCHW")), eight);
  EXPECT_EQ(numbers(tf::nn::depth_to_space(array(eight, {1, 1, 1, 8}), 2)), eight);
  EXPECT_EQ(refusal(tf::nn::depth_to_space(array(eight, {1, 1, 1, 8}), 1)),
            "nn.depth_to_space: argument 'block_size' is 1, expected 2 or more");
  const auto parted = tf::space_to_batch(array({1, 2, 3}, {1, 3, 1}), {2}, {{0, 1}});
  ASSERT_TRUE(parted) << message(parted.error());
  EXPECT_EQ(parted->shape(), (Sizes{2, 2, 1}));
  EXPECT_EQ(parted->floats(), (Floats{1, 3, 2, 0}));
  EXPECT_EQ(numbers(tf::batch_to_space(*parted, {2}, {{1, 0}})), (Floats{2, 3, 0}));
  EXPECT_FALSE(tf::space_to_batch(array({1, 2, 3}, {1, 3, 1}), {2}, {{0, 0}}));
  EXPECT_EQ(refusal(tf::batch_to_space(*parted, {2, 1}, {{1, 0}})),
            "batch_to_space: argument 'crops' has 1 pairs, expected 2");
}

// 0, 1, 2, 3 twice as long: weights of Keys' kernel with A = -0.5 at offsets of a quarter, the border dropped.
const Floats half_pixel_cubic{-0.088235F, 0.167883F, 0.709924F, 1.25F, 1.75F, 2.290076F, 2.832117F, 3.088235F};

TEST(TfResize, SecondVersionHasHalfPixelCentres) {
  const Floats ramp{0, 1, 2, 3}, eight{0, 1, 2, 3, 4, 5, 6, 7};
  const View x = array(ramp, {1, 1, 4, 1});
  EXPECT_EQ(numbers(tf::image::resize(x, {1, 6}, {.method = "nearest"})), (Floats{0, 1, 1, 2, 3, 3}));
  expect_near(tf::image::resize(x, {1, 6}), {0, 0.5F, 1.16667F, 1.83333F, 2.5F, 3});
  expect_near(tf::image::resize(x, {1, 8}, {.method = "bicubic"}), half_pixel_cubic);
  expect_near(tf::image::resize(array(eight, {1, 8, 1}), {1, 2}, {.antialias = true}), {1.89286F, 5.10714F});
  const auto kept = tf::image::resize(x, {3, 6}, {.preserve_aspect_ratio = true});
  ASSERT_TRUE(kept) << message(kept.error());
  EXPECT_EQ(kept->shape(), (Sizes{1, 2, 6, 1}));
  EXPECT_EQ(refusal(tf::image::resize(x, {6})), "image.resize: argument 'size' is [6], expected a height and a width");
  EXPECT_EQ(refusal(tf::image::resize(x, {1, 6}, {.method = "cubic"})),
            "image.resize: argument 'method' is 'cubic', which is no method of resizing");
}

TEST(TfResize, FirstVersionCountsFromTheCorner) {
  namespace v1 = tf::compat::v1;
  const Floats ramp{0, 1, 2, 3};
  const View x = array(ramp, {1, 1, 4, 1});
  EXPECT_EQ(numbers(v1::image::resize_nearest_neighbor(x, {1, 6})), (Floats{0, 0, 1, 2, 2, 3}));
  expect_near(v1::image::resize_bilinear(x, {1, 6}), {0, 0.66667F, 1.33333F, 2, 2.66667F, 3});
  expect_near(v1::image::resize_bilinear(x, {1, 6}, {.align_corners = true}), {0, 0.6F, 1.2F, 1.8F, 2.4F, 3});
  expect_near(v1::image::resize_bicubic(x, {1, 8}), {0, 0.40625F, 1, 1.5F, 2, 2.59375F, 3, 3.09375F});
  expect_near(v1::image::resize_bicubic(x, {1, 8}, {.half_pixel_centers = true}), half_pixel_cubic);
  EXPECT_EQ(refusal(v1::image::resize_bilinear(x, {1, 6}, {.align_corners = true, .half_pixel_centers = true})),
            "compat.v1.image.resize_bilinear: align_corners and half_pixel_centers cannot both be set");
}

TEST(TfNormalization, TheFusedKernelRaisesASmallEpsilon) {
  const Floats one{1}, zero{0};
  const View x = array({2}, {1, 1, 1, 1}), unit = array(one, {1}), none = array(zero, {1});
  const auto fused = [&](const tf::compat::v1::nn::FusedBatchNorm& o) {
    return tf::compat::v1::nn::fused_batch_norm(x, unit, unit, unit, none, o);
  };
  expect_near(fused({}), {32.6228F});
  expect_near(fused({.epsilon = 1e-9}), {317.0698F});  // 1 / sqrt(1.001e-5) + 1
  const View first = array({2, 4}, {1, 2, 1, 1}), pair = array({1, 3}, {2}), units = array({1, 1}, {2});
  expect_near(
      tf::compat::v1::nn::fused_batch_norm(first, units, units, pair, units, {.epsilon = 3, .data_format = "NCHW"}),
      {1.5F, 1.5F});
  expect_near(tf::nn::batch_normalization(x, unit, none, &unit, &unit, 1e-5), {317.2278F});
  expect_near(
      tf::nn::batch_normalization(array({2, 4}, {1, 2}), array({1}, {1, 1}), array({1}, {1, 1}), nullptr, nullptr, 3),
      {0.5F, 1.5F});
}

TEST(TfNormalization, ALocalResponseLooksAtNeighbouringChannels) {
  expect_near(tf::nn::local_response_normalization(array(three, {1, 1, 1, 3}),
                                                   {.depth_radius = 1, .bias = 2, .alpha = 3, .beta = 1}),
              {1.0F / 17, 2.0F / 44, 3.0F / 41});  // 2 + 3 * (1 + 4), 2 + 3 * (1 + 4 + 9), 2 + 3 * (4 + 9)
}

TEST(TfActivation, EachFunctionAtAPositiveAndANegativeNumber) {
  const Floats values{8, -1};
  const View x = array(values, {1, 2});
  EXPECT_EQ(numbers(tf::nn::relu(x)), (Floats{8, 0}));
  EXPECT_EQ(numbers(tf::nn::relu6(x)), (Floats{6, 0}));
  expect_near(tf::nn::leaky_relu(x), {8, -0.2F});
  expect_near(tf::nn::leaky_relu(x, 0.5), {8, -0.5F});
  expect_near(tf::nn::elu(x), {8, -0.632121F});
  expect_near(tf::nn::selu(x), {8.405608F, -1.111331F});
  expect_near(tf::nn::gelu(x), {8, -0.158655F});
  expect_near(tf::nn::gelu(x, true), {8, -0.158808F});
  expect_near(tf::nn::silu(x), {7.997317F, -0.268941F});
  expect_near(tf::nn::swish(x, 2), {8, -0.119203F});
  EXPECT_EQ(numbers(tf::nn::crelu(x)), (Floats{8, 0, 0, 1}));
  EXPECT_EQ(numbers(tf::nn::crelu(array(values, {2, 1}), 0)), (Floats{8, 0, 0, 1}));
  expect_near(tf::nn::softplus(x), {8.000335F, 0.313262F});
  expect_near(tf::nn::softsign(x), {0.888889F, -0.5F});
}

TEST(TfActivation, SoftmaxTakesAnAxisAndABiasItsChannels) {
  const Floats values{0, 1, 2, 2};
  const View x = array(values, {2, 2});
  expect_near(tf::nn::softmax(x), {0.268941F, 0.731059F, 0.5F, 0.5F});
  expect_near(tf::nn::softmax(x, 0), {0.119203F, 0.268941F, 0.880797F, 0.731059F});
  expect_near(tf::nn::log_softmax(x, 0), {-2.126928F, -1.313262F, -0.126928F, -0.313262F});
  const Floats pair{10, 20};
  EXPECT_EQ(numbers(tf::nn::bias_add(x, array(pair, {2}))), (Floats{10, 21, 12, 22}));
  EXPECT_EQ(numbers(tf::nn::bias_add(array(values, {1, 2, 2}), array(pair, {2}), "NCHW")), (Floats{10, 11, 22, 22}));
  EXPECT_EQ(refusal(tf::nn::bias_add(x, array(three, {3}))),
            "nn.bias_add: bias has shape [3], value has shape [2, 2] with its channels on axis 1");
}

}  // namespace
}  // namespace convoy::tf_test
