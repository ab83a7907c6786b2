// Whole numbers of 64 bits that no float64 holds come out of every operator to the last digit.
#include "base/whole_tensor.h"
#include "run/one_node.h"

#include <limits>

namespace convoy::run_test {
namespace {

using test::ran;
using Whole = std::vector<std::int64_t>;

constexpr std::int64_t odd = (std::int64_t{1} << 53) + 1, lowest = std::numeric_limits<std::int64_t>::min();

Tensor tensor(Sizes shape, Whole numbers) { return Tensor::of(std::move(shape), std::move(numbers)); }

void expect_whole(const Op& op, const std::vector<Tensor>& inputs, const Whole& wanted, const EdgeRules& rules = {}) {
  for (const Precision precision : {Precision::Single, Precision::Double}) {
    const auto out = ran(op, inputs, precision, 1, rules);
    ASSERT_TRUE(out) << name_of(op) << ": " << message(out.error());
    EXPECT_EQ(out->front().integers(), wanted) << name_of(op);
  }
}

TEST(LongIntegers, AreMovedAsTheyAre) {
  const Tensor x = tensor({1, 2}, {odd, -odd}), four = tensor({1, 1, 2, 2}, {odd, odd + 2, 1, 2});
  expect_whole(Transpose{{1, 0}}, {x}, {odd, -odd});
  expect_whole(Concat{0}, {x, x}, {odd, -odd, odd, -odd});
  expect_whole(Slice{.axis = 1, .start = 0, .stop = 1}, {x}, {odd});
  expect_whole(Split{1, {1, 1}}, {x}, {odd});
  expect_whole(Tile{0, 2}, {x}, {odd, -odd, odd, -odd});
  expect_whole(Take{1, {1}}, {x}, {-odd});
  expect_whole(Gather{1}, {x, tensor({1}, {1})}, {-odd});
  expect_whole(GatherElements{1}, {x, tensor({1, 1}, {1})}, {-odd});
  expect_whole(ExpandLike{0, 0}, {x, tensor({2, 1}, {0, 0})}, {odd, -odd, odd, -odd});
  expect_whole(SpaceToDepth{.block = 2}, {four}, {odd, odd + 2, 1, 2});
  expect_whole(Pad{.before = {0, 1}, .after = {0, 0}, .value = -1}, {x}, {-1, odd, -odd});
  expect_whole(Where{}, {tensor({2}, {1, 0}), x, tensor({1}, {odd + 2})}, {odd, odd + 2});
  expect_whole(Embedding{}, {tensor({1}, {1}), tensor({2, 1}, {1, odd})}, {odd});
}

TEST(LongIntegers, AreComparedToTheLastDigit) {
  const Tensor rising = tensor({1, 2}, {odd - 1, odd});
  for (const NanInSearch nan : {NanInSearch::IsExtreme, NanInSearch::StaysInFront, NanInSearch::IsPassedOver}) {
    expect_whole(ArgExtreme{true, 1}, {rising}, {1}, {.nan_in_search = nan});
    expect_whole(ArgExtreme{false, 1}, {tensor({1, 2}, {lowest + 1, lowest})}, {1}, {.nan_in_search = nan});
    expect_whole(ArgExtreme{true, 1}, {tensor({1, 2}, {lowest, lowest + 1})}, {1}, {.nan_in_search = nan});
  }
  expect_whole(TopK{.axis = 1, .count = 2}, {rising}, {odd, odd - 1});
  expect_whole(MaxPool{.axes = {Order::ChannelsFirst, 1}, .windows = {{2, 2, 1}}, .paddings = {{}}},
               {tensor({1, 1, 2}, {odd - 1, odd})}, {odd});
  expect_whole(Clip{0, std::nullopt}, {tensor({2}, {odd, -odd})}, {odd, 0});
  expect_whole(Clip{0, std::nullopt}, {tensor({2}, {odd, lowest})}, {odd, 0}, {.open_bounds_are_finite = true});
  expect_whole(Relu{}, {tensor({2}, {odd, -odd})}, {odd, 0});
}

TEST(LongIntegers, AreComputedAndWrapAround) {
  const Tensor x = tensor({3}, {odd, -odd, lowest});
  expect_whole(Unary{Function::Negate}, {x}, {-odd, odd, lowest});
  expect_whole(Unary{Function::Abs}, {x}, {odd, odd, lowest});
  expect_whole(Unary{Function::Sign}, {x}, {1, -1, -1});
  expect_whole(Unary{Function::Floor}, {x}, {odd, -odd, lowest});
  expect_whole(MatMul{}, {tensor({1, 2}, {odd, 2}), tensor({2, 1}, {3, lowest})}, {3 * odd});
  expect_whole(MatMul{}, {tensor({1, 2}, {5, 2}), tensor({2, 1}, {3, -4})}, {7});
}

// 2^53 + 1 is divided by 3 without a rest, and 2^53, which float64 has in its place, is not.
TEST(LongIntegers, ARemainderRunsInFractionsWhereTheRulesSaySo) {
  const std::vector<Tensor> numbers{tensor({1}, {odd}), tensor({1}, {3})};
  expect_whole(Binary{BinaryFunction::Remainder}, numbers, {0});
  expect_whole(Binary{BinaryFunction::Remainder}, numbers, {2}, {.whole_folds_in_fractions = true});
}

TEST(LongIntegers, WithoutASignAreRefusedWhereTheyWouldBeNegative) {
  const Tensor most = whole_tensor(DType::U64, {2}, {-1, 5}), least = whole_tensor(DType::U64, {2}, {3, 5});
  expect_whole(Binary{BinaryFunction::Add}, {most, least}, {2, 10});
  const auto refused = ran(Binary{BinaryFunction::Maximum}, {most, least});
  ASSERT_FALSE(refused);
  EXPECT_NE(message(refused.error()).find("18446744073709551615"), std::string::npos);
  expect_whole(Binary{BinaryFunction::Maximum}, {least, least}, {3, 5});
}

TEST(LongIntegers, AreToldFromThoseThatADoubleHolds) {
  EXPECT_TRUE(beyond_double(tensor({1}, {odd})));
  EXPECT_FALSE(beyond_double(tensor({3}, {odd - 1, lowest, std::numeric_limits<std::int64_t>::max()})));
  EXPECT_TRUE(beyond_double(whole_tensor(DType::U64, {1}, {lowest})));
  EXPECT_FALSE(beyond_double(whole_tensor(DType::U64, {2}, {-1, 7})));
}

}  // namespace
}  // namespace convoy::run_test
