#include "formats/torch/weight_norm.h"

#include <gtest/gtest.h>

namespace convoy::torch::weight_norm_test {
namespace {

Tensor numbers(Sizes shape, std::vector<float> values) { return Tensor::of(std::move(shape), std::move(values)); }

// |(3, 4)| is 5 and |(5, 12)| is 13: rows of norm 10 and 26.
const std::vector<LoadedTensor> rows{{"a.bias", numbers({2}, {1, 2})},
                                     {"a.weight_g", numbers({2, 1}, {10, 26})},
                                     {"a.weight_v", numbers({2, 2}, {3, 4, 5, 12})}};

TEST(WeightNorm, APairBecomesTheWeightItMakes) {
  const auto plain = with_plain_weights(rows);
  ASSERT_TRUE(plain) << message(plain.error());
  ASSERT_EQ(plain->size(), 2U);
  EXPECT_EQ((*plain)[0].name, "a.bias");
  EXPECT_EQ((*plain)[1].name, "a.weight");
  EXPECT_EQ((*plain)[1].tensor.floats(), (std::vector<float>{6, 8, 10, 24}));
}

TEST(WeightNorm, TheNormGoesOverTheAxesThatTheMagnitudeHasNot) {
  const auto plain = with_plain_weights({{"parametrizations.weight.original0", numbers({1, 1, 2}, {10, 26})},
                                         {"parametrizations.weight.original1", numbers({1, 2, 2}, {3, 5, 4, 12})}});
  ASSERT_TRUE(plain) << message(plain.error());
  EXPECT_EQ((*plain)[0].name, "weight");
  EXPECT_EQ((*plain)[0].tensor.floats(), (std::vector<float>{6, 10, 8, 24}));
  const auto whole = with_plain_weights({{"b.parametrizations.weight.original0", numbers({}, {10})},
                                         {"b.parametrizations.weight.original1", numbers({2}, {3, 4})}});
  EXPECT_EQ((*whole)[0].name, "b.weight");
  EXPECT_EQ((*whole)[0].tensor.floats(), (std::vector<float>{6, 8}));
}

TEST(WeightNorm, OtherNamesAndOtherShapesAreNoPair) {
  EXPECT_TRUE(
      normed_weights({{"a.weight_g", numbers({3, 1}, {1, 1, 1})}, {"a.weight_v", numbers({2, 2}, {1, 1, 1, 1})}})
          .empty());
  EXPECT_TRUE(normed_weights({{"a.parametrizations.weight.original", numbers({2}, {1, 1})}}).empty());
  auto beside = rows;
  beside.push_back({"a.weight", numbers({2}, {1, 1})});
  const auto refused = with_plain_weights(beside);
  ASSERT_FALSE(refused);
  EXPECT_EQ(message(refused.error()), "'a.weight' is there beside 'a.weight_v' and 'a.weight_g'");
}

}  // namespace
}  // namespace convoy::torch::weight_norm_test
