// PyTorch's functions as a C++ author calls them. Numbers are those of PyTorch 2.13 where a comment does not redo them.
// Every option is given a value that changes the answer, so that one which is dropped on the way fails a test.
#include "convoy/torch.h"
#include "support/refusal.h"

#include <gtest/gtest.h>

#include <cmath>

namespace convoy::torch_test {
namespace {

using Floats = std::vector<float>;

Tensor array(Sizes shape, Floats values) { return Tensor::of(std::move(shape), std::move(values)); }

// 1, 2, 3, ...
Tensor counted(Sizes shape) {
  Floats values(static_cast<std::size_t>(*checked_count(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i + 1);
  return array(std::move(shape), std::move(values));
}

Floats numbers(const Result<Tensor>& y) {
  EXPECT_TRUE(y) << message(y.error());
  return y ? y->floats() : Floats{};
}

Sizes shape(const Result<Tensor>& y) {
  EXPECT_TRUE(y) << message(y.error());
  return y ? y->shape() : Sizes{};
}

void expect_near(const Result<Tensor>& y, const Floats& wanted) {
  const Floats have = numbers(y);
  ASSERT_EQ(have.size(), wanted.size());
  for (std::size_t i = 0; i < have.size(); ++i) EXPECT_NEAR(have[i], wanted[i], 2e-6) << "at " << i;
}

const Tensor x4 = array({1, 1, 4}, {1, 10, 100, 1000}), x3 = array({1, 1, 3}, {1, 10, 100});
const Tensor w3 = array({1, 1, 3}, {1, 2, 3}), ramp = array({1, 1, 4}, {0, 1, 2, 3});

Floats conv(const torch::Conv& options) { return numbers(torch::conv1d(x4, w3, nullptr, options)); }

TEST(TorchConvolution, PaddingOneIsNotSameAtStrideTwo) {
  EXPECT_EQ(conv({.stride = 2, .padding = 1}), (Floats{32, 3210}));
  EXPECT_EQ(conv({.padding = "same"}), (Floats{32, 321, 3210, 2100}));
  EXPECT_EQ(conv({.padding = "valid"}), (Floats{321, 3210}));
  EXPECT_EQ(conv({.padding = 2, .dilation = 2}), (Floats{302, 3020, 201, 2010}));
}

TEST(TorchConvolution, ThePaddingModeFillsTheBorder) {
  EXPECT_EQ(conv({.padding = 1, .padding_mode = "circular"}), (Floats{1032, 321, 3210, 2103}));
  EXPECT_EQ(conv({.padding = 1, .padding_mode = "reflect"}), (Floats{42, 321, 3210, 2400}));
  EXPECT_EQ(conv({.padding = 1, .padding_mode = "replicate"}), (Floats{33, 321, 3210, 5100}));
  // The last window reads the cell behind the end, whatever the stride.
  EXPECT_EQ(conv({.stride = 3, .padding = 1, .padding_mode = "replicate"}), (Floats{33, 5100}));
}

TEST(TorchConvolution, EveryAxisAndGroupHasItsOwnNumbers) {
  const Tensor bias = counted({4});
  const View b(bias);
  const auto y = torch::conv2d(counted({1, 2, 5, 4}), counted({4, 1, 2, 3}), &b,
                               {.stride = {2, 1}, .padding = {1, 0}, .groups = 2});
  ASSERT_EQ(shape(y), (Sizes{1, 4, 3, 2}));
  const Floats v = numbers(y);
  EXPECT_EQ((Floats{v[0], v[2], v[4], v[6], v[12], v[18]}), (Floats{33, 191, 359, 70, 1127, 1524}));
  EXPECT_EQ(shape(torch::conv3d(counted({2, 1, 3, 4, 5}), counted({1, 1, 1, 2, 3}))), (Sizes{2, 1, 3, 3, 3}));
  EXPECT_EQ(shape(torch::conv1d(counted({1, 4}), w3)), (Sizes{1, 2}));  // without a batch axis
}

TEST(TorchConvolution, RefusesWhatPyTorchRefuses) {
  EXPECT_EQ(refusal(torch::conv1d(x4, w3, nullptr, {.stride = 2, .padding = "same"})),
            "conv1d: padding 'same' needs stride 1 in PyTorch");
  EXPECT_EQ(refusal(torch::conv1d(x4, w3, nullptr, {.stride = 0})),
            "conv1d: kernel 3, stride 0 and dilation 1 are no window: each is 1 or more");
  EXPECT_EQ(refusal(torch::conv1d(x4, w3, nullptr, {.padding = -1})),
            "conv1d: argument 'padding' is [-1], expected 0 or more");
  EXPECT_EQ(refusal(torch::conv1d(x4, w3, nullptr, {.stride = {1, 2}})),
            "conv1d: argument 'stride' is [1,2], expected one number");
  EXPECT_EQ(refusal(torch::conv1d(x4, w3, nullptr, {.padding_mode = "mirror"})),
            "conv1d: argument 'padding_mode' is 'mirror', expected 'zeros', 'reflect', 'replicate' or 'circular'");
  EXPECT_EQ(refusal(torch::conv2d(x4, w3)), "conv2d: weight has shape [1, 1, 3], expected rank 4");
  EXPECT_FALSE(torch::conv1d(x4, w3, nullptr, {.groups = 2}));
  EXPECT_FALSE(torch::conv1d(x3, counted({1, 1, 4})));
}

Floats transposed(const torch::ConvTranspose& options) {
  return numbers(torch::conv_transpose1d(x3, w3, nullptr, options));
}

TEST(TorchConvTranspose, OutputPaddingGrowsTheEnd) {
  EXPECT_EQ(transposed({.stride = 2}), (Floats{1, 2, 13, 20, 130, 200, 300}));
  EXPECT_EQ(transposed({.stride = 2, .padding = 1, .output_padding = 1}), (Floats{2, 13, 20, 130, 200, 300}));
  EXPECT_EQ(transposed({.stride = 2, .output_size = {8}}), (Floats{1, 2, 13, 20, 130, 200, 300, 0}));
  const Tensor bias = array({1}, {1000});
  const View b(bias);
  EXPECT_EQ(
      numbers(torch::conv_transpose1d(x3, w3, &b, {.stride = 2, .padding = 1, .output_padding = 1, .dilation = 2})),
      (Floats{1000, 1012, 1000, 1123, 1000, 1230, 1000, 1300}));
  // Two channels, two groups of one input and two outputs each.
  EXPECT_EQ(numbers(torch::conv_transpose1d(array({1, 2, 1}, {1, 10}), array({2, 2, 1}, {1, 2, 3, 4}), nullptr,
                                            {.groups = 2})),
            (Floats{1, 2, 30, 40}));
}

TEST(TorchConvTranspose, EveryAxisHasItsOwnNumbers) {
  EXPECT_EQ(shape(torch::conv_transpose2d(counted({1, 1, 2, 3}), counted({1, 1, 1, 2}), nullptr,
                                          {.stride = {1, 3}, .padding = {0, 1}, .output_padding = {0, 2}})),
            (Sizes{1, 1, 2, 8}));
  EXPECT_EQ(
      shape(torch::conv_transpose3d(counted({1, 2, 3, 4}), counted({1, 1, 2, 2, 2}), nullptr, {.stride = {1, 2, 3}})),
      (Sizes{1, 3, 6, 11}));
  EXPECT_EQ(
      refusal(torch::conv_transpose1d(x3, w3, nullptr, {.output_padding = 1})),
      "conv_transpose1d: argument 'output_padding' is [1], expected 0 or more and less than stride or dilation on "
      "every axis");
  EXPECT_EQ(refusal(torch::conv_transpose1d(x3, w3, nullptr, {.stride = 2, .output_size = {9}})),
            "conv_transpose1d: argument 'output_size' is [9], but axis 0 can be 7 to 8 cells long");
}

TEST(TorchPools, MaximaKnowWhereTheyStood) {
  const auto y = torch::max_pool1d_with_indices(array({2, 3}, {1, 9, 4, 7, 2, 8}), 2, {.stride = 1});
  ASSERT_TRUE(y) << message(y.error());
  EXPECT_EQ(y->values.floats(), (Floats{9, 9, 7, 8}));
  EXPECT_EQ(y->indices.integers(), (std::vector<std::int64_t>{1, 1, 0, 2}));
  EXPECT_EQ(numbers(torch::max_unpool1d(y->values, y->indices, 2, {.stride = 1})), (Floats{0, 9, 0, 7, 0, 8}));
  const Tensor five = counted({1, 1, 5});
  EXPECT_EQ(numbers(torch::max_pool1d(five, 2)), (Floats{2, 4}));
  EXPECT_EQ(numbers(torch::max_pool1d(five, 2, {.ceil_mode = true})), (Floats{2, 4, 5}));
  EXPECT_EQ(numbers(torch::max_pool1d(five, 2, {.stride = 1, .padding = 1, .dilation = 2})), (Floats{2, 3, 4, 5, 4}));
  EXPECT_EQ(numbers(torch::max_pool2d(counted({1, 1, 2, 3}), {1, 2}, {.stride = {2, 1}})), (Floats{2, 3}));
  EXPECT_EQ(numbers(torch::max_pool3d(counted({1, 2, 2, 2}), {1, 2, 2})), (Floats{4, 8}));
  EXPECT_TRUE(torch::max_pool2d_with_indices(counted({1, 2, 3}), 2));
  EXPECT_TRUE(torch::max_pool3d_with_indices(counted({1, 2, 2, 2}), 2));
  EXPECT_EQ(refusal(torch::max_pool1d(five, 2, {.padding = 2})),
            "max_pool1d: argument 'padding' is [2], more than half of the kernel [2]");
}

TEST(TorchPools, UnpoolingTakesALengthWithinAStride) {
  const Tensor values = array({1, 1, 2}, {5, 7});
  const Tensor at = Tensor::of({1, 1, 2}, std::vector<std::int64_t>{1, 4});
  EXPECT_EQ(numbers(torch::max_unpool1d(values, at, 2, {.output_size = {5}})), (Floats{0, 5, 0, 0, 7}));
  EXPECT_EQ(shape(torch::max_unpool1d(values, at, 3, {.stride = 2, .padding = 0})), (Sizes{1, 1, 5}));
  EXPECT_EQ(shape(torch::max_unpool1d(values, at, 4, {.stride = 3, .padding = 1})), (Sizes{1, 1, 5}));
  EXPECT_FALSE(torch::max_unpool1d(values, at, 2));  // 4 cells, and no fifth one
  EXPECT_EQ(refusal(torch::max_unpool1d(values, at, 2, {.output_size = {6}})),
            "max_unpool1d: argument 'output_size' is [6], but axis 0 can be 3 to 5 cells long");
  const Tensor place = Tensor::of({1, 1, 1, 1}, std::vector<std::int64_t>{3});
  EXPECT_EQ(numbers(torch::max_unpool2d(array({1, 1, 1, 1}, {5}), place, 2)), (Floats{0, 0, 0, 5}));
  const Tensor deep = Tensor::of({1, 1, 1, 1, 1}, std::vector<std::int64_t>{1});
  EXPECT_EQ(numbers(torch::max_unpool3d(array({1, 1, 1, 1, 1}, {5}), deep, {1, 1, 2})), (Floats{0, 5}));
}

TEST(TorchPools, AveragesCountWhatTheirOptionsSay) {
  const Tensor x = counted({1, 1, 4, 4});
  expect_near(torch::avg_pool2d(x, 3, {.stride = 2, .padding = 1, .ceil_mode = true}),
              {1.5555556F, 3.3333333F, 2, 6.3333333F, 11, 6, 4.5F, 7.5F, 4});
  expect_near(torch::avg_pool2d(x, 3, {.stride = 2, .padding = 1, .ceil_mode = true, .count_include_pad = false}),
              {3.5F, 5, 6, 9.5F, 11, 12, 13.5F, 15, 16});
  expect_near(torch::avg_pool2d(x, 3, {.stride = 2, .padding = 1, .divisor_override = 2}), {7, 15, 28.5F, 49.5F});
  expect_near(torch::avg_pool1d(x4, 2, {.stride = 1}), {5.5F, 55, 550});
  expect_near(torch::avg_pool3d(counted({1, 1, 1, 2, 2}), {1, 2, 1}), {2, 3});
  EXPECT_EQ(refusal(torch::avg_pool2d(x, 3, {.divisor_override = 0})), "avg_pool2d: argument 'divisor_override' is 0");
  EXPECT_FALSE(torch::avg_pool3d(counted({1, 1, 1, 2, 2}), 2, {.padding = 1}));
}

TEST(TorchPools, PowersKeepTheSignsOfOddNorms) {
  const Tensor x = array({1, 1, 5}, {3, 4, 6, 8, 5});
  expect_near(torch::lp_pool1d(x, 2, 2), {5, 10});
  expect_near(torch::lp_pool1d(x, 2, 2, {.ceil_mode = true}), {5, 10, 7.0710678F});
  expect_near(torch::lp_pool1d(x, 2, 2, {.stride = 1}), {5, 7.2111025F, 10, 9.4339811F});
  EXPECT_TRUE(std::isnan(numbers(torch::lp_pool1d(array({1, 1, 2}, {-2, 1}), 3, 2)).at(0)));
  expect_near(torch::lp_pool1d(array({1, 1, 2}, {-2, 1}), INFINITY, 2), {2});
  expect_near(torch::lp_pool2d(array({1, 1, 1, 2}, {3, 4}), 2, {1, 2}), {5});
  expect_near(torch::lp_pool3d(array({1, 1, 1, 1, 2}, {3, 4}), 1, {1, 1, 2}), {7});
  EXPECT_EQ(refusal(torch::lp_pool1d(x, 0, 2)), "lp_pool1d: argument 'norm_type' is 0.0");
}

TEST(TorchPools, AdaptiveWindowsOverlapWhereTheSizesDoNotDivide) {
  const Tensor x = array({1, 1, 5}, {0, 1, 2, 3, 4});
  expect_near(torch::adaptive_avg_pool1d(x, 3), {0.5F, 2, 3.5F});
  EXPECT_EQ(numbers(torch::adaptive_max_pool1d(x, 3)), (Floats{1, 3, 4}));
  const auto y = torch::adaptive_max_pool1d_with_indices(x, 2);
  ASSERT_TRUE(y) << message(y.error());
  EXPECT_EQ(y->indices.integers(), (std::vector<std::int64_t>{2, 4}));
  EXPECT_EQ(shape(torch::adaptive_avg_pool2d(counted({1, 2, 3, 4}), {std::nullopt, 2})), (Sizes{1, 2, 3, 2}));
  EXPECT_EQ(shape(torch::adaptive_max_pool2d(counted({2, 3, 4}), {2, 1})), (Sizes{2, 2, 1}));
  EXPECT_EQ(shape(torch::adaptive_avg_pool3d(counted({1, 1, 2, 3, 4}), 2)), (Sizes{1, 1, 2, 2, 2}));
  EXPECT_EQ(shape(torch::adaptive_max_pool3d(counted({1, 1, 2, 3, 4}), {1, 2, 3})), (Sizes{1, 1, 1, 2, 3}));
  EXPECT_TRUE(torch::adaptive_max_pool2d_with_indices(counted({1, 2, 3}), 2));
  EXPECT_TRUE(torch::adaptive_max_pool3d_with_indices(counted({1, 2, 3, 4}), 2));
  EXPECT_FALSE(torch::adaptive_avg_pool1d(x, {std::nullopt}));
  EXPECT_FALSE(torch::adaptive_avg_pool1d(x, -1));
}

}  // namespace
}  // namespace convoy::torch_test
