// Shapes before anything runs: unknown sizes pass through, and every number from a file may be hostile.
#include "ops/op.h"

#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace convoy::infer_test {
namespace {

constexpr Dim unknown = Dim::unknown();
constexpr Size huge = std::numeric_limits<Size>::max();

Result<TensorTypes> inferred(const Op& op, const std::vector<Shape>& shapes) {
  TensorTypes types;
  for (const Shape& shape : shapes) types.push_back({DType::F32, shape});
  std::vector<Input> inputs;
  for (const TensorType& type : types) inputs.push_back({&type, nullptr});
  return infer(op, Inputs(inputs));
}

std::string shape_of(const Op& op, const std::vector<Shape>& shapes) {
  const auto types = inferred(op, shapes);
  return types ? text_of(types->front().shape) : message(types.error());
}

Conv conv2(Padding padding) { return {.windows = {{3, 2, 1}, {5, 1, 2}}, .paddings = {padding, padding}}; }

// Those whose traits say it have no function of their own.
TEST(Infer, WhatIsTypedLikeItsInputChecksItsAxes) {
  const Shape x{unknown, 4, 3};
  EXPECT_EQ(shape_of(Threshold{}, {x}), "[N, 4, 3]");
  EXPECT_EQ(shape_of(Softmax{{1, 2}}, {x}), "[N, 4, 3]");
  EXPECT_EQ(shape_of(Hardmax{-3}, {x}), "[N, 4, 3]");
  for (const Op& op : {Op(Softmax{{}}), Op(Softmax{{2, 1}}), Op(Softmax{{3}}), Op(Hardmax{3}), Op(Hardmax{-4})})
    EXPECT_FALSE(inferred(op, {x})) << name_of(op);
  const TensorType whole{DType::I64, {2, 5}};
  const Input input{&whole, nullptr};
  EXPECT_EQ(infer(Op(Hardmax{1}), Inputs({&input, 1}))->front().dtype, DType::F32);
}

TEST(Infer, UnknownSizesStayUnknown) {
  EXPECT_EQ(shape_of(conv2({Spelling::SameUpper}), {{unknown, 4, unknown, 7}, {6, 4, 3, 5}}), "[N, 6, ?, 7]");
  EXPECT_EQ(shape_of(MaxPool{.windows = {{2, 2, 1}, {3, 3, 1}}, .paddings = {{}, {}}}, {{unknown, 4, 9, unknown}}),
            "[N, 4, 4, ?]");
  EXPECT_EQ(shape_of(Flatten{}, {{unknown, 4, 3}}), "[N, 12]");
  EXPECT_EQ(shape_of(Flatten{}, {{unknown, 4, unknown}}), "[N, ?]");
  EXPECT_EQ(shape_of(Pad{{0, 1}, {0, 2}}, {{unknown, unknown}}), "[N, ?]");
  EXPECT_EQ(shape_of(Concat{1}, {{unknown, 3}, {5, 4}}), "[5, 7]");
  EXPECT_EQ(shape_of(Linear{LinearOrder::InOut}, {{unknown, 3, 4}, {4, 9}}), "[N, 3, 9]");
}

TEST(Infer, AReshapeSeesThroughAnUnknownBatchThatItCopies) {
  EXPECT_EQ(shape_of(Reshape{{0, -1, 2}}, {{unknown, 4, 3}}), "[N, 6, 2]");
  EXPECT_EQ(shape_of(Reshape{{-1, 2}}, {{unknown, 4}}), "[N, 2]");
  EXPECT_EQ(shape_of(Reshape{{0, 5}}, {{unknown, 4}}), "input of shape [N, 4] does not reshape to [0, 5]");
  EXPECT_EQ(shape_of(Reshape{{0, -1, 5}}, {{unknown, 4}}), "input of shape [N, 4] does not reshape to [0, -1, 5]");
  EXPECT_FALSE(inferred(Reshape{{-1, -1}}, {{4}}));
  EXPECT_FALSE(inferred(Reshape{{huge, huge}}, {{4}}));
  EXPECT_FALSE(inferred(Reshape{{0, 0}}, {{4}}));
}

TEST(Infer, AKernelMustBeTheOneThatTheWindowsSay) {
  EXPECT_EQ(shape_of(conv2({}), {{1, 4, 9, 20}, {6, 4, 5, 3}}),
            "kernel size is 3 on spatial axis 0, but the kernel has shape [6, 4, 5, 3]");
  EXPECT_EQ(shape_of(conv2({}), {{1, 4, 9}, {6, 4, 3, 5}}), "input has rank 3 (shape [1, 4, 9]), expected 4");
  EXPECT_EQ(shape_of(conv2({}), {{1, 4, 2, 20}, {6, 4, 3, 5}}),
            "no window fits: input size 2 on spatial axis 0, kernel 3, stride 2, dilation 1");
  EXPECT_EQ(shape_of(conv2({}), {{1, 4, 9, 20}, {6, 4, 3, 5}, {7}}), "bias has shape [7], expected [6]");
  EXPECT_EQ(inferred(conv2({}), {{1, 4, 2, 20}, {6, 4, 3, 5}}).error().fault, Fault::Unsupported);
  Conv grouped = conv2({});
  grouped.groups = 4;
  EXPECT_EQ(shape_of(grouped, {{1, 4, 9, 20}, {6, 1, 3, 5}}),
            "groups is 4, which does not divide the 6 output channels");
  grouped.groups = 0;
  EXPECT_EQ(shape_of(grouped, {{1, 4, 9, 20}, {6, 1, 3, 5}}), "groups is 0");
  Conv fewer = conv2({});
  fewer.paddings.pop_back();
  EXPECT_EQ(shape_of(fewer, {{1, 4, 9, 20}, {6, 4, 3, 5}}), "padding has 1 entries, expected 2 (one per spatial axis)");
}

TEST(Infer, ATransposedConvolutionCountsItsGroupsInTheOutput) {
  ConvTranspose conv{.windows = {{3, 2, 1}, {2, 3, 1}}, .groups = 2};
  conv.paddings = {{CropSpelling::Explicit, 1, 0, {}}, {CropSpelling::KerasSame, 0, 0, {}}};
  EXPECT_EQ(shape_of(conv, {{unknown, 4, 5, 7}, {4, 3, 3, 2}}), "[N, 6, 10, 21]");
  conv.paddings[0] = {CropSpelling::Explicit, 9, 9, {}};
  EXPECT_EQ(inferred(conv, {{1, 4, 5, 7}, {4, 3, 3, 2}}).error().fault, Fault::Unsupported);
}

TEST(Infer, HostileNumbersAreErrorsAndNothingElse) {
  for (const Size n : {Size{-1}, Size{0}, huge, std::numeric_limits<Size>::min()}) {
    Conv conv{.windows = {{3, n, 1}, {5, 1, 1}}, .paddings = {{}, {}}};
    EXPECT_FALSE(inferred(conv, {{1, 4, 9, 9}, {6, 4, 3, 5}}));
    conv = {.windows = {{3, 1, n}, {5, 1, 1}}, .paddings = {{}, {}}};
    EXPECT_FALSE(inferred(conv, {{1, 4, 9, 9}, {6, 4, 3, 5}}));
    conv = {.windows = {{3, 1, 1}, {5, 1, 1}}, .paddings = {{}, {}}, .groups = n};
    EXPECT_FALSE(inferred(conv, {{1, 4, 9, 9}, {6, 4, 3, 5}}));
    EXPECT_FALSE(inferred(MaxPool{.windows = {{n, 1, 1}, {1, 1, 1}}, .paddings = {{}, {}}}, {{1, 4, 9, 9}}));
    EXPECT_FALSE(inferred(AdaptivePool{.out = {n, 1}}, {{1, 4, 9, 9}}));
    EXPECT_FALSE(inferred(Resize{.sizes = {n, 1}}, {{1, 4, 9, 9}}));
    EXPECT_FALSE(inferred(DepthToSpace{.block = n}, {{1, 4, 9, 9}}));
    EXPECT_FALSE(inferred(GroupNorm{.axis = 1, .groups = n}, {{1, 4, 9, 9}}));
    EXPECT_FALSE(inferred(Split{1, {n, 5}}, {{1, 4}}));
  }
  for (const Size axis : {Size{-1}, Size{2}, huge, std::numeric_limits<Size>::min()}) {
    EXPECT_FALSE(inferred(Softmax{.axes = {axis}}, {{3, 4}}));
    EXPECT_FALSE(inferred(Concat{axis}, {{3, 4}, {3, 4}}));
    EXPECT_FALSE(inferred(Slice{.axis = axis}, {{3, 4}}));
    EXPECT_FALSE(inferred(Reduce{.axes = {axis}}, {{3, 4}}));
    EXPECT_FALSE(inferred(Transpose{{0, axis}}, {{3, 4}}));
    EXPECT_FALSE(inferred(Squeeze{{axis}}, {{1, 1}}));
  }
  EXPECT_FALSE(inferred(Unsqueeze{{huge}}, {{3, 4}}));
  EXPECT_FALSE(inferred(Tile{0, huge}, {{3, 4}}));
  EXPECT_FALSE(inferred(Concat{0}, {{huge}, {huge}}));
  EXPECT_FALSE(inferred(Flatten{}, {{1, huge, huge}}));
  EXPECT_FALSE(inferred(Binary{}, {{huge, 1}, {1, huge}}));
  EXPECT_FALSE(inferred(Pad{{huge}, {huge}}, {{3}}));
  EXPECT_FALSE(inferred(Slice{.axis = 0, .step = 0}, {{3}}));
  EXPECT_FALSE(inferred(Resize{.factors = {std::numeric_limits<double>::quiet_NaN(), 1}}, {{1, 4, 9, 9}}));
  EXPECT_FALSE(inferred(Resize{.factors = {1e300, 1}}, {{1, 4, 9, 9}}));
}

TEST(Infer, APadThatAFrameworkRefusesIsRefused) {
  EXPECT_TRUE(inferred(Pad{{2}, {2}, PadMode::Reflect}, {{3}}));
  EXPECT_EQ(shape_of(Pad{{3}, {0}, PadMode::Reflect}, {{3}}),
            "reflect pad of 3 and 0 cells on axis 0, which has 3: at most 2 can be added");
  EXPECT_TRUE(inferred(Pad{{3}, {3}, PadMode::Wrap}, {{3}}));
  EXPECT_FALSE(inferred(Pad{{4}, {0}, PadMode::Wrap}, {{3}}));
  EXPECT_EQ(shape_of(Pad{{-1}, {-3}}, {{3}}), "pad of -1 and -3 cells on axis 0 leaves no cell of 3");
  EXPECT_EQ(shape_of(Pad{{-1}, {-2}}, {{3}}), "pad of -1 and -2 cells on axis 0 leaves no cell of 3");
  EXPECT_EQ(shape_of(Pad{.before = {-1}, .after = {-2}, .may_be_empty = true}, {{3}}), "[0]");
  EXPECT_FALSE(inferred(Pad{{-3}, {2}, PadMode::Edge}, {{3}}));
  EXPECT_TRUE(inferred(Pad{.before = {-3}, .after = {2}, .mode = PadMode::Edge, .cutting = Cutting::Last}, {{3}}));
  EXPECT_FALSE(inferred(Pad{{-5}, {9}}, {{3}}));
}

TEST(Infer, TheNumberOfInputsIsChecked) {
  EXPECT_EQ(shape_of(Linear{}, {{3}}), "linear has 1 inputs, expected 2 to 3");
  EXPECT_EQ(shape_of(Unary{}, {{3}, {3}}), "unary has 2 inputs, expected 1");
  const TensorType type{DType::F32, {2, 3}};
  const std::vector<Input> absent{{&type, nullptr}, {nullptr, nullptr}};
  EXPECT_EQ(infer(Op(Linear{}), Inputs(absent)).error().what, "input 1 of linear is absent");
}

TEST(Infer, ElementTypesMeetInTheWiderFloat) {
  const TensorType half{DType::F16, {2}}, brain{DType::BF16, {2}}, whole{DType::I64, {2}};
  const auto sum = [](const TensorType& a, const TensorType& b) {
    const std::vector<Input> inputs{{&a, nullptr}, {&b, nullptr}};
    return infer(Op(Binary{}), Inputs(inputs))->front().dtype;
  };
  EXPECT_EQ(sum(half, whole), DType::F16);
  EXPECT_EQ(sum(half, brain), DType::F32);
  EXPECT_EQ(sum(whole, whole), DType::I64);
}

TEST(Kernel, EveryOrderCanBeBroughtIntoItsPartner) {
  std::vector<double> values(2 * 3 * 4 * 5);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  const Tensor kernel = Tensor::of({2, 3, 4, 5}, values);
  const auto there = reordered_kernel(kernel, KernelOrder::OutInSpace, KernelOrder::SpaceInOut);
  ASSERT_TRUE(there);
  EXPECT_EQ(there->shape(), (Sizes{4, 5, 3, 2}));
  EXPECT_TRUE(same_bytes(*reordered_kernel(*there, KernelOrder::SpaceInOut, KernelOrder::OutInSpace), kernel));
  const auto depthwise = reordered_kernel(kernel, KernelOrder::SpaceInMultiplier, KernelOrder::OutInSpace);
  ASSERT_TRUE(depthwise);
  EXPECT_EQ(depthwise->shape(), (Sizes{20, 1, 2, 3}));
  // Channel 1, multiplier 2 at (1, 0) is number ((1*3 + 0)*4 + 1)*5 + 2 of the file.
  EXPECT_EQ(depthwise->doubles()[static_cast<std::size_t>((1 * 5 + 2) * 6 + 1 * 3 + 0)], 67);
  EXPECT_FALSE(reordered_kernel(kernel, KernelOrder::OutInSpace, KernelOrder::SpaceOutIn));
}

TEST(Axes, APermutationIsUndoneByItsInverse) {
  EXPECT_EQ(to_channels_first(3), (Sizes{0, 4, 1, 2, 3}));
  EXPECT_EQ(to_channels_last(3), (Sizes{0, 2, 3, 4, 1}));
  EXPECT_EQ(inverse(to_channels_first(3)), to_channels_last(3));
  EXPECT_TRUE(is_identity(compose(to_channels_first(3), to_channels_last(3))));
  EXPECT_EQ(compose({2, 0, 1}, {1, 0, 2}), (Sizes{0, 2, 1}));
}

}  // namespace
}  // namespace convoy::infer_test
