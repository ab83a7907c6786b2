// PyTorch's functions that move, resize, normalize or map numbers, as a C++ author calls them. Numbers are those of
// PyTorch 2.13 where a comment does not redo them; every option has a value that changes the answer.
#include "convoy/torch.h"
#include "support/refusal.h"

#include <gtest/gtest.h>

#include <cmath>

namespace convoy::torch_values_test {
namespace {

using Floats = std::vector<float>;

Tensor array(Sizes shape, Floats values) { return Tensor::of(std::move(shape), std::move(values)); }

Floats numbers(const Result<Tensor>& y) {
  EXPECT_TRUE(y) << message(y.error());
  return y ? y->floats() : Floats{};
}

void expect_near(const Result<Tensor>& y, const Floats& wanted) {
  const Floats have = numbers(y);
  ASSERT_EQ(have.size(), wanted.size());
  for (std::size_t i = 0; i < have.size(); ++i) EXPECT_NEAR(have[i], wanted[i], 2e-6) << "at " << i;
}

const Tensor x4 = array({1, 1, 4}, {1, 2, 3, 4}), ramp = array({1, 1, 4}, {0, 1, 2, 3});
const Tensor image = array({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6});

TEST(TorchPad, PairsBeginWithTheLastAxis) {
  EXPECT_EQ(numbers(torch::pad(image, {1, 0, 0, 1}, {.value = 7})), (Floats{7, 1, 2, 3, 7, 4, 5, 6, 7, 7, 7, 7}));
  EXPECT_EQ(numbers(torch::pad(x4, {2, 1}, {.mode = "reflect"})), (Floats{3, 2, 1, 2, 3, 4, 3}));
  EXPECT_EQ(numbers(torch::pad(x4, {2, 1}, {.mode = "replicate"})), (Floats{1, 1, 1, 2, 3, 4, 4}));
  EXPECT_EQ(numbers(torch::pad(x4, {2, 1}, {.mode = "circular"})), (Floats{3, 4, 1, 2, 3, 4, 1}));
}

TEST(TorchPad, NegativeNumbersCutBeforeOrAfterByMode) {
  EXPECT_EQ(numbers(torch::pad(x4, {-1, 3}, {.mode = "circular"})), (Floats{2, 3, 4, 2, 3, 4}));
  EXPECT_EQ(numbers(torch::pad(x4, {-1, 3}, {.mode = "reflect"})), (Floats{2, 3, 4, 3, 2, 1}));
  EXPECT_EQ(numbers(torch::pad(x4, {-5, 7}, {.mode = "replicate"})), (Floats{4, 4, 4, 4, 4, 4}));
  EXPECT_EQ(numbers(torch::pad(x4, {-3, 2})), (Floats{4, 0, 0}));
  EXPECT_EQ(numbers(torch::pad(x4, {-2, -2})), (Floats{}));
}

TEST(TorchPad, RefusesWhatPyTorchRefuses) {
  EXPECT_EQ(refusal(torch::pad(x4, {1})), "pad: pad [1] of an input of shape [1, 1, 4]: the numbers are no pairs");
  EXPECT_EQ(refusal(torch::pad(x4, {1, 1}, {.mode = "reflect", .value = 1})),
            "pad: argument 'value' has no meaning with mode 'reflect'");
  EXPECT_EQ(refusal(torch::pad(image, {1, 1}, {.mode = "reflect"})),
            "pad: pad [1, 1] of an input of shape [1, 1, 2, 3]: this mode pads all spatial axes or none");
  EXPECT_FALSE(torch::pad(x4, {4, 0}, {.mode = "reflect"}));
  EXPECT_FALSE(torch::pad(x4, {5, 0}, {.mode = "circular"}));
  EXPECT_FALSE(torch::pad(x4, {-2, -2}, {.mode = "replicate"}));
  EXPECT_FALSE(torch::pad(x4, {1, 1}, {.mode = "symmetric"}));
}

TEST(TorchInterpolate, TheFactorPlacesTheCellsUnlessItIsRecomputed) {
  expect_near(torch::interpolate(ramp, {.scale_factor = {1.7}, .mode = "linear"}),
              {0, 0.3823529F, 0.9705882F, 1.5588235F, 2.1470588F, 2.7352941F});
  expect_near(torch::interpolate(ramp, {.scale_factor = {1.7}, .mode = "linear", .recompute_scale_factor = true}),
              {0, 0.5F, 1.1666667F, 1.8333333F, 2.5F, 3});
  expect_near(torch::interpolate(ramp, {.size = 6, .mode = "linear", .align_corners = true}),
              {0, 0.6F, 1.2F, 1.8F, 2.4F, 3});
  expect_near(torch::interpolate(array({1, 1, 1, 8}, {0, 1, 2, 3, 4, 5, 6, 7}),
                                 {.size = {1, 2}, .mode = "bilinear", .antialias = true}),
              {1.8928571F, 5.1071429F});
}

TEST(TorchInterpolate, NearestKnowsTheDoubledLengthOnFourAxesOnly) {
  const Tensor three = array({1, 1, 3}, {0, 1, 2}), flat = array({1, 1, 1, 3}, {0, 1, 2});
  EXPECT_EQ(numbers(torch::interpolate(three, {.scale_factor = {2.3}})), (Floats{0, 0, 0, 1, 1, 2}));
  EXPECT_EQ(numbers(torch::interpolate(flat, {.scale_factor = {1, 2.3}})), (Floats{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(numbers(torch::interpolate(ramp, {.size = 6, .mode = "nearest-exact"})), (Floats{0, 1, 1, 2, 3, 3}));
  expect_near(torch::interpolate(ramp, {.size = 3, .mode = "area"}), {0.5F, 1.5F, 2.5F});
  EXPECT_EQ(refusal(torch::interpolate(ramp, {})), "interpolate: neither size nor scale_factor is given");
  EXPECT_FALSE(torch::interpolate(ramp, {.size = 6, .mode = "bilinear"}));
  EXPECT_FALSE(torch::interpolate(ramp, {.size = 6, .align_corners = true}));
  EXPECT_FALSE(torch::interpolate(ramp, {.size = 6, .mode = "linear", .antialias = true}));
}

TEST(TorchShuffles, ChannelsBecomeSpaceAndBack) {
  const Tensor deep = array({1, 8, 1, 1}, {0, 1, 2, 3, 4, 5, 6, 7});
  const auto wide = torch::pixel_shuffle(deep, 2);
  EXPECT_EQ(numbers(wide), (Floats{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(wide->shape(), (Sizes{1, 2, 2, 2}));
  EXPECT_EQ(torch::pixel_unshuffle(*wide, 2)->shape(), (Sizes{1, 8, 1, 1}));
  EXPECT_EQ(numbers(torch::channel_shuffle(deep, 2)), (Floats{0, 4, 1, 5, 2, 6, 3, 7}));
  EXPECT_FALSE(torch::pixel_shuffle(deep, 3));
  EXPECT_FALSE(torch::channel_shuffle(deep, 3));
}

TEST(TorchShuffles, WindowsBecomeColumnsAndAddUpAgain) {
  EXPECT_EQ(numbers(torch::unfold(image, {1, 2})), (Floats{1, 2, 4, 5, 2, 3, 5, 6}));
  EXPECT_EQ(numbers(torch::unfold(image, {1, 2}, {.dilation = {1, 2}, .stride = {2, 1}})), (Floats{1, 3}));
  EXPECT_EQ(numbers(torch::unfold(image, {1, 3}, {.padding = {1, 0}, .stride = {2, 1}})), (Floats{0, 4, 0, 5, 0, 6}));
  const Tensor ones = array({1, 2, 4}, Floats(8, 1));
  EXPECT_EQ(numbers(torch::fold(ones, {2, 3}, {1, 2})), (Floats{1, 2, 1, 1, 2, 1}));
  EXPECT_FALSE(torch::fold(ones, {2, 4}, {1, 2}));
}

TEST(TorchNorms, UseTheGivenOrTheirOwnStatistics) {
  const Tensor one = array({1}, {1}), three = array({1}, {3}), ten = array({1}, {10}), five = array({1}, {5});
  const View mean(one), variance(three), weight(ten), bias(five);
  const Tensor x = array({1, 1, 2}, {2, 4}), y = array({1, 1, 2}, {1, 3});
  // (2 - 1) / sqrt(3 + 1) * 10 + 5
  expect_near(torch::batch_norm(x, &mean, &variance, {.weight = &weight, .bias = &bias, .eps = 1}), {10, 20});
  expect_near(torch::batch_norm(y, nullptr, nullptr, {.weight = &weight, .bias = &bias, .training = true, .eps = 3}),
              {0, 10});
  expect_near(torch::instance_norm(y, {.weight = &weight, .bias = &bias, .eps = 3}), {0, 10});
  expect_near(
      torch::instance_norm(x, {.running_mean = &mean, .running_var = &variance, .use_input_stats = false, .eps = 1}),
      {0.5F, 1.5F});
  EXPECT_FALSE(torch::batch_norm(x, nullptr, nullptr));
  EXPECT_FALSE(torch::batch_norm(x, &mean, &variance, {.eps = -1}));
  EXPECT_FALSE(torch::instance_norm(array({1, 1, 1}, {2})));
}

TEST(TorchNorms, CoverGroupsAndLastAxes) {
  const Tensor scale = array({4}, {1, 1, 10, 10}), shift = array({4}, {0, 0, 0, 5});
  const View s(scale), t(shift);
  expect_near(torch::group_norm(array({1, 4, 1}, {1, 3, 2, 6}), 2, {.weight = &s, .bias = &t, .eps = 0}),
              {-1, 1, -10, 15});
  const Tensor two = array({2}, {1, 10}), rest = array({2}, {0, 5}), double_last = array({2}, {1, 2});
  const View w(two), b(rest), d(double_last);
  expect_near(torch::layer_norm(array({1, 2}, {1, 3}), {2}, {.weight = &w, .bias = &b, .eps = 3}), {-0.5F, 10});
  // 3 / sqrt(12.5 + 3.5), 2 * 4 / 4
  expect_near(torch::rms_norm(array({1, 2}, {3, 4}), {2}, {.weight = &d, .eps = 3.5}), {0.75F, 2});
  // 1 / (2 + 3/3 * (1 + 4)), 2 / (2 + 14), 3 / (2 + 13)
  expect_near(torch::local_response_norm(array({1, 3, 1}, {1, 2, 3}), 3, {.alpha = 3, .beta = 1, .k = 2}),
              {1.0F / 7, 2.0F / 16, 3.0F / 15});
  expect_near(torch::normalize(array({1, 2}, {3, 4}), {.p = 1, .eps = 10}), {0.3F, 0.4F});
  expect_near(torch::normalize(array({2, 1}, {3, 4}), {.dim = {0}}), {0.6F, 0.8F});
  EXPECT_FALSE(torch::group_norm(array({1, 4, 1}, {1, 3, 2, 6}), 3));
  EXPECT_FALSE(torch::layer_norm(array({1, 2}, {1, 3}), {3}));
}

const Tensor pair = array({2}, {-1.5F, 1});

TEST(TorchActivations, GiveTheirNumbers) {
  expect_near(torch::relu(pair), {0, 1});
  expect_near(torch::relu6(array({2}, {-1, 8})), {0, 6});
  expect_near(torch::leaky_relu(pair, 0.25), {-0.375F, 1});
  expect_near(torch::elu(pair, 2), {-1.5537397F, 1});
  expect_near(torch::selu(pair), {-1.3658143F, 1.0507010F});
  expect_near(torch::celu(pair, 2), {-1.0552669F, 1});
  expect_near(torch::gelu(pair), {-0.1002108F, 0.8413447F});
  expect_near(torch::gelu(pair, "tanh"), {-0.1004284F, 0.8411920F});
  expect_near(torch::silu(pair), {-0.2736383F, 0.7310586F});
  expect_near(torch::mish(pair), {-0.2980998F, 0.8650984F});
  expect_near(torch::softplus(pair, 2, 1), {0.0242936F, 1});
  expect_near(torch::softsign(pair), {-0.6F, 0.5F});
  expect_near(torch::hardtanh(pair, -2, 0.5), {-1.5F, 0.5F});
  expect_near(torch::hardsigmoid(pair), {0.25F, 0.6666667F});
  expect_near(torch::hardswish(pair), {-0.375F, 0.6666667F});
  expect_near(torch::sigmoid(pair), {0.1824255F, 0.7310586F});
  expect_near(torch::tanh(pair), {-0.9051483F, 0.7615942F});
  expect_near(torch::logsigmoid(pair), {-1.7014133F, -0.3132617F});
  expect_near(torch::tanhshrink(pair), {-0.5948517F, 0.2384058F});
  expect_near(torch::softshrink(pair, 0.75), {-0.75F, 0.25F});
  expect_near(torch::hardshrink(pair, 1.25), {-1.5F, 0});
  expect_near(torch::threshold(pair, 0.5, -7), {-7, 1});
}

TEST(TorchActivations, LookAlongAnAxis) {
  expect_near(torch::softmax(pair), {0.0758582F, 0.9241418F});
  expect_near(torch::softmin(pair, 0), {0.9241418F, 0.0758582F});
  expect_near(torch::log_softmax(pair, -1), {-2.5788898F, -0.0788898F});
  expect_near(torch::softmax(array({2, 1}, {1, 5}), 1), {1, 1});
  expect_near(torch::glu(array({1, 4}, {2, 4, 0, 0})), {1, 2});
  expect_near(torch::glu(array({2, 1}, {2, 0}), 0), {1});
  expect_near(torch::prelu(array({1, 2, 1}, {-1, -1}), array({2}, {0.5F, 3})), {-0.5F, -3});
  const Tensor bias = array({1}, {100});
  const View b(bias);
  expect_near(torch::linear(array({1, 2}, {3, 4}), array({1, 2}, {1, 10}), &b), {143});
  EXPECT_FALSE(torch::softmax(pair, 1));
  EXPECT_FALSE(torch::glu(array({3}, {1, 2, 3})));
  EXPECT_FALSE(torch::softshrink(pair, -1));
  EXPECT_FALSE(torch::gelu(pair, "erf"));
  EXPECT_FALSE(torch::hardtanh(pair, 2, 1));
}

TEST(TorchActivations, InfinityHasItsPlace) {
  const Tensor ends = array({2}, {-INFINITY, INFINITY});
  EXPECT_EQ(numbers(torch::relu(ends)), (Floats{0, INFINITY}));
  EXPECT_EQ(numbers(torch::relu6(ends)), (Floats{0, 6}));
}

}  // namespace
}  // namespace convoy::torch_values_test
