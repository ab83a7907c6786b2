// Resizing as each framework places its cells. Numbers from torch 2.13.0 and onnxruntime 1.30.0, or short arithmetic.
#include "run/one_node.h"

namespace convoy::resize_test {
namespace {

using test::counting;
using test::expect_numbers;
using test::numbers;
using test::ran;

// 0, 1, 2, ... along the last axis.
Tensor ramp(Size n) {
  std::vector<double> values;
  for (Size i = 0; i < n; ++i) values.push_back(static_cast<double>(i));
  return numbers({1, 1, n}, values);
}

void expect_ramp(const Resize& resize, Size n, const std::vector<double>& wanted, double tolerance = 1e-5) {
  expect_numbers(resize, {ramp(n)}, {1, 1, static_cast<Size>(wanted.size())}, wanted, tolerance);
}

Resize along_last(Size out, Interpolation interpolation = Interpolation::Nearest) {
  return {.axes = {2}, .sizes = {out}, .interpolation = interpolation};
}

TEST(Resize, HalvesGoWhereTheRoundingSays) {
  // Four cells into two: coordinates 0.5 and 2.5.
  const std::pair<Rounding, std::vector<double>> wanted[] = {
      {Rounding::Floor, {0, 2}}, {Rounding::RoundHalfUp, {1, 3}},  {Rounding::RoundHalfDown, {0, 2}},
      {Rounding::Ceil, {1, 3}},  {Rounding::CeilToShrink, {1, 3}},
  };
  for (const auto& [rounding, cells] : wanted) {
    Resize resize = along_last(2);
    resize.rounding = rounding;
    resize.arithmetic = Arithmetic::Divided;
    expect_ramp(resize, 4, cells, 0);
  }
  // The oldest ONNX rule: by 0.6 coordinates 0 and 5/3 are rounded up, by 1.5 they are cut.
  Resize old{.axes = {2}, .factors = {0.6}, .coordinates = Coordinates::Asymmetric, .rounding = Rounding::CeilToShrink};
  old.arithmetic = Arithmetic::Divided;
  expect_ramp(old, 4, {0, 2}, 0);
  old.factors = {1.5};
  expect_ramp(old, 4, {0, 0, 1, 2, 2, 3}, 0);
}

TEST(Resize, AProductAndAQuotientInFloat32TakeDifferentCells) {
  // 41 * float32(1 / 41) is below 1, 41 / 41 is not.
  Resize resize{.axes = {2}, .factors = {41}, .coordinates = Coordinates::Asymmetric};
  const auto product = ran(resize, {ramp(2)});
  resize.arithmetic = Arithmetic::Divided;
  const auto quotient = ran(resize, {ramp(2)});
  ASSERT_TRUE(product && quotient);
  EXPECT_EQ(product->front().doubles()[41], 0);
  EXPECT_EQ(quotient->front().doubles()[41], 1);
}

TEST(Resize, SomeLengthsOverrideTheFactor) {
  Resize linear{.axes = {2}, .factors = {1.25}, .interpolation = Interpolation::Linear};
  expect_ramp(linear, 3, {0, 0.7, 1.5});
  linear.fixed = FixedLengths::Equal;
  expect_ramp(linear, 3, {0, 1, 2}, 0);
  Resize nearest{.axes = {2}, .factors = {2.3}, .coordinates = Coordinates::Asymmetric};
  expect_ramp(nearest, 3, {0, 0, 0, 1, 1, 2}, 0);
  nearest.fixed = FixedLengths::EqualAndDouble;
  expect_ramp(nearest, 3, {0, 0, 1, 1, 2, 2}, 0);
}

TEST(Resize, ALengthMayBeGivenBesideTheFactor) {
  Resize both{.axes = {2}, .sizes = {3}, .factors = {2}, .interpolation = Interpolation::Linear};
  both.coordinates = Coordinates::Asymmetric;
  expect_ramp(both, 4, {0, 0.5, 1});
}

TEST(Resize, OneCellOutStandsWhereItsRuleSays) {
  Resize one = along_last(1, Interpolation::Linear);
  expect_ramp(one, 5, {2});
  one.coordinates = Coordinates::PytorchHalfPixel;
  expect_ramp(one, 5, {0});
  one.coordinates = Coordinates::AlignCorners;
  expect_ramp(one, 5, {0});
  one.coordinates = Coordinates::CropAndResize, one.starts = {0.25}, one.ends = {0.75};
  expect_ramp(one, 5, {2});
}

TEST(Resize, HalfPixelSymmetricStretchesAboutTheMiddle) {
  // Four cells by 0.8: three come out instead of 3.2, so the grid moves by 4/2 * (1 - 3/3.2) = 0.125.
  Resize resize{.axes = {2},
                .factors = {0.8},
                .interpolation = Interpolation::Linear,
                .coordinates = Coordinates::HalfPixelSymmetric};
  expect_ramp(resize, 4, {0.25, 1.5, 2.75});
}

TEST(Resize, ACropGivesItsValueOutside) {
  Resize crop = along_last(3, Interpolation::Linear);
  crop.coordinates = Coordinates::CropAndResize, crop.starts = {0.5}, crop.ends = {1.25}, crop.outside_value = 7;
  expect_ramp(crop, 5, {2, 3.5, 7});
  // On two axes, wherever either coordinate is outside.
  Resize both{.axes = {0, 1},
              .sizes = {2, 3},
              .coordinates = Coordinates::CropAndResize,
              .starts = {0, -0.5},
              .ends = {1, 0.5},
              .outside_value = 9};
  expect_numbers(both, {numbers({2, 3}, {1, 2, 3, 4, 5, 6})}, {2, 3}, {9, 1, 2, 9, 4, 5});
  both.starts = {};
  EXPECT_FALSE(ran(both, {counting({2, 3})}));
}

TEST(Resize, AnyAxesAreResizedEachByItsOwn) {
  Resize resize{.axes = {0, 2}, .sizes = {1, 4}, .interpolation = Interpolation::Linear};
  resize.coordinates = Coordinates::AlignCorners;
  expect_numbers(resize, {counting({2, 1, 2})}, {1, 1, 4}, {1, 4 / 3., 5 / 3., 2}, 1e-6);
  resize.axes = {2, 0};
  EXPECT_FALSE(ran(resize, {counting({2, 1, 2})}));
}

TEST(Resize, AWideKernelRepeatsTheBorderOrDropsWhatLiesBehind) {
  Resize resize = along_last(2, Interpolation::Linear);
  resize.antialias = true;
  expect_ramp(resize, 8, {1.65625, 5.34375});
  resize.drops_outside = true;
  expect_ramp(resize, 8, {1.89286, 5.10714});
  resize.sizes = {3}, resize.interpolation = Interpolation::Cubic, resize.cubic_a = -0.5;
  expect_ramp(resize, 8, {.89647, 3.5, 6.10353});
  resize.drops_outside = false, resize.cubic_a = -0.75;
  expect_ramp(resize, 8, {.78806, 3.5, 6.21194});
}

TEST(Resize, AlignedCornersSetTheStepsOfAWideKernel) {
  Resize resize = along_last(3, Interpolation::Linear);
  resize.coordinates = Coordinates::CornerSteps, resize.antialias = resize.drops_outside = true;
  expect_ramp(resize, 7, {1.25, 4, 17 / 3.});
  resize.antialias = false;
  EXPECT_FALSE(ran(resize, {ramp(7)}));
}

}  // namespace
}  // namespace convoy::resize_test
