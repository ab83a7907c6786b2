// Truth, places and choices: comparisons, extremes' places, top-k, running sums, gathers and images read at computed
// places. Numbers of grids, remainders and top-k are those of PyTorch 2.13; the others are short enough to redo.
#include "run/one_node.h"

#include <cmath>
#include <limits>

namespace convoy::choosing_test {
namespace {

using test::counting;
using test::expect_numbers;
using test::numbers;
using test::ran;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// Whole results, the same from either precision.
void expect_whole(const Op& op, const std::vector<Tensor>& inputs, const Sizes& shape, const Sizes& wanted,
                  std::size_t output = 0) {
  for (const Precision precision : {Precision::Single, Precision::Double}) {
    const auto out = ran(op, inputs, precision);
    ASSERT_TRUE(out) << message(out.error());
    EXPECT_EQ((*out)[output].shape(), shape);
    EXPECT_EQ((*out)[output].dtype(), DType::I64);
    EXPECT_EQ((*out)[output].integers(), wanted);
  }
}

TEST(Truth, ComparisonsStretchAndAreFalseBesideNoNumber) {
  const Tensor a = numbers({2, 1}, {1, nan}), b = numbers({3}, {0, 1, 2});
  expect_whole(Binary{BinaryFunction::Less}, {a, b}, {2, 3}, {0, 0, 1, 0, 0, 0});
  expect_whole(Binary{BinaryFunction::LessOrEqual}, {a, b}, {2, 3}, {0, 1, 1, 0, 0, 0});
  expect_whole(Binary{BinaryFunction::Greater}, {a, b}, {2, 3}, {1, 0, 0, 0, 0, 0});
  expect_whole(Binary{BinaryFunction::GreaterOrEqual}, {a, b}, {2, 3}, {1, 1, 0, 0, 0, 0});
  expect_whole(Binary{BinaryFunction::Equal}, {a, b}, {2, 3}, {0, 1, 0, 0, 0, 0});
  expect_whole(Binary{BinaryFunction::NotEqual}, {a, b}, {2, 3}, {1, 0, 1, 1, 1, 1});
}

TEST(Truth, WhatIsNotZeroIsTrue) {
  const Tensor a = numbers({4}, {0, 0, -2, 0.5}), b = numbers({4}, {0, 3, 0, 1});
  expect_whole(Binary{BinaryFunction::And}, {a, b}, {4}, {0, 0, 0, 1});
  expect_whole(Binary{BinaryFunction::Or}, {a, b}, {4}, {0, 1, 1, 1});
  expect_whole(Binary{BinaryFunction::Xor}, {a, b}, {4}, {0, 1, 1, 0});
  expect_whole(Unary{Function::Not}, {a}, {4}, {1, 1, 0, 0});
  expect_whole(Cast{DType::Bool}, {a}, {4}, {0, 0, 1, 1});
}

TEST(Truth, ChoosesBetweenTwoAndLeavesNothingOfTheOther) {
  expect_numbers(Where{}, {numbers({2, 1}, {1, 0}), counting({3}), numbers({2, 1}, {nan, 9})}, {2, 3},
                 {1, 2, 3, 9, 9, 9});
}

TEST(Division, TakesTheSignOfEither) {
  const Tensor a = numbers({6}, {7, -7, 7, -7, 5.5, -0.5}), b = numbers({6}, {3, 3, -3, -3, 2, 2});
  expect_numbers(Binary{BinaryFunction::Modulo}, {a, b}, {6}, {1, 2, -2, -1, 1.5, 1.5});
  expect_numbers(Binary{BinaryFunction::Remainder}, {a, b}, {6}, {1, -1, 1, -1, 1.5, -0.5});
  expect_numbers(Binary{BinaryFunction::FloorDivide}, {a, b}, {6}, {2, -3, -3, 2, 2, -1});
  expect_numbers(Binary{BinaryFunction::TruncateDivide}, {a, b}, {6}, {2, -2, -2, 2, 2, 0});
}

TEST(Division, WholeNumbersStayWholeBeyondWhatFloat32Holds) {
  const Tensor a = Tensor::of({2}, Sizes{(Size{1} << 40) + 1, -7}), b = Tensor::of({}, Sizes{2});
  expect_whole(Binary{BinaryFunction::TruncateDivide}, {a, b}, {2}, {Size{1} << 39, -3});
  expect_whole(Binary{BinaryFunction::Add}, {a, b}, {2}, {(Size{1} << 40) + 3, -5});
  expect_whole(Unary{Function::Negate}, {a}, {2}, {-(Size{1} << 40) - 1, 7});
}

TEST(Extremes, TellWhereTheyLie) {
  const Tensor x = numbers({2, 4}, {3, 1, 3, 0, 2, 2, -1, 0.5});
  expect_whole(ArgExtreme{true, 1, false, false}, {x}, {2}, {0, 0});
  expect_whole(ArgExtreme{true, 1, true, true}, {x}, {2, 1}, {2, 1});
  expect_whole(ArgExtreme{false, 1, false, false}, {x}, {2}, {3, 2});
  expect_whole(ArgExtreme{true, 0, false, false}, {x}, {4}, {0, 1, 0, 1});
  expect_whole(ArgExtreme{true, 0, false, false}, {numbers({3}, {3, nan, 5})}, {}, {1});
}

TEST(Extremes, TheLargestFewComeInOrder) {
  const Tensor x = numbers({2, 4}, {3, 1, 7, 4, 2, 5, -1, 0.5});
  expect_numbers(TopK{1, 2, true}, {x}, {2, 2}, {7, 4, 5, 2});
  expect_whole(TopK{1, 2, true}, {x}, {2, 2}, {2, 3, 1, 0}, 1);
  expect_numbers(TopK{1, 3, false}, {x}, {2, 3}, {1, 3, 4, -1, 0.5, 2});
  expect_whole(TopK{1, 3, false}, {x}, {2, 3}, {1, 0, 3, 2, 3, 0}, 1);
  expect_whole(TopK{0, 1, true}, {numbers({3, 2}, {1, 9, 4, 9, 4, 0})}, {1, 2}, {1, 0}, 1);
  EXPECT_FALSE(ran(TopK{1, 5, true}, {x}));
}

TEST(Accumulate, RunsForwardsAndBackwards) {
  const Tensor x = counting({2, 3});
  expect_numbers(Accumulate{Reduction::Sum, 1, false, false}, {x}, {2, 3}, {1, 3, 6, 4, 9, 15});
  expect_numbers(Accumulate{Reduction::Sum, 1, true, false}, {x}, {2, 3}, {0, 1, 3, 0, 4, 9});
  expect_numbers(Accumulate{Reduction::Sum, 1, true, true}, {x}, {2, 3}, {5, 3, 0, 11, 6, 0});
  expect_numbers(Accumulate{Reduction::Sum, 0, false, true}, {x}, {2, 3}, {5, 7, 9, 4, 5, 6});
  expect_numbers(Accumulate{Reduction::Product, 1, false, false}, {x}, {2, 3}, {1, 2, 6, 4, 20, 120});
}

TEST(Gather, LooksUpRowsAndElements) {
  const Tensor x = counting({2, 3});
  expect_numbers(Gather{1}, {x, Tensor::of({1, 2}, Sizes{2, -3})}, {2, 1, 2}, {3, 1, 6, 4});
  expect_numbers(GatherElements{1}, {x, Tensor::of({2, 2}, Sizes{2, 0, 1, -2})}, {2, 2}, {3, 1, 5, 5});
  expect_numbers(GatherElements{0}, {x, Tensor::of({1, 2}, Sizes{1, 0})}, {1, 2}, {4, 2});
  const auto outside = ran(Gather{1}, {x, Tensor::of({1}, Sizes{3})});
  ASSERT_FALSE(outside);
  EXPECT_EQ(message(outside.error()), "index 3 lies outside an axis of size 3");
}

TEST(Gather, RepeatsAsOftenAsAnotherIsLong) {
  expect_numbers(ExpandLike{0, 1}, {counting({1, 2}), counting({1, 3})}, {3, 2}, {1, 2, 1, 2, 1, 2});
  EXPECT_FALSE(ran(ExpandLike{1, 0}, {counting({1, 2}), counting({4})}));
}

TEST(Slice, BeginsBehindAsManyCellsAsAnotherListHas) {
  expect_numbers(SliceBehind{}, {counting({5}), counting({2})}, {3}, {3, 4, 5});
  EXPECT_EQ(ran(SliceBehind{}, {counting({2}), counting({5})})->front().count(), 0);
  EXPECT_FALSE(ran(SliceBehind{}, {counting({5, 1}), counting({2})}));
}

TEST(GridSample, ReadsEveryBorderAsPyTorchDoes) {
  const Tensor x = numbers({1, 2, 2, 3}, {1, 5, 2, 7, 3, 4, 0, -2, 6, 8, 9, -1});
  const Tensor grid = numbers({1, 2, 3, 2}, {-1.2, -1, 0.1, 0.3, 0.9, 1.4, 0, 0, -0.5, 0.75, 2.3, -3.1});
  const std::vector<std::pair<GridSample, std::vector<double>>> cases{
      {{Interpolation::Linear, PadMode::Constant, false},
       {0.1, 3.43, 0.26, 4.0, 4.5, 0.0, 0.0, 5.839999, -0.065, 3.5, 6.1875, 0.0}},
      {{Interpolation::Linear, PadMode::Constant, true},
       {0.8, 3.66, 3.12, 4.0, 4.75, 0.0, 0.0, 4.78, 0.0, 3.5, 7.3125, 0.0}},
      {{Interpolation::Linear, PadMode::Edge, false},
       {1.0, 3.43, 4.0, 4.0, 6.0, 2.0, 0.0, 5.839999, -1.0, 3.5, 8.25, 6.0}},
      {{Interpolation::Linear, PadMode::Edge, true},
       {1.0, 3.66, 3.9, 4.0, 4.75, 2.0, 0.0, 4.78, 0.0, 3.5, 7.3125, 6.0}},
      {{Interpolation::Linear, PadMode::Reflect, false},
       {1.0, 3.43, 4.0, 4.0, 6.0, 4.799999, 0.0, 5.839999, -1.0, 3.5, 8.25, 8.55}},
      {{Interpolation::Linear, PadMode::Reflect, true},
       {1.8, 3.66, 3.58, 4.0, 4.75, 4.18, -0.4, 4.78, 1.04, 3.5, 7.3125, 8.195001}},
      {{Interpolation::Nearest, PadMode::Constant, false},
       {0.0, 3.0, 0.0, 5.0, 7.0, 0.0, 0.0, 9.0, 0.0, -2.0, 8.0, 0.0}},
      {{Interpolation::Nearest, PadMode::Constant, true},
       {1.0, 3.0, 4.0, 5.0, 7.0, 0.0, 0.0, 9.0, -1.0, -2.0, 8.0, 0.0}},
      {{Interpolation::Nearest, PadMode::Edge, false}, {1.0, 3.0, 4.0, 5.0, 7.0, 2.0, 0.0, 9.0, -1.0, -2.0, 8.0, 6.0}},
      {{Interpolation::Nearest, PadMode::Edge, true}, {1.0, 3.0, 4.0, 5.0, 7.0, 2.0, 0.0, 9.0, -1.0, -2.0, 8.0, 6.0}},
      {{Interpolation::Nearest, PadMode::Reflect, false},
       {1.0, 3.0, 4.0, 5.0, 7.0, 3.0, 0.0, 9.0, -1.0, -2.0, 8.0, 9.0}},
      {{Interpolation::Nearest, PadMode::Reflect, true},
       {1.0, 3.0, 4.0, 5.0, 7.0, 3.0, 0.0, 9.0, -1.0, -2.0, 8.0, 9.0}},
      {{Interpolation::Cubic, PadMode::Constant, false},
       {-0.077, 3.625292, 0.23989, 4.75, 5.750519, 0.0, -0.10125, 6.955855, -0.190636, 4.15625, 8.358398, 0.0}},
      {{Interpolation::Cubic, PadMode::Constant, true},
       {0.44, 4.197063, 3.573409, 4.75, 5.767792, 0.007462, 0.192, 5.84626, -0.761998, 4.15625, 9.653412, 0.022387}},
      {{Interpolation::Cubic, PadMode::Edge, false},
       {0.3235, 3.179116, 4.127402, 4.0, 6.485413, 2.0, -0.69525, 6.230002, -2.169785, 3.5, 9.560303, 6.0}},
      {{Interpolation::Cubic, PadMode::Edge, true},
       {0.616001, 3.557481, 4.046331, 4.0, 4.73645, 1.999999, 0.192, 5.009177, -0.701608, 3.5, 8.268494, 5.999998}},
      {{Interpolation::Cubic, PadMode::Reflect, false},
       {-0.785001, 3.179116, 4.351694, 4.0, 6.627686, 4.878738, -1.1925, 6.230002, -3.386056, 3.5, 9.887695,
        11.648252}},
      {{Interpolation::Cubic, PadMode::Reflect, true},
       {1.392001, 3.446161, 3.758209, 4.0, 5.179199, 4.193522, -0.351998, 5.472748, -0.094634, 3.5, 8.875122,
        9.689201}},
  };
  for (const auto& [op, wanted] : cases) expect_numbers(op, {x, grid}, {1, 2, 2, 3}, wanted, 2e-5);
}

TEST(GridSample, ReadsVolumesDepthLast) {
  const Tensor x = counting({1, 1, 2, 2, 3}), grid = numbers({1, 1, 1, 2, 3}, {0.5, -0.25, 0.1, -1.3, 0.9, 0.6});
  expect_numbers(GridSample{}, {x, grid}, {1, 1, 1, 1, 2}, {7.1, 0.27}, 1e-5);
  expect_numbers(GridSample{Interpolation::Nearest, PadMode::Edge, true}, {x, grid}, {1, 1, 1, 1, 2}, {9, 10});
}

}  // namespace
}  // namespace convoy::choosing_test
