// Pools, pads, norms, products, resizes and what moves numbers, each on numbers small enough to redo by hand.
#include "run/one_node.h"

#include <cmath>
#include <limits>

namespace convoy::families_test {
namespace {

using test::counting;
using test::expect_numbers;
using test::numbers;
using test::ran;

const Axes first1{Order::ChannelsFirst, 1}, first2{Order::ChannelsFirst, 2}, last2{Order::ChannelsLast, 2};
const Tensor x4 = numbers({1, 1, 4}, {1, 10, 100, 1000});

TEST(Pool, APadIsWorthMinusInfinityAndIsNotCounted) {
  const std::vector<Padding> same{{Spelling::SameUpper}};
  expect_numbers(AveragePool{.axes = first1, .windows = {{3, 2, 1}}, .paddings = same}, {x4}, {1, 1, 2}, {37, 550});
  expect_numbers(MaxPool{.axes = first1, .windows = {{3, 2, 1}}, .paddings = same},
                 {numbers({1, 1, 4}, {-1, -10, -100, -1000})}, {1, 1, 2}, {-1, -100});
  const std::vector<Padding> both{{Spelling::Explicit, 1, 1}};
  expect_numbers(MaxPool{.axes = first1, .windows = {{2, 1, 2}}, .paddings = both}, {counting({1, 1, 5})}, {1, 1, 5},
                 {2, 3, 4, 5, 4});
  expect_numbers(AveragePool{.axes = first1, .windows = {{2, 1, 2}}, .paddings = both}, {counting({1, 1, 5})},
                 {1, 1, 5}, {2, 2, 3, 4, 4});
}

TEST(Pool, ACeilOverhangIsNeverCounted) {
  const Padding ceil{Spelling::Explicit, 1, 1, Leftover::CeilInside};
  AveragePool pool{.axes = first2, .windows = {{3, 2, 1}, {3, 2, 1}}, .paddings = {ceil, ceil}, .counts_padding = true};
  const Tensor x = counting({1, 1, 4, 4});
  expect_numbers(pool, {x}, {1, 1, 3, 3}, {14 / 9., 30 / 9., 12 / 6., 57 / 9., 11, 6, 4.5, 7.5, 4}, 1e-6);
  pool.counts_padding = false;
  expect_numbers(pool, {x}, {1, 1, 3, 3}, {3.5, 5, 6, 9.5, 11, 12, 13.5, 15, 16}, 1e-6);
  pool.divisor = 2;
  expect_numbers(pool, {x}, {1, 1, 3, 3}, {7, 15, 6, 28.5, 49.5, 18, 13.5, 22.5, 8}, 1e-5);
}

TEST(Pool, ACeilWindowReadsAnInputShorterThanItself) {
  const Padding ceil{Spelling::Explicit, 0, 0, Leftover::CeilInside};
  expect_numbers(AveragePool{.axes = first1, .windows = {{4, 4, 1}}, .paddings = {ceil}, .counts_padding = true},
                 {counting({1, 1, 3})}, {1, 1, 1}, {2});
  EXPECT_FALSE(ran(MaxPool{.axes = first1, .windows = {{7, 4, 1}}, .paddings = {ceil}}, {counting({1, 1, 3})}));
}

TEST(Pool, AnInputOneStrideTooShortGivesAnEmptyTensor) {
  expect_numbers(MaxPool{.axes = first1, .windows = {{4, 1, 1}}, .paddings = {{}}}, {counting({1, 2, 3})}, {1, 2, 0},
                 {});
  EXPECT_FALSE(ran(MaxPool{.axes = first1, .windows = {{5, 1, 1}}, .paddings = {{}}}, {counting({1, 2, 3})}));
}

TEST(Pool, ANanWins) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto out =
      ran(MaxPool{.axes = first1, .windows = {{2, 1, 1}}, .paddings = {{}}}, {numbers({1, 1, 4}, {1, nan, 3, 4})});
  ASSERT_TRUE(out);
  EXPECT_TRUE(std::isnan(out->front().doubles()[0]) && std::isnan(out->front().doubles()[1]));
  EXPECT_EQ(out->front().doubles()[2], 4);
}

TEST(Pool, ChannelsLastPoolsEachChannelAlone) {
  // Two channels, the second one hundred times the first.
  const Tensor x = numbers({1, 2, 3, 2}, {1, 100, 2, 200, 3, 300, 4, 400, 5, 500, 6, 600});
  expect_numbers(MaxPool{.axes = last2, .windows = {{2, 1, 1}, {1, 2, 1}}, .paddings = {{}, {}}}, {x}, {1, 1, 2, 2},
                 {4, 400, 6, 600});
}

TEST(Pool, AnAdaptiveWindowMayShareCells) {
  expect_numbers(AdaptivePool{.axes = first1, .out = {3}}, {numbers({1, 1, 5}, {0, 1, 2, 3, 4})}, {1, 1, 3},
                 {0.5, 2, 3.5});
  expect_numbers(AdaptivePool{.axes = first1, .kind = Extreme::Maximum, .out = {5}}, {counting({1, 1, 2})}, {1, 1, 5},
                 {1, 1, 2, 2, 2});
}

TEST(Pad, EveryModeTakesItsCells) {
  const Tensor x = counting({3});
  expect_numbers(Pad{{2}, {2}, PadMode::Reflect}, {x}, {7}, {3, 2, 1, 2, 3, 2, 1});
  expect_numbers(Pad{{3}, {3}, PadMode::Symmetric}, {x}, {9}, {3, 2, 1, 1, 2, 3, 3, 2, 1});
  expect_numbers(Pad{{2}, {2}, PadMode::Edge}, {x}, {7}, {1, 1, 1, 2, 3, 3, 3});
  expect_numbers(Pad{{2}, {2}, PadMode::Wrap}, {x}, {7}, {2, 3, 1, 2, 3, 1, 2});
  expect_numbers(Pad{{1}, {2}, PadMode::Constant, 9}, {x}, {6}, {9, 1, 2, 3, 9, 9});
  expect_numbers(Pad{{-1}, {1}}, {x}, {3}, {2, 3, 0});
  expect_numbers(Pad{{-1}, {3}, PadMode::Wrap}, {counting({4})}, {6}, {2, 3, 4, 2, 3, 4});
  expect_numbers(Pad{{2}, {-1}, PadMode::Edge}, {x}, {4}, {1, 1, 1, 2});
  expect_numbers(Pad{{-1}, {1}, PadMode::Reflect}, {x}, {3}, {2, 3, 2});
  expect_numbers(Pad{{1, 0}, {0, 2}, PadMode::Reflect}, {numbers({2, 3}, {1, 2, 3, 4, 5, 6})}, {3, 5},
                 {4, 5, 6, 5, 4, 1, 2, 3, 2, 1, 4, 5, 6, 5, 4});
}

TEST(Pad, WhatIsCutOffIsSeenByTheModeOrNot) {
  const Tensor x = counting({4});
  expect_numbers(Pad{{-1}, {2}, PadMode::Reflect}, {x}, {5}, {2, 3, 4, 3, 2});
  expect_numbers(Pad{{-1}, {3}, PadMode::Reflect, 0, Cutting::Last}, {x}, {6}, {2, 3, 4, 3, 2, 1});
  EXPECT_FALSE(ran(Pad{{-1}, {3}, PadMode::Reflect}, {x}));
  expect_numbers(Pad{{2}, {-4}, PadMode::Edge, 0, Cutting::Last}, {x}, {2}, {1, 1});
  EXPECT_FALSE(ran(Pad{{2}, {-4}, PadMode::Edge}, {x}));
  expect_numbers(Pad{.before = {0}, .after = {-4}, .may_be_empty = true}, {x}, {0}, {});
  EXPECT_FALSE(ran(Pad{{0}, {-4}}, {x}));
}

TEST(Pad, RepeatsAsOftenAsItTakes) {
  const Tensor x = counting({3});
  const auto often = [](PadMode mode) { return Pad{{5}, {4}, mode, 0, Cutting::First, true}; };
  expect_numbers(often(PadMode::Reflect), {x}, {12}, {2, 1, 2, 3, 2, 1, 2, 3, 2, 1, 2, 3});
  expect_numbers(often(PadMode::Symmetric), {x}, {12}, {2, 3, 3, 2, 1, 1, 2, 3, 3, 2, 1, 1});
  expect_numbers(often(PadMode::Wrap), {x}, {12}, {2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1});
  expect_numbers(Pad{{2}, {1}, PadMode::Reflect, 0, Cutting::First, true}, {counting({1})}, {4}, {1, 1, 1, 1});
  EXPECT_FALSE(ran(Pad{{5}, {4}, PadMode::Wrap}, {x}));
}

TEST(Pad, TheCellsOfAWindowAreComputedFromTheSize) {
  const PadToWindow pad{.axes = {1}, .windows = {{3, 2, 1}}, .paddings = {{Spelling::SameUpper}}, .value = 7};
  expect_numbers(pad, {counting({1, 4})}, {1, 5}, {1, 2, 3, 4, 7});
  expect_numbers(pad, {counting({1, 5})}, {1, 7}, {7, 1, 2, 3, 4, 5, 7});
}

TEST(Norm, BatchNormGoesAlongItsAxisAndMayLackParameters) {
  const Tensor x = counting({1, 2, 3}), mean = numbers({2}, {1, 4}), variance = numbers({2}, {3, 0});
  const Node node{.op = BatchNorm{.axis = 1, .epsilon = 1}};
  const Tensor beta = numbers({2}, {10, 20});
  const auto out = run_node(node, {&x, nullptr, &beta, &mean, &variance}, Precision::Single);
  ASSERT_TRUE(out) << message(out.error());
  EXPECT_EQ(out->front().doubles(), (std::vector<double>{10, 10.5, 11, 20, 21, 22}));
  EXPECT_FALSE(run_node(node, {&x, nullptr, &beta, nullptr, &variance}, Precision::Single));
}

TEST(Norm, LayerNormTakesParametersInTheShapeOfItsAxes) {
  const Tensor x = numbers({2, 2, 2}, {1, 3, 1, 3, 2, 2, 6, 6});
  expect_numbers(LayerNorm{.axes = {1, 2}, .epsilon = 0},
                 {x, numbers({2, 2}, {1, 2, 3, 4}), numbers({2, 2}, {0, 0, 0, 1})}, {2, 2, 2},
                 {-1, 2, -3, 5, -1, -2, 3, 5}, 1e-6);
  expect_numbers(LayerNorm{.axes = {2}, .epsilon = 0, .keras_rms_scaling = true}, {numbers({1, 1, 2}, {1, 3})},
                 {1, 1, 2}, {1, 3}, 1e-6);
}

TEST(Norm, NeighboursAlongAnAxisDivide) {
  // 1 / (1 + 1), 2 / (1 + 1 + 4), 3 / (1 + 4 + 9): one cell before, none behind.
  const LocalResponseNorm norm{.axis = 1, .before = 1, .after = 0, .alpha = 1, .beta = 1, .bias = 1};
  expect_numbers(norm, {numbers({1, 3, 2}, {1, 10, 2, 0, 3, 0})}, {1, 3, 2}, {.5, 10 / 101., 1 / 3., 0, 3 / 14., 0},
                 1e-6);
  const LocalResponseNorm behind{.axis = 2, .before = 0, .after = 5, .alpha = 0.5, .beta = 0.5, .bias = 2};
  expect_numbers(behind, {numbers({1, 1, 2}, {2, 2})}, {1, 1, 2}, {2 / std::sqrt(6.), 1}, 1e-6);
  EXPECT_FALSE(ran(LocalResponseNorm{.axis = 1, .before = -1}, {counting({1, 3})}));
}

TEST(Norm, ALengthIsOfAnyPowerAndNeverBelowEpsilon) {
  const Tensor x = numbers({2, 2}, {3, -4, 0, 0});
  expect_numbers(LengthNorm{.axes = {1}}, {x}, {2, 2}, {.6, -.8, 0, 0}, 1e-6);
  expect_numbers(LengthNorm{.axes = {1}, .p = 1}, {x}, {2, 2}, {3 / 7., -4 / 7., 0, 0}, 1e-6);
  expect_numbers(LengthNorm{.axes = {1}, .p = std::numeric_limits<double>::infinity()}, {x}, {2, 2}, {.75, -1, 0, 0},
                 1e-6);
  expect_numbers(LengthNorm{.axes = {0}, .epsilon = 8}, {x}, {2, 2}, {.375, -.5, 0, 0}, 1e-6);
}

TEST(Norm, AGroupIsNeighbouringChannels) {
  // Groups {1, 3} and {5, 9}, two cells each holding the same number.
  const Tensor first = numbers({1, 4, 2}, {1, 1, 3, 3, 5, 5, 9, 9}),
               last = numbers({1, 2, 4}, {1, 3, 5, 9, 1, 3, 5, 9});
  const Tensor gamma = numbers({4}, {1, 2, 3, 4});
  expect_numbers(GroupNorm{.axis = 1, .groups = 2, .epsilon = 0}, {first, gamma}, {1, 4, 2},
                 {-1, -1, 2, 2, -3, -3, 4, 4}, 1e-6);
  expect_numbers(GroupNorm{.axis = 2, .groups = 2, .epsilon = 0}, {last, gamma}, {1, 2, 4},
                 {-1, 2, -3, 4, -1, 2, -3, 4}, 1e-6);
}

TEST(Norm, RmsAndUnitNormDivideByTheirLength) {
  expect_numbers(UnitNorm{.axes = {1}}, {numbers({2, 2}, {3, 4, 0, 0})}, {2, 2}, {0.6, 0.8, 0, 0}, 1e-6);
  expect_numbers(RmsNorm{.axes = {1}, .epsilon = 0}, {numbers({1, 2}, {1, 7}), numbers({2}, {5, 10})}, {1, 2}, {1, 14},
                 1e-6);
}

TEST(Linear, BothOrdersOfTheKernelGiveTheSame) {
  const Tensor x = counting({2, 3});
  expect_numbers(Linear{LinearOrder::InOut}, {x, counting({3, 2}), numbers({2}, {100, 200})}, {2, 2},
                 {122, 228, 149, 264});
  expect_numbers(Linear{LinearOrder::OutIn}, {x, numbers({2, 3}, {1, 3, 5, 2, 4, 6})}, {2, 2}, {22, 28, 49, 64});
}

TEST(MatMul, LeadingAxesStretch) {
  expect_numbers(MatMul{}, {counting({2, 1, 1, 2}), counting({3, 2, 1})}, {2, 3, 1, 1}, {5, 11, 17, 11, 25, 39});
}

TEST(Einsum, SumsTheLettersThatTheResultLacks) {
  const Tensor a = counting({2, 3}), b = counting({3, 2});
  expect_numbers(Einsum{"ab,bc->ac"}, {a, b}, {2, 2}, {22, 28, 49, 64});
  expect_numbers(Einsum{"ab,bc->ca"}, {a, b}, {2, 2}, {22, 49, 28, 64});
  expect_numbers(Einsum{"ab,c->bac"}, {a, numbers({1}, {2})}, {3, 2, 1}, {2, 8, 4, 10, 6, 12});
  EXPECT_FALSE(ran(Einsum{"ab,bc->ad"}, {a, b}));
  EXPECT_FALSE(ran(Einsum{"aa,bc->ac"}, {a, b}));
}

TEST(Embedding, ANumberOutsideTheTableIsAnError) {
  const Tensor table = counting({3, 2});
  const auto row = ran(Embedding{}, {Tensor::of({2}, std::vector<std::int64_t>{2, 0}), table});
  ASSERT_TRUE(row);
  EXPECT_EQ(row->front().doubles(), (std::vector<double>{5, 6, 1, 2}));
  const auto out = ran(Embedding{}, {Tensor::of({1}, std::vector<std::int64_t>{3}), table});
  ASSERT_FALSE(out);
  EXPECT_EQ(message(out.error()), "index 3 lies outside a table of 3 rows");
}

TEST(Elementwise, SizesOfOneStretchAndRanksAlignAtTheEnd) {
  expect_numbers(Binary{BinaryFunction::Subtract}, {numbers({2, 1}, {10, 20}), numbers({3}, {1, 2, 3})}, {2, 3},
                 {9, 8, 7, 19, 18, 17});
  expect_numbers(Binary{BinaryFunction::Power}, {numbers({}, {2}), numbers({2}, {3, 4})}, {2}, {8, 16});
  EXPECT_FALSE(ran(Binary{}, {counting({2}), counting({3})}));
}

// torch.tensor([-1.7, 2.9, nan, 3e9]).int() on x86, as TensorFlow and ONNX Runtime have it there.
TEST(Elementwise, ACastToWholeNumbersRoundsTowardZero) {
  constexpr std::int64_t lowest = std::numeric_limits<std::int32_t>::min();
  const auto out = ran(Cast{DType::I32}, {numbers({4}, {-1.7, 2.9, std::numeric_limits<double>::quiet_NaN(), 3e9})});
  ASSERT_TRUE(out);
  EXPECT_EQ(out->front().integers(), (std::vector<std::int64_t>{-1, 2, lowest, lowest}));
}

TEST(Reduce, KeepsOrDropsItsAxes) {
  const Tensor x = counting({2, 3, 2});
  expect_numbers(Reduce{Reduction::Mean, {0, 2}}, {x}, {3}, {4.5, 6.5, 8.5});
  expect_numbers(Reduce{Reduction::Maximum, {1}, true}, {x}, {2, 1, 2}, {5, 6, 11, 12});
  expect_numbers(Reduce{Reduction::Product, {2}}, {x}, {2, 3}, {2, 12, 30, 56, 90, 132});
}

TEST(Reshape, MovesAndSplitsAxes) {
  const Tensor x = counting({2, 3, 2});
  expect_numbers(Transpose{{2, 0, 1}}, {x}, {2, 2, 3}, {1, 3, 5, 7, 9, 11, 2, 4, 6, 8, 10, 12});
  EXPECT_EQ(ran(Reshape{{0, -1}}, {x})->front().shape(), (Sizes{2, 6}));
  EXPECT_EQ(ran(Unsqueeze{{0, 3}}, {x})->front().shape(), (Sizes{1, 2, 3, 1, 2}));
  EXPECT_FALSE(ran(Squeeze{{1}}, {x}));
}

TEST(DepthToSpace, TheTwoOrdersOfChannelsDiffer) {
  const Tensor x = numbers({1, 8, 1, 1}, {0, 1, 2, 3, 4, 5, 6, 7});
  expect_numbers(DepthToSpace{}, {x}, {1, 2, 2, 2}, {0, 2, 4, 6, 1, 3, 5, 7});
  expect_numbers(DepthToSpace{.depth_first = false}, {x}, {1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
}

TEST(DepthToSpace, SpaceToDepthUndoesIt) {
  for (const Order order : {Order::ChannelsFirst, Order::ChannelsLast})
    for (const bool depth_first : {false, true}) {
      const Tensor x = order == Order::ChannelsFirst ? counting({2, 12, 3, 1}) : counting({2, 3, 1, 12});
      const auto there = ran(DepthToSpace{order, 2, depth_first}, {x});
      ASSERT_TRUE(there);
      const auto back = ran(SpaceToDepth{order, 2, depth_first}, {there->front()});
      ASSERT_TRUE(back);
      EXPECT_EQ(back->front().shape(), x.shape());
      EXPECT_EQ(back->front().doubles(), x.doubles());
    }
}

TEST(Slice, FollowsPythonsRules) {
  const Tensor x = counting({5});
  expect_numbers(Slice{0, 1, 4, 2}, {x}, {2}, {2, 4});
  expect_numbers(Slice{.axis = 0, .step = -2}, {x}, {3}, {5, 3, 1});
  expect_numbers(Slice{0, -2, std::nullopt, 1}, {x}, {2}, {4, 5});
  expect_numbers(Slice{0, -99, 99, 1}, {x}, {5}, {1, 2, 3, 4, 5});
  expect_numbers(Slice{0, 99, -99, -1}, {x}, {5}, {5, 4, 3, 2, 1});
  expect_numbers(Slice{0, 4, 0, std::numeric_limits<Size>::min()}, {x}, {1}, {5});
  expect_numbers(Slice{1, 1, 2, 1}, {counting({2, 3})}, {2, 1}, {2, 5});
}

TEST(Concat, PutsPartsSideBySideAndSplitTakesThemApart) {
  const Tensor a = counting({2, 1}), b = numbers({2, 2}, {10, 20, 30, 40});
  expect_numbers(Concat{1}, {a, b}, {2, 3}, {1, 10, 20, 2, 30, 40});
  const auto parts = ran(Split{1, {1, 2}}, {numbers({2, 3}, {1, 10, 20, 2, 30, 40})});
  ASSERT_TRUE(parts);
  EXPECT_EQ((*parts)[0].doubles(), a.doubles());
  EXPECT_EQ((*parts)[1].doubles(), b.doubles());
  expect_numbers(Tile{1, 2}, {b}, {2, 4}, {10, 20, 10, 20, 30, 40, 30, 40});
  expect_numbers(Take{1, {1, 0, 1}}, {b}, {2, 3}, {20, 10, 20, 40, 30, 40});
}

Resize resize6(Interpolation interpolation, Coordinates coordinates) {
  return {.axes = {2}, .sizes = {6}, .interpolation = interpolation, .coordinates = coordinates};
}

TEST(Resize, ARampShowsWhereEachOutputReads) {
  const Tensor ramp = numbers({1, 1, 4}, {0, 1, 2, 3});
  const auto expect_ramp = [&](const Resize& resize, const std::vector<double>& wanted) {
    expect_numbers(resize, {ramp}, {1, 1, static_cast<Size>(wanted.size())}, wanted, 1e-5);
  };
  expect_ramp(resize6(Interpolation::Nearest, Coordinates::Asymmetric), {0, 0, 1, 2, 2, 3});
  Resize exact = resize6(Interpolation::Nearest, Coordinates::HalfPixel);
  exact.rounding = Rounding::RoundHalfUp;
  expect_ramp(exact, {0, 1, 1, 2, 3, 3});
  expect_ramp(resize6(Interpolation::Linear, Coordinates::HalfPixel), {0, .5, 1.166667, 1.833333, 2.5, 3});
  expect_ramp(resize6(Interpolation::Linear, Coordinates::Asymmetric), {0, .666667, 1.333333, 2, 2.666667, 3});
  expect_ramp(resize6(Interpolation::Linear, Coordinates::AlignCorners), {0, .6, 1.2, 1.8, 2.4, 3});
  Resize cubic = resize6(Interpolation::Cubic, Coordinates::HalfPixel);
  expect_ramp(cubic, {-.08681, .40625, 1.21296, 1.78704, 2.59375, 3.08681});
  cubic.cubic_a = -0.5, cubic.drops_outside = true;
  expect_ramp(cubic, {-.06579, .41176, 1.16667, 1.83333, 2.58824, 3.06579});
  Resize factor{.axes = {2}, .factors = {1.7}, .interpolation = Interpolation::Linear};
  expect_ramp(factor, {0, .38235, .97059, 1.55882, 2.14706, 2.73529});
}

TEST(Resize, AntialiasingWidensTheFilter) {
  const Tensor ramp = numbers({1, 1, 8}, {0, 1, 2, 3, 4, 5, 6, 7});
  Resize resize{.axes = {2}, .sizes = {2}, .interpolation = Interpolation::Linear};
  resize.antialias = resize.drops_outside = true;
  expect_numbers(resize, {ramp}, {1, 1, 2}, {1.89286, 5.10714}, 1e-5);
  resize.sizes = {3}, resize.interpolation = Interpolation::Cubic, resize.cubic_a = -0.5;
  expect_numbers(resize, {ramp}, {1, 1, 3}, {.89647, 3.5, 6.10353}, 1e-5);
}

TEST(Resize, WeightsAlwaysSumToOne) {
  for (int kind = 0; kind <= static_cast<int>(Interpolation::Mitchell); ++kind)
    for (const Size in : {1, 3, 8})
      for (const Size out : {1, 2, 5, 19})
        for (const bool antialias : {false, true}) {
          Resize resize{.axes = {2}, .sizes = {out}, .interpolation = static_cast<Interpolation>(kind)};
          resize.antialias = antialias;
          for (const Taps& taps : taps_of(resize, 0, in, out)) {
            double sum = 0;
            for (const double weight : taps.weights) sum += weight;
            EXPECT_NEAR(sum, 1, 1e-9);
            for (const Size cell : taps.cells) EXPECT_TRUE(cell >= 0 && cell < in);
          }
        }
}

}  // namespace
}  // namespace convoy::families_test
