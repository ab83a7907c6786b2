// Sizes of exported programs, worked out from SymPy's text.
#include "formats/torch/exported/expressions.h"

#include <gtest/gtest.h>

namespace convoy::torch::expressions_test {
namespace {

const KnownSymbols known{{"s0", 7}, {"s1", 10}};
constexpr std::string_view s0 = "Symbol('s0', positive=True, integer=True)";

std::string with(std::string_view before, std::string_view behind) {
  return std::string(before) + std::string(s0) + std::string(behind);
}

TEST(Expressions, SizesAreWorkedOutFromKnownSymbols) {
  EXPECT_EQ(value_of("Integer(-3)", {}), -3);
  EXPECT_EQ(value_of(s0, known), 7);
  EXPECT_EQ(value_of(with("Add(FloorDiv(Add(", ", Integer(-1)), Integer(2)), Integer(1))"), known), 4);
  EXPECT_EQ(value_of(with("Mul(Integer(2), FloorDiv(", ", Integer(2)))"), known), 6);
  EXPECT_EQ(value_of(with("Mod(Mul(Integer(-1), ", "), Integer(4))"), known), 1);  // as Python's
  EXPECT_EQ(value_of(with("Max(Integer(2), ", ", Symbol('s1', integer=True))"), known), 10);
  EXPECT_EQ(value_of(with("TruncToInt(Mul(Float('1.6', precision=53), ", "))"), known), 11);
  EXPECT_EQ(value_of(with("Pow(", ", Integer(2))"), known), 49);
}

TEST(Expressions, WhatHasNoNumberHasNone) {
  EXPECT_FALSE(value_of(s0, {}));
  EXPECT_FALSE(value_of(with("Mul(Rational(1, 2), ", ")"), known));
  EXPECT_FALSE(value_of(with("FloorDiv(", ", Integer(0))"), known));
  EXPECT_FALSE(value_of(with("Unheard(", ")"), known));
  EXPECT_FALSE(value_of(with("Add(", ""), known));
  EXPECT_FALSE(value_of("", known));
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "Add(";
  EXPECT_FALSE(value_of(deep, known));
  std::string many = "Add(Integer(1)";
  for (int i = 0; i < 100000; ++i) many += ", Integer(1)";
  EXPECT_FALSE(value_of(many + ")", known));
}

TEST(Expressions, ASizeSaysWhatItsOneSymbolIs) {
  EXPECT_EQ(solved(s0, 12), (std::pair<std::string, Size>{"s0", 12}));
  EXPECT_EQ(solved(with("Mul(Integer(8), ", ")"), 24), (std::pair<std::string, Size>{"s0", 3}));
  EXPECT_FALSE(solved(with("Mul(Integer(8), ", ")"), 25));
  EXPECT_FALSE(solved(with("Add(", ", Symbol('s1', integer=True))"), 9));
  EXPECT_FALSE(solved("Integer(4)", 4));
}

}  // namespace
}  // namespace convoy::torch::expressions_test
