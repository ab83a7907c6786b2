#include "prove/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace convoy::compare_test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// The rule for one number after the other.
Difference one_by_one(const std::vector<float>& got, const std::vector<double>& wanted, const std::vector<float>* error,
                      double limit) {
  Difference worst;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double here = static_cast<double>(got[i]);
    const double there = error ? wanted[i] : static_cast<double>(static_cast<float>(wanted[i]));
    double apart = std::abs(here - there);
    if (!std::isfinite(apart)) apart = (std::isnan(here) && std::isnan(there)) || here == there ? 0 : infinity;
    if (apart <= 0) continue;
    const double allowed = error ? static_cast<double>((*error)[i]) + 1e-37 : 0;
    constexpr double most = std::numeric_limits<float>::max();
    if (std::isinf(here) && std::signbit(here) == std::signbit(wanted[i]) && std::abs(wanted[i]) + allowed >= most)
      continue;
    worst.largest = std::max(worst.largest, apart);
    if (std::isinf(allowed)) continue;
    const double r = allowed > 0 ? limit * (apart / allowed) : infinity;
    if (r > worst.r) worst.r = r, worst.index = static_cast<Size>(i);
  }
  worst.same = !(worst.r > limit);
  return worst;
}

void expect_as_one_by_one(const std::vector<float>& got, const std::vector<double>& wanted,
                          const std::vector<float>& error, double limit) {
  const Sizes shape{static_cast<Size>(got.size())};
  for (const bool has_error : {true, false}) {
    const auto found =
        compare(Tensor::of(shape, got), Tensor::of(shape, wanted),
                has_error ? std::optional(Tensor::of(shape, error)) : std::nullopt, has_error ? limit : 0);
    const auto expected = one_by_one(got, wanted, has_error ? &error : nullptr, has_error ? limit : 0);
    EXPECT_EQ(found.largest, expected.largest);
    EXPECT_EQ(found.r, expected.r);
    EXPECT_EQ(found.index, expected.index);
    EXPECT_EQ(found.same, expected.same);
  }
}

TEST(Compare, FindsTheWorstOfManyNumbersAsItWouldOneByOne) {
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  for (const std::size_t count :
       {std::size_t{1}, std::size_t{63}, std::size_t{64}, std::size_t{65}, std::size_t{1021}}) {
    std::vector<double> wanted(count);
    std::vector<float> got(count), error(count);
    for (std::size_t i = 0; i < count; ++i) {
      wanted[i] = normal(random);
      got[i] = static_cast<float>(wanted[i] * (1 + 1e-7 * normal(random)));
      error[i] = static_cast<float>(1e-7 * (0.1 + std::abs(normal(random))));
    }
    expect_as_one_by_one(got, wanted, error, 24);
    for (const double odd : {infinity, -infinity, std::nan(""), 1e300, 0.0}) {
      auto in_one = wanted;
      in_one[count / 2] = odd;
      expect_as_one_by_one(got, in_one, error, 24);
      auto in_both = got;
      in_both[count / 2] = static_cast<float>(odd);
      expect_as_one_by_one(in_both, in_one, error, 24);
    }
    error[count / 2] = std::numeric_limits<float>::infinity();  // anything is allowed there
    got[count / 2] += 3;
    expect_as_one_by_one(got, wanted, error, 24);
  }
}

// No float32 holds the one, no float64 the other.
TEST(Compare, TellsWholeNumbersApartToTheLastDigit) {
  for (const std::int64_t number : {(std::int64_t{1} << 24) + 1, (std::int64_t{1} << 53) + 1}) {
    const Tensor own = Tensor::of({2}, std::vector<std::int64_t>{7, number}),
                 other = Tensor::of({2}, std::vector<std::int64_t>{7, number - 1});
    EXPECT_TRUE(compare(own, own, {}, 0).same);
    const Difference apart = compare(own, other, {}, 0);
    EXPECT_FALSE(apart.same) << number;
    EXPECT_EQ(apart.index, 1);
    EXPECT_EQ(apart.largest, 1);
  }
}

TEST(Compare, WhatIsBeyondFloat32IsInfiniteThere) {
  const auto is_same = [](float got, double wanted) {
    return compare(Tensor::of({1}, std::vector{got}), Tensor::of({1}, std::vector{wanted}),
                   Tensor::of({1}, std::vector{1e30F}), 4)
        .same;
  };
  const auto beyond = static_cast<float>(infinity);
  EXPECT_TRUE(is_same(beyond, 3.5e38));
  EXPECT_TRUE(is_same(-beyond, -1e300));
  EXPECT_TRUE(is_same(beyond, static_cast<double>(std::numeric_limits<float>::max())));  // the bound reaches beyond
  EXPECT_FALSE(is_same(beyond, 3e38));
  EXPECT_FALSE(is_same(beyond, -1e300));
  EXPECT_FALSE(is_same(std::nanf(""), 1e300));
}

}  // namespace
}  // namespace convoy::compare_test
