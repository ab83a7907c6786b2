// PyTorch's functions as a C++ author calls them.
#include "convoy/torch.h"

#include <gtest/gtest.h>

namespace convoy {
namespace {

const std::vector<float> x{1, 10, 100, 1000}, w{1, 2, 3};

std::vector<float> conv(const torch::Conv& options) {
  auto y = torch::conv1d(View(std::span(x), {1, 1, 4}), View(std::span(w), {1, 1, 3}), nullptr, options);
  return y ? y->floats() : std::vector<float>{};
}

TEST(TorchFunctions, PaddingOneIsNotSameAtStrideTwo) {
  EXPECT_EQ(conv({.stride = 2, .padding = 1}), (std::vector<float>{32, 3210}));
  EXPECT_EQ(conv({.padding = "same"}), (std::vector<float>{32, 321, 3210, 2100}));
  EXPECT_EQ(conv({.padding = 1, .padding_mode = "circular"}), (std::vector<float>{1032, 321, 3210, 2103}));
}

TEST(TorchFunctions, SameWithAStrideIsRefused) {
  const auto y = torch::conv1d(View(std::span(x), {1, 1, 4}), View(std::span(w), {1, 1, 3}), nullptr,
                               {.stride = 2, .padding = "same"});
  ASSERT_FALSE(y);
  EXPECT_EQ(message(y.error()), "conv1d: padding 'same' needs stride 1 in PyTorch");
}

}  // namespace
}  // namespace convoy
