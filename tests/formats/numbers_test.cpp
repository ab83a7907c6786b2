// Numbers that are computed while a model is read: as the model's own types hold them.
#include "formats/numbers.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace convoy {
namespace {

Numbers one(DType dtype, std::int64_t number) { return {dtype, {}, {Number::of(number)}}; }

TEST(Numbers, AreRoundedAsTheirTypesAre) {
  const auto ten_times = [](DType dtype, double factor) {
    const auto ten = as_type(one(DType::I64, 10), dtype);
    const auto product = by_pairs(BinaryFunction::Multiply, ten, {dtype, {}, {Number::of(factor)}});
    return product ? product->all[0].real : 0;
  };
  EXPECT_EQ(ten_times(DType::F32, 0.7F), 7.0);
  EXPECT_EQ(ten_times(DType::F64, double{0.7F}), 6.9999998807907104);
  EXPECT_EQ(as_type(one(DType::I64, 16777217), DType::F32).all[0].real, 16777216);
  EXPECT_EQ(as_type(one(DType::I64, 2049), DType::F16).all[0].real, 2048);
}

TEST(Numbers, WrapAroundAsTheirTypesDo) {
  const auto most = std::numeric_limits<std::int32_t>::max();
  const auto sum = by_pairs(BinaryFunction::Add, one(DType::I32, most), one(DType::I32, 2));
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->all[0].whole, std::int64_t{std::numeric_limits<std::int32_t>::min()} + 1);
  const auto wide = by_pairs(BinaryFunction::Add, one(DType::I64, most), one(DType::I64, 2));
  ASSERT_TRUE(wide);
  EXPECT_EQ(wide->all[0].whole, std::int64_t{most} + 2);
  EXPECT_EQ(as_type(one(DType::I64, 300), DType::U8).all[0].whole, 44);
  const auto product = folded(
      Reduction::Product, false,
      {DType::U8, {3}, {Number::of(std::int64_t{20}), Number::of(std::int64_t{13}), Number::of(std::int64_t{3})}});
  ASSERT_TRUE(product);
  EXPECT_EQ(product->all[0].whole, 12);  // 20 * 13 is 4 there
  const auto negative = one_by_one(Function::Negate, one(DType::U8, 1));
  ASSERT_TRUE(negative);
  EXPECT_EQ(negative->all[0].whole, 255);
}

}  // namespace
}  // namespace convoy
