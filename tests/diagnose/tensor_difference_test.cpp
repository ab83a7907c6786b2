// Which differences of two tensors are roundings of numbers that were computed twice.
#include "diagnose/tensor_difference.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace convoy::diagnose::tensor_difference_test {
namespace {

// Of 20 numbers of which some are changed: the first as given, four of 1e-5, the others a quarter.
bool is_rounding(float first, const std::vector<std::pair<std::size_t, float>>& changes) {
  std::vector<float> a(20, 0.25F);
  a[0] = first;
  for (std::size_t i = 1; i < 5; ++i) a[i] = 1e-5F;
  std::vector<float> b = a;
  for (const auto& [at, by] : changes) b[at] += by;
  return difference_of(Tensor::of({4, 5}, a), Tensor::of({4, 5}, b)).is_rounding();
}

TEST(TensorDifference, SomeNumbersOffByALastBitOfTheLargestAreSums) {
  EXPECT_TRUE(is_rounding(1, {{7, 0x1p-24F}, {9, -0x1p-23F}}));
  EXPECT_FALSE(is_rounding(1, {{7, 0x1p-24F}}));  // a single one was changed
  EXPECT_FALSE(is_rounding(1, {{7, 0x1p-24F}, {9, 0x1p-20F}}));
}

TEST(TensorDifference, SmallNumbersBesideALargeOneAreNoRoundingsOfIt) {
  EXPECT_FALSE(is_rounding(1000, {{1, 1e-5F}, {2, -2e-5F}}));
  EXPECT_FALSE(is_rounding(1, {{1, 1e-8F}, {2, 1e-8F}}));
}

}  // namespace
}  // namespace convoy::diagnose::tensor_difference_test
