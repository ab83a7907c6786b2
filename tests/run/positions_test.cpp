// Where a maximum lies, in every framework's numbering, and the way back; pools by an Lp norm.
#include "run/one_node.h"

#include <cmath>
#include <limits>

namespace convoy::positions_test {
namespace {

using test::counting;
using test::expect_numbers;
using test::numbers;
using test::ran;

const Axes first1{Order::ChannelsFirst, 1}, first2{Order::ChannelsFirst, 2}, last2{Order::ChannelsLast, 2};
constexpr double nan = std::numeric_limits<double>::quiet_NaN(), endless = std::numeric_limits<double>::infinity();

// Two examples of two channels of 2 by 3 cells; the largest lie in rows 1, 0, 1, 0 and columns 2, 1, 0, 2.
Tensor hills() {
  std::vector<double> values(24, 0);
  for (const std::size_t at : {5, 6 + 1, 12 + 3, 18 + 2}) values[at] = 9;
  return numbers({2, 2, 2, 3}, values);
}

std::vector<std::int64_t> positions_of(const Op& op, const Tensor& x, int threads = 1) {
  const auto out = ran(op, {x}, Precision::Single, threads);
  if (!out || out->size() != 2) return {};
  EXPECT_EQ(out->at(1).dtype(), DType::I64);
  EXPECT_EQ(out->at(1).shape(), out->at(0).shape());
  return out->at(1).integers();
}

TEST(Positions, EveryNumberingCountsInItsOwnOrder) {
  const std::pair<Positions, std::vector<std::int64_t>> wanted[] = {
      {Positions::Plane, {5, 1, 3, 2}},
      {Positions::Tensor, {5, 6 + 1, 12 + 3, 18 + 2}},
      {Positions::TensorColumns, {2 * 2 + 1, 6 + 2, 12 + 1, 18 + 2 * 2}},
      {Positions::Example, {5 * 2, 1 * 2 + 1, 3 * 2, 2 * 2 + 1}},
      {Positions::ExampleInBatch, {5 * 2, 1 * 2 + 1, 12 + 3 * 2, 12 + 2 * 2 + 1}}};
  for (const auto& [positions, numbered] : wanted) {
    MaxPool pool{.axes = first2, .windows = {{2, 2, 1}, {3, 3, 1}}, .paddings = {{}, {}}, .positions = positions};
    EXPECT_EQ(positions_of(pool, hills()), numbered);
    EXPECT_EQ(positions_of(pool, hills(), 3), numbered);
    pool.axes = last2;
    EXPECT_EQ(positions_of(pool, hills().permuted(Sizes{0, 2, 3, 1})), numbered);
    // And back: the hills alone.
    const auto top = numbers({2, 2, 1, 1}, {9, 9, 9, 9});
    expect_numbers(MaxUnpool{.axes = first2, .out = {2, 3}, .positions = positions},
                   {top, Tensor::of({2, 2, 1, 1}, numbered)}, {2, 2, 2, 3}, hills().doubles());
  }
}

TEST(Positions, TheFirstOfEqualsCountsAndTheLastNaN) {
  const MaxPool pool{.axes = first1, .windows = {{3, 3, 1}}, .paddings = {{}}, .positions = Positions::Plane};
  const Tensor x = numbers({1, 1, 9}, {5, 7, 7, nan, nan, 0, -endless, -endless, -endless});
  EXPECT_EQ(positions_of(pool, x), (std::vector<std::int64_t>{1, 4, 6}));
}

TEST(Positions, APadIsNeverTheMaximum) {
  const MaxPool pool{
      .axes = first1, .windows = {{2, 1, 2}}, .paddings = {{Spelling::Explicit, 1, 1}}, .positions = Positions::Plane};
  EXPECT_EQ(positions_of(pool, numbers({1, 1, 4}, {-1, -2, -3, -4})), (std::vector<std::int64_t>{1, 0, 1, 2}));
}

TEST(Positions, AdaptiveWindowsTellThemToo) {
  const Tensor x = numbers({1, 1, 5}, {1, 3, 2, 5, 4});  // [0, 2), [1, 4), [3, 5)
  AdaptivePool pool{.axes = first1, .kind = Extreme::Maximum, .out = {3}, .positions = Positions::Plane};
  EXPECT_EQ(positions_of(pool, x), (std::vector<std::int64_t>{1, 3, 3}));
  pool.kind = Extreme::Average;
  EXPECT_FALSE(ran(pool, {x}));
}

TEST(Unpool, RefusesAPositionOutsideOfTheOutput) {
  const MaxUnpool back{.axes = first1, .out = {4}};
  const Tensor x = numbers({1, 2, 2}, {1, 2, 3, 4});
  expect_numbers(back, {x, Tensor::of({1, 2, 2}, std::vector<std::int64_t>{0, 3, 2, 1})}, {1, 2, 4},
                 {1, 0, 0, 2, 0, 4, 3, 0});
  for (const std::int64_t wrong : {-1, 4}) {
    const auto out = ran(back, {x, Tensor::of({1, 2, 2}, std::vector<std::int64_t>{0, 3, wrong, 1})});
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().what,
              "position " + std::to_string(wrong) + " lies outside of the output, which has 4 cells to count");
  }
  EXPECT_FALSE(ran(back, {x, Tensor::of({1, 2, 1}, std::vector<std::int64_t>{0, 0})}));
}

TEST(LpPool, OneRuleTakesMagnitudesTheOtherKeepsSigns) {
  LpPool pool{.axes = first1, .windows = {{2, 2, 1}}, .paddings = {{}}, .p = 3};
  const Tensor x = numbers({1, 1, 2}, {-1, 2});
  expect_numbers(pool, {x}, {1, 1, 1}, {std::cbrt(9.0)}, 1e-6);
  pool.rule = PowerRule::Signed;
  expect_numbers(pool, {x}, {1, 1, 1}, {std::cbrt(7.0)}, 1e-6);
  const auto below = ran(pool, {numbers({1, 1, 2}, {-2, 1})});
  ASSERT_TRUE(below);
  EXPECT_TRUE(std::isnan(below->front().doubles()[0]));
  pool.p = 0;
  EXPECT_FALSE(ran(pool, {x}));
}

TEST(LpPool, AWindowThatHangsOverIsScaledUpByOneRuleOnly) {
  const Padding ceil{Spelling::Explicit, 0, 0, Leftover::CeilInside};
  LpPool pool{.axes = first1, .windows = {{2, 2, 1}}, .paddings = {ceil}};
  const Tensor ones = numbers({1, 1, 5}, {1, 1, 1, 1, 1});
  const double root = std::sqrt(2.0);
  expect_numbers(pool, {ones}, {1, 1, 3}, {root, root, 1}, 1e-6);
  pool.rule = PowerRule::Signed;
  expect_numbers(pool, {ones}, {1, 1, 3}, {root, root, root}, 1e-6);
  pool = {.axes = first1, .windows = {{2, 1, 2}}, .paddings = {{Spelling::Explicit, 0, 1}}, .p = 1};
  expect_numbers(pool, {numbers({1, 1, 3}, {1, -2, 4})}, {1, 1, 2}, {5, 2});
}

}  // namespace
}  // namespace convoy::positions_test
