#include "base/fresh_names.h"

#include <gtest/gtest.h>

namespace convoy::fresh_names_test {

TEST(FreshNames, AreGivenOutOnceEach) {
  FreshNames names({"conv", "conv_3"});
  EXPECT_FALSE(names.free("conv"));
  EXPECT_EQ(names.take("conv"), "conv_2");
  EXPECT_EQ(names.take("conv"), "conv_4");
  EXPECT_EQ(names.take("pool", ".", 1), "pool");
  EXPECT_EQ(names.take("pool", ".", 1), "pool.1");
  EXPECT_FALSE(names.free("pool.1"));
}

TEST(FreshNames, AreNoneOfThoseThatAreReserved) {
  const std::set<std::string> reserved{"to", "to_2"};
  FreshNames names = FreshNames::beside(reserved);
  EXPECT_FALSE(names.free("to"));
  EXPECT_EQ(names.take("to"), "to_3");
  EXPECT_EQ(names.take("conv"), "conv");
  EXPECT_EQ(names.take("conv"), "conv_2");
}

TEST(FreshNames, OfSeveralThatAreAlikeTheLaterHaveTheirPlaceBehindThem) {
  EXPECT_EQ(names_apart({"lstm", "lstm", "lstm", "dense"}),
            (std::vector<std::string>{"lstm", "lstm_1", "lstm_2", "dense"}));
  EXPECT_EQ(names_apart({"lstm", "lstm", "lstm_1"}), (std::vector<std::string>{"lstm", "lstm_2", "lstm_1"}));
}

// In the square of their number, this takes minutes.
TEST(FreshNames, AreFoundAtOnceBehindManyThatAreTaken) {
  FreshNames names;
  for (int i = 0; i < 100000; ++i) names.take("same", "/", 1);
  EXPECT_EQ(names.take("same", "/", 1), "same/100000");
}

}  // namespace convoy::fresh_names_test
