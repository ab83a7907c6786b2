// Numbers on steps beside the real ones: which factors and shifts bring them within half a step.
#include "diagnose/within_steps.h"

#include <gtest/gtest.h>

namespace convoy::within_steps_test {
namespace {

using diagnose::StepChannel;

TEST(WithinSteps, WhatWasRoundedIsWithinHalfAStep) {
  const StepChannel honest{{-1.04, 0.16, 0.43, 1.27}, {-1, 0.2, 0.4, 1.2}, 0.05, -12.8, 1.2};
  EXPECT_TRUE(factors_within(honest).holds(1));
  EXPECT_TRUE(shifts_within(honest).holds(0));
}

TEST(WithinSteps, AnotherScaleIsOneFactor) {
  const StepChannel twice{{-1.04, 0.16, 0.43, 1.27}, {-2, 0.4, 0.8, 2.4}, 0.1, -25.6, 2.4};
  EXPECT_FALSE(factors_within(twice).holds(1));
  EXPECT_EQ(simplest_in(factors_within(twice)), 2);
  EXPECT_TRUE(shifts_within(twice).is_empty());
}

TEST(WithinSteps, AnotherZeroPointIsOneShift) {
  const StepChannel moved{{-1.04, 0.16, 0.43, 1.27}, {-0.7, 0.5, 0.7, 1.5}, 0.05, -12.5, 1.5};
  EXPECT_TRUE(factors_within(moved).is_empty());
  EXPECT_TRUE(shifts_within(moved).holds(0.3));
  EXPECT_FALSE(shifts_within(moved).holds(0));
}

TEST(WithinSteps, OtherNumbersAreNeither) {
  const StepChannel other{{-1.04, 0.16, 0.43, 1.27}, {-0.7, 0.2, 1, 1.2}, 0.05, -12.8, 12.7};
  EXPECT_TRUE(factors_within(other).is_empty());
  EXPECT_TRUE(shifts_within(other).is_empty());
}

TEST(WithinSteps, TheSimplestNumberHasFewestDigits) {
  EXPECT_EQ(diagnose::simplest_in({1.996, 2.003}), 2);
  EXPECT_EQ(diagnose::simplest_in({1.097, 1.104}), 1.1);
  EXPECT_EQ(diagnose::simplest_in({0.4991, 0.5007}), 0.5);
}

}  // namespace
}  // namespace convoy::within_steps_test
