// What becomes of NaN, infinities and whole numbers that no longer fit, by each rule. The frameworks' own answers are the rows
// of tests/data/semantics.
#include "run/one_node.h"

#include <cmath>
#include <limits>

namespace convoy::edge_rules_test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
constexpr double last = std::numeric_limits<float>::max();

void expect_by(const EdgeRules& rules, const Op& op, const Tensor& x, const std::vector<double>& wanted) {
  const auto out = test::ran(op, {x}, Precision::Single, 1, rules);
  ASSERT_TRUE(out) << message(out.error());
  const auto got = out->front().doubles();
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_TRUE(got[i] == wanted[i] || (std::isnan(got[i]) && std::isnan(wanted[i])))
        << name_of(op) << ": number " << i << " is " << got[i] << ", wanted " << wanted[i];
}

TEST(EdgeRules, MaxPoolsHandNanOnOrPassOverIt) {
  const Tensor x = test::numbers({1, 1, 6}, {3, nan, nan, nan, -inf, -inf});
  const MaxPool pool{.axes = {Order::ChannelsFirst, 1}, .windows = {{2, 2, 1}}, .paddings = {{}}};
  expect_by({}, pool, x, {nan, nan, -inf});
  expect_by({.max_pools_pass_over_nan = true}, pool, x, {3, -last, -last});
}

TEST(EdgeRules, SearchesEndWhereTheRuleSays) {
  const Tensor x = test::numbers({4, 3}, {nan, 1, 2, 1, nan, 5, -inf, -inf, -inf, nan, nan, nan});
  const auto search = [](bool largest, bool at_last) {
    return ArgExtreme{.largest = largest, .axis = 1, .keeps_axis = false, .last = at_last};
  };
  expect_by({}, search(true, false), x, {0, 1, 0, 0});
  expect_by({.nan_in_search = NanInSearch::StaysInFront}, search(true, false), x, {0, 2, 0, 0});
  expect_by({.nan_in_search = NanInSearch::StaysInFront}, search(true, true), x, {0, 2, 2, 0});
  expect_by({.nan_in_search = NanInSearch::StaysInFront}, search(false, false), x, {0, 0, 0, 0});
  expect_by({.nan_in_search = NanInSearch::IsPassedOver}, search(true, false), x, {2, 2, 0, 0});
  expect_by({.nan_in_search = NanInSearch::IsPassedOver}, search(false, false), x, {1, 0, 0, 0});
}

TEST(EdgeRules, ThresholdsStopNanOrHandItOn) {
  const Tensor x = test::numbers({3}, {nan, 3, -3});
  const EdgeRules stops{.thresholds_stop_nan = true};
  expect_by({}, Shrink{}, x, {nan, 3, -3});
  expect_by(stops, Shrink{}, x, {0, 3, -3});
  expect_by(stops, Shrink{.lambda = 1, .soft = true}, x, {0, 2, -2});
  expect_by({}, Threshold{1, 7}, x, {nan, 3, 7});
  expect_by(stops, Threshold{1, 7}, x, {7, 3, 7});
  expect_by({}, Relu{.threshold = 1}, x, {nan, 3, 0});
  expect_by(stops, Relu{.threshold = 1}, x, {0, 3, 0});
  expect_by(stops, Relu{.strict = true}, x, {0, 3, 0});
  expect_by(stops, Relu{}, x, {nan, 3, 0});
  expect_by(stops, Relu{.negative_slope = 0.5, .threshold = 1}, x, {nan, 3, -2});
}

TEST(EdgeRules, SignsAndOpenBounds) {
  const Tensor x = test::numbers({4}, {nan, inf, -inf, -2});
  expect_by({}, Unary{Function::Sign}, x, {nan, 1, -1, -1});
  expect_by({.sign_of_nan_is_zero = true}, Unary{Function::Sign}, x, {0, 1, -1, -1});
  expect_by({}, Clip{.least = -1}, x, {nan, inf, -1, -1});
  expect_by({.open_bounds_are_finite = true}, Clip{.least = -1}, x, {nan, last, -1, -1});
  expect_by({.open_bounds_are_finite = true}, Clip{.most = 1}, x, {nan, 1, -last, -2});
}

TEST(EdgeRules, FoldsOfWholeNumbersWrapAroundOrStop) {
  Graph graph;
  const ValueId x = graph.input("x", TensorType{DType::I32, {2, 2}});
  graph.outputs = *graph.add(Reduce{Reduction::Sum, {1}, false}, {x}, "sum");
  const Tensor numbers = Tensor::of({2, 2}, std::vector<std::int64_t>{2147483647, 1, -2147483648, 2147483647});
  const auto sums = [&] { return run(graph, {numbers})->at(graph.outputs[0]).integers(); };
  EXPECT_EQ(sums(), (std::vector<std::int64_t>{-2147483648, -1}));
  graph.rules.whole_folds_in_fractions = true;
  EXPECT_EQ(sums(), (std::vector<std::int64_t>{2147483647, -1}));
}

}  // namespace
}  // namespace convoy::edge_rules_test
