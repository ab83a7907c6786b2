// Functions of one number against values computed with numpy and scipy in float64.
#include "run/one_node.h"

#include <cmath>
#include <limits>
#include <utility>

namespace convoy::activation_test {
namespace {

using test::expect_numbers;
using test::numbers;
using test::ran;

const Tensor x7 = numbers({7}, {-4, -1.5, -0.25, 0, 0.5, 2, 5});

// The first of equal numbers along the middle one of three axes.
TEST(Activation, AHardmaxMarksTheFirstOfTheLargest) {
  const Tensor x = numbers({2, 3, 2}, {1, -5, 3, -5, 3, -7, 0, 4, -1, 4, 2, 9});
  expect_numbers(Hardmax{1}, {x}, {2, 3, 2}, {0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1}, 0);
}

TEST(Activation, EveryFunctionGivesItsFormula) {
  const std::vector<std::pair<Op, std::vector<double>>> rows{
      {Unary{Function::Sigmoid}, {0.01798621, 0.182425524, 0.437823499, 0.5, 0.622459331, 0.880797078, 0.993307149}},
      {Unary{Function::Softplus},
       {0.018149928, 0.201413278, 0.57593942, 0.693147181, 0.974076984, 2.126928011, 5.006715348}},
      {Unary{Function::Softsign}, {-0.8, -0.6, -0.2, 0, 0.333333333, 0.666666667, 0.833333333}},
      {Unary{Function::Silu}, {-0.07194484, -0.273638286, -0.109455875, 0, 0.311229666, 1.761594156, 4.966535745}},
      {Unary{Function::Gelu}, {-0.000126685, -0.100210802, -0.100323419, 0, 0.345731231, 1.954499736, 4.999998567}},
      {Unary{Function::GeluTanh}, {-0.000070246, -0.100428423, -0.100324649, 0, 0.34571401, 1.954597694, 4.999999771}},
      {Unary{Function::Selu}, {-1.725898628, -1.365814353, -0.388890197, 0, 0.525350494, 2.101401975, 5.253504937}},
      {Unary{Function::Mish}, {-0.072591741, -0.298099742, -0.129926964, 0, 0.375245211, 1.94395896, 4.999552078}},
      {Unary{Function::LogSigmoid},
       {-4.018149928, -1.701413278, -0.82593942, -0.693147181, -0.474076984, -0.126928011, -0.006715348}},
      {Unary{Function::HardSwish}, {0, -0.375, -0.114583333, 0, 0.291666667, 1.666666667, 5}},
      {Unary{Function::TanhShrink}, {-3.0006707, -0.594851746, -0.005081338, 0, 0.037882843, 1.03597242, 4.000090796}},
      {Unary{Function::SparsePlus}, {0, 0, 0.140625, 0.25, 0.5625, 2, 5}},
      {Unary{Function::SparseSigmoid}, {0, 0, 0.375, 0.5, 0.75, 1, 1}},
      {Unary{Function::Round}, {-4, -2, 0, 0, 0, 2, 5}},
      {Squareplus{}, {0.236067977, 0.5, 0.882782219, 1, 1.280776406, 2.414213562, 5.192582404}},
      {Celu{1.5}, {-1.395774823, -0.948180838, -0.230277413, 0, 0.5, 2, 5}},
      {HardSigmoid{}, {0, 0.25, 0.458333333, 0.5, 0.583333333, 0.833333333, 1}},
      {HardSigmoid{0.2, 0.5}, {0, 0.2, 0.45, 0.5, 0.6, 0.9, 1}},
      {Relu{.max_value = 4, .negative_slope = 0.5, .threshold = 1}, {-2.5, -1.25, -0.625, -0.5, -0.25, 2, 4}},
      {Relu{.threshold = 2, .strict = true}, {0, 0, 0, 0, 0, 0, 5}},
      {Relu{.threshold = 2}, {0, 0, 0, 0, 0, 2, 5}},
      {Clip{-1, 3}, {-1, -1, -0.25, 0, 0.5, 2, 3}},
      {Shrink{.lambda = 1}, {-4, -1.5, 0, 0, 0, 2, 5}},
      {Shrink{.lambda = 1, .soft = true}, {-3, -0.5, 0, 0, 0, 1, 4}},
      {Affine{2, 1}, {-7, -2, 0.5, 1, 2, 5, 11}},
  };
  for (const auto& [op, wanted] : rows) expect_numbers(op, {x7}, {7}, wanted, 2e-6);
}

TEST(Activation, ANanStaysANan) {
  const Tensor nan = numbers({1}, {std::numeric_limits<double>::quiet_NaN()});
  for (const Op& op : {Op(Relu{}), Op(Relu{.max_value = 6}), Op(Relu{.negative_slope = 0.1}), Op(Clip{0, 6}),
                       Op(HardSigmoid{}), Op(Shrink{}), Op(Celu{}), Op(Elu{}), Op(Unary{Function::Softplus}),
                       Op(Unary{Function::Sign}), Op(Unary{Function::SparsePlus}), Op(Softmax{.axes = {0}})}) {
    const auto out = ran(op, {nan});
    ASSERT_TRUE(out);
    EXPECT_TRUE(out->front().doubles()[0] != out->front().doubles()[0]) << name_of(op);
  }
}

TEST(Softmax, TakesSeveralAxesAsOne) {
  // exp(log(n)) is n: the shares are those of 1 2 3 | 4 5 6 over the first and the last axis.
  std::vector<double> logs;
  for (int i = 1; i <= 12; ++i) logs.push_back(std::log(i));
  const Tensor x = numbers({2, 2, 3}, logs);
  // Axis 1 is kept: 1 2 3 7 8 9 are 30, 4 5 6 10 11 12 are 48.
  expect_numbers(
      Softmax{.axes = {0, 2}}, {x}, {2, 2, 3},
      {1 / 30., 2 / 30., 3 / 30., 4 / 48., 5 / 48., 6 / 48., 7 / 30., 8 / 30., 9 / 30., 10 / 48., 11 / 48., 12 / 48.},
      1e-7);
  expect_numbers(Softmax{.axes = {0}, .logarithm = true}, {numbers({2}, {1000, 1000})}, {2},
                 {-0.693147181, -0.693147181}, 1e-7);
}

TEST(Glu, TheSecondHalfIsTheGate) {
  expect_numbers(Glu{.axis = 1}, {numbers({1, 4, 1}, {2, 6, 0, 0})}, {1, 2, 1}, {1, 3});
  EXPECT_EQ(ran(Glu{.axis = 1}, {numbers({1, 3}, {2, 6, 0})}).error().fault, Fault::Unsupported);
}

TEST(PRelu, TheSlopeStretchesOverTheAxesBehindTheBatch) {
  const Tensor x = numbers({1, 2, 3}, {-1, 2, -3, -4, 5, -6});
  expect_numbers(PRelu{}, {x, numbers({2, 1}, {2, 10})}, {1, 2, 3}, {-2, 2, -6, -40, 5, -60});
  expect_numbers(PRelu{}, {x, numbers({1, 3}, {2, 10, 3})}, {1, 2, 3}, {-2, 2, -9, -8, 5, -18});
  EXPECT_FALSE(ran(PRelu{}, {x, numbers({3}, {2, 10, 3})}));
}

TEST(Activation, SoftplusBendsByBetaAndIsStraightAboveItsThreshold) {
  const Tensor x = test::numbers({3}, {0, 0.25, 1});
  const double zero = std::log(2.0) / 2, quarter = std::log1p(std::exp(0.5)) / 2, one = std::log1p(std::exp(2.0)) / 2;
  test::expect_numbers(Softplus{.beta = 2}, {x}, {3}, {zero, quarter, one}, 1e-6);
  test::expect_numbers(Softplus{.beta = 2, .threshold = 1}, {x}, {3}, {zero, quarter, 1}, 1e-6);
  EXPECT_FALSE(test::ran(Softplus{.beta = 0}, {x}));
}

TEST(Activation, AThresholdIsNotPassedByItself) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto y = test::ran(Threshold{.threshold = 2, .value = -7}, {test::numbers({4}, {1, 2, 3, nan})});
  ASSERT_TRUE(y);
  const auto values = y->front().doubles();
  EXPECT_EQ((std::vector<double>{values[0], values[1], values[2]}), (std::vector<double>{-7, -7, 3}));
  EXPECT_TRUE(std::isnan(values[3]));
}

}  // namespace
}  // namespace convoy::activation_test
