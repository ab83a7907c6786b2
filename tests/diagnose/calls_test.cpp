// Two calls held against each other: where they read other cells, under which name, and that what is written for one in the
// other's framework is the same as it.
#include "diagnose/calls.h"

#include "diagnose/cause.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace convoy::diagnose::calls_test {
namespace {

explain::Question asked(const std::string& text, std::vector<Dim> size = {}) {
  return {.text = text, .size = std::move(size)};
}

CallsComparison compared(const std::string& a, const std::string& b, const std::vector<Dim>& size = {}) {
  auto found = compare_calls(asked(a, size), asked(b, size));
  EXPECT_TRUE(found) << a << "\n" << b << "\n" << (found ? "" : message(found.error()));
  return found ? *std::move(found) : CallsComparison{};
}

std::string causes(const CallsComparison& c) {
  std::string all;
  for (const auto& finding : c.findings) {
    all += (all.empty() ? "" : " ") + finding.cause;
    EXPECT_TRUE(finding.cause == "unknown" || !words_of_cause(finding.cause).empty()) << finding.cause;
  }
  return all;
}

std::string refusal(const std::string& a, const std::string& b) {
  const auto found = compare_calls(asked(a), asked(b));
  EXPECT_FALSE(found) << a << "\n" << b;
  return found ? "" : message(found.error());
}

TEST(Calls, OneLayerInTwoFrameworksIsTheSame) {
  for (const auto& [a, b] : std::vector<std::pair<std::string, std::string>>{
           {"nn.Conv2d(3, 8, 3, padding=1)", "layers.Conv2D(8, 3, padding='same')"},
           {"nn.Conv2d(3, 8, (3, 5), (2, 1), padding=0)", "Conv2D(8, (3, 5), strides=(2, 1))"},
           {"nn.Conv1d(4, 4, 3, groups=4, padding='same')", "DepthwiseConv1D(3, padding='same')"},
           {"F.conv2d(x, w, stride=2)", "keras.layers.Conv2D(8, (4, 3), strides=2)"},
           {"tf.nn.conv2d(x, w, 2, 'SAME')", "Conv(kernel_shape=[3, 2], strides=[2, 2], auto_pad='SAME_UPPER')"},
           {"nn.MaxPool2d(3, 2, 1)", "MaxPool(kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])"},
           {"nn.AvgPool2d(3, 2, 1, count_include_pad=False)",
            "AveragePool(kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])"},
           {"nn.AvgPool2d(2)", "AveragePooling2D(2)"},
           {"nn.ConvTranspose2d(8, 3, 4, 2, 1)", "Conv2DTranspose(3, 4, strides=2, padding='same')"},
           {"F.relu(F.conv1d(x, w, padding=1))", "Conv1D(4, 3, padding='same', activation='relu')"},
           {"nn.Conv1d(3, 5, 3, dilation=2)", "Conv1D(5, 3, dilation_rate=2, padding='valid', activation='linear')"}}) {
    const CallsComparison found = compared(a, b);
    EXPECT_EQ(causes(found), "") << a << "\n" << b;
    for (const auto& axis : found.axes) EXPECT_EQ(axis.holds, "every size") << a << "\n" << b;
  }
}

TEST(Calls, WhereTheyPartIsCalledByItsName) {
  struct Pair {
    std::string a, b, causes;
  };
  for (const Pair& pair : std::vector<Pair>{
           {"nn.Conv2d(3, 8, 3, 2, 1)", "Conv2D(8, 3, 2, 'same')", "same_as_symmetric"},
           {"Conv2D(8, 5, strides=2, padding='same')", "nn.Conv2d(3, 8, 5, 2, 2)", "same_as_symmetric"},
           {"tf.nn.conv2d(x, w, 2, 'SAME')", "Conv(kernel_shape=[3, 3], strides=[2, 2], auto_pad='SAME_LOWER')",
            "odd_cell_on_the_other_side"},
           {"nn.Conv2d(3, 8, 3, padding=1)", "Conv2D(8, 3)", "pad_missing"},
           {"nn.Conv2d(3, 8, 3)", "Conv2D(8, 3, padding='same')", "pad_where_none"},
           {"nn.Conv2d(3, 8, (3, 5), padding=(1, 2))", "nn.Conv2d(3, 8, (3, 5), padding=(2, 1))", "pads_hw_swapped"},
           {"Conv2D(8, 3, padding='same', dilation_rate=4)", "nn.Conv2d(3, 8, 3, padding=1, dilation=4)",
            "pad_ignores_dilation"},
           {"Conv1D(8, 5, padding='causal')", "nn.Conv1d(3, 8, 5, padding=2)", "causal_as_symmetric"},
           {"nn.MaxPool2d(3, 2, ceil_mode=True)", "MaxPooling2D(3, 2)", "ceil_mode"},
           {"nn.Conv2d(3, 8, 3, padding=1, padding_mode='reflect')", "Conv2D(8, 3, padding='same')", "pad_mode"},
           {"nn.AvgPool2d(3, 1, 1)", "AveragePooling2D(3, 1, padding='same')", "pool_divisor"},
           {"nn.AvgPool2d(2, divisor_override=3)", "nn.AvgPool2d(2)", "pool_divisor"},
           {"nn.MaxPool1d(2)", "AveragePooling1D(2)", "pool_kind"},
           {"nn.Conv2d(3, 8, 3)", "Conv2DTranspose(8, 3)", "unknown"},
           {"nn.ConvTranspose1d(8, 3, 3, 2, 1, 1)", "Conv1DTranspose(3, 3, 2, 'same')", "transposed_shifted"},
           {"nn.ConvTranspose1d(8, 3, 3, 2, 1)", "Conv1DTranspose(3, 3, 2, 'same')", "transposed_output_size"},
           {"nn.Conv2d(3, 8, (3, 5), (1, 2))", "Conv2D(8, (5, 3), strides=(2, 1))",
            "kernel_hw_swapped strides_swapped"},
           {"nn.Conv2d(4, 8, 3, groups=2)", "nn.Conv2d(4, 6, 3)", "groups channels"},
           {"nn.Conv2d(4, 8, 3, dilation=2)", "nn.Conv2d(5, 8, 4, 2)", "kernel_size stride dilation channels"},
           {"nn.Conv2d(3, 8, 3, bias=False)", "Conv2D(8, 3)", "bias_extra"},
           {"Conv2D(8, 3, activation='relu')", "nn.Conv2d(3, 8, 3)", "activation_missing"},
           {"Conv2D(8, 3, activation='relu')", "F.silu(F.conv2d(x, w))", "activation_kind"},
           {"SeparableConv1D(8, 3)", "DepthwiseConv1D(3)", "layer_missing"},
           {"SeparableConv1D(8, 3)", "SeparableConv1D(6, 3)", "channels"}}) {
    EXPECT_EQ(causes(compared(pair.a, pair.b)), pair.causes) << pair.a << "\n" << pair.b;
  }
}

TEST(Calls, TheSizesAtWhichTheyAgreeAreSaid) {
  const CallsComparison any = compared("nn.Conv2d(3, 8, 3, (2, 3), 1)", "Conv2D(8, 3, strides=(2, 3), padding='same')");
  ASSERT_EQ(any.axes.size(), 2U);
  EXPECT_EQ(any.axes[0].holds, "odd sizes");
  EXPECT_EQ(any.axes[1].holds, "sizes n with n mod 3 = 1");
  const CallsComparison odd = compared("nn.Conv2d(3, 8, 3, 2, 1)", "Conv2D(8, 3, 2, 'same')", {Dim(33), Dim(17)});
  EXPECT_TRUE(odd.same());
  EXPECT_EQ(odd.axes[0].holds, "this size");
  EXPECT_FALSE(compared("nn.Conv2d(3, 8, 3, 2, 1)", "Conv2D(8, 3, 2, 'same')", {Dim(33), Dim(18)}).same());
}

// The lines are read as calls again: what is written for a in b's framework is the same as a. Lines of several steps are not
// one call, and are looked at elsewhere.
TEST(Calls, WhatIsWrittenForOneIsTheSameAsIt) {
  int read = 0;
  for (const auto& [a, b] : std::vector<std::pair<std::string, std::string>>{
           {"nn.Conv2d(3, 8, (3, 5), (1, 2))", "Conv2D(8, (5, 3), strides=(2, 1))"},
           {"nn.Conv2d(4, 8, 3, groups=2, padding=1, bias=False)", "Conv2D(8, 3)"},
           {"tf.nn.conv2d(x, w, 1, 'SAME')", "nn.Conv2d(3, 8, 5)"},
           {"nn.ConvTranspose1d(8, 3, 4, 2, 1)", "Conv1DTranspose(3, 4, 2)"},
           {"nn.MaxPool2d(2)", "AveragePooling2D(3)"}}) {
    const CallsComparison found = compared(a, b);
    EXPECT_FALSE(found.same());
    for (const auto& [line, like] : {std::pair{&found.b_like_a, &a}, {&found.a_like_b, &b}}) {
      ASSERT_FALSE(line->empty()) << a << "\n" << b;
      if (line->front().code.size() != 1) continue;
      std::string code = line->front().code.front();
      if (code.starts_with("x = ")) code.erase(0, 4);
      EXPECT_EQ(causes(compared(*like, code)), "") << *like << "\n" << code;
      ++read;
    }
  }
  EXPECT_GE(read, 8);
}

TEST(Calls, WhatCannotBeComparedIsSaid) {
  EXPECT_NE(refusal("nn.Conv1d(3, 8, 3)", "nn.Conv2d(3, 8, 3)").find("a's windows have 1 axes, b's 2"),
            std::string::npos);
  EXPECT_NE(refusal("F.conv2d(x, w)", "F.conv2d(x, w, padding=1)").find("--kernel"), std::string::npos);
  EXPECT_NE(refusal("nn.Conv2d(3, 8, 3)", "nn.Dropout(0.5)").find("b: "), std::string::npos);
}

}  // namespace
}  // namespace convoy::diagnose::calls_test
