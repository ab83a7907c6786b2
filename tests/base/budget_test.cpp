#include "base/budget.h"

#include "base/orthogonal.h"
#include "containers/json.h"
#include "containers/pickle.h"
#include "formats/source.h"
#include "run/run.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <string>

namespace convoy::budget_test {
namespace {

constexpr Size mebibyte = Size{1} << 20;

// A budget of 1 MiB and the work that goes with it, for a file of 1000 bytes.
class LowBudget : public testing::Test {
 protected:
  void SetUp() override {
    budget::begin(mebibyte);
    budget::grant_file(1, 1, 1000);
  }
  void TearDown() override { budget::end(); }
};

template <class T>
void expect_refused(const Result<T>& result, std::string_view word) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().fault, Fault::Budget);
  EXPECT_NE(result.error().what.find(word), std::string::npos) << result.error().what;
  EXPECT_NE(result.error().what.find("--budget "), std::string::npos) << result.error().what;
}

TEST(Budget, WithoutOneEverythingIsAllowed) {
  budget::begin();  // forgets what tests in the same process left
  budget::end();
  EXPECT_TRUE(budget::afford(Size{1} << 60, "a mountain"));
  EXPECT_TRUE(budget::spend(1e30, "moving it"));
  EXPECT_FALSE(budget::refusal());
}

TEST_F(LowBudget, FilesGrantSixtyFourBytesForEachOfTheirs) {
  EXPECT_TRUE(budget::afford(mebibyte + 64000, "a table"));
  const auto refused = budget::afford(mebibyte + 64001, "a table");
  ASSERT_FALSE(refused);
  EXPECT_EQ(
      refused.error().what,
      "over the budget: a table takes 1 MiB beside 0 bytes in use; 1 MiB are granted for 1000 bytes read; --budget "
      "64M grants more");
  ASSERT_TRUE(budget::refusal());
  EXPECT_EQ(budget::refusal()->what, refused.error().what);
}

TEST_F(LowBudget, AFileThatIsOpenedTwiceCountsOnce) {
  budget::grant_file(1, 1, 1000);
  EXPECT_FALSE(budget::can_afford(mebibyte + 64001));
  budget::grant_file(1, 2, 1000);
  EXPECT_TRUE(budget::can_afford(mebibyte + 128000));
}

TEST_F(LowBudget, WhatIsHeldIsLeftOfWhatIsGranted) {
  budget::count(mebibyte);
  EXPECT_FALSE(budget::can_afford(64001));
  EXPECT_EQ(budget::room(), 64000);
  budget::count(-mebibyte);
  EXPECT_TRUE(budget::can_afford(64001));
}

TEST_F(LowBudget, ASizeThatCannotBeCountedIsRefused) {
  EXPECT_FALSE(budget::afford(checked_multiply(Size{1} << 62, 8), "a table"));
}

TEST_F(LowBudget, WorkAddsUp) {
  Size done = 0;
  while (done < 1000 && budget::spend(1e5, "climbing")) ++done;
  EXPECT_EQ(done, 43);  // 0.7 s / 160 are 4,375,000 steps, on every machine
}

TEST_F(LowBudget, EachAllocationIsSteps) {
  const budget::Making making("a heap of nodes");
  EXPECT_TRUE(budget::allows(16, 36000));
  EXPECT_FALSE(budget::allows(16, 1000));
  ASSERT_TRUE(budget::refusal());
  EXPECT_TRUE(budget::refusal()->what.contains("a heap of nodes takes about 0.00444 s")) << budget::refusal()->what;
}

TEST_F(LowBudget, AQuestionAboutARefusalHasWorkOfItsOwnAndRefusesNothing) {
  EXPECT_TRUE(budget::spend(4e6, "reading"));
  {
    const budget::Asking asking;
    EXPECT_TRUE(budget::spend(1.5e6, "trying a size"));
    EXPECT_FALSE(asking.is_over());
    EXPECT_FALSE(budget::spend(1.5e6, "trying a size"));
    EXPECT_TRUE(asking.is_over());
    EXPECT_TRUE(budget::allows(16, 256));
  }
  EXPECT_FALSE(budget::refusal());
  EXPECT_TRUE(budget::spend(3e5, "reading on"));
  EXPECT_FALSE(budget::spend(1e5, "reading on"));
}

TEST_F(LowBudget, JsonAsksAsItGrows) {
  std::string text = "[";
  for (int i = 0; i < 50000; ++i) text += "[],";
  expect_refused(parse_json(text + "[]]"), "JSON");
}

TEST_F(LowBudget, APickleAsksForItsMemoStackAndMarks) {
  for (const char opcode : {'\x94', '(', ']', '2'}) {
    budget::begin(mebibyte);
    budget::grant_file(1, 1, 1000);
    const std::string text = "\x80\x02N" + std::string(400000, opcode) + ".";
    expect_refused(Pickle::parse(bytes_of(text)), "pickle");
  }
}

TEST_F(LowBudget, APickleRemembersByCountingAndByAnyKey) {
  // None is kept at 0 by counting and at 7 by key; both are asked for.
  const std::string plain("\x80\x02N\x94r\x07\x00\x00\x00j\x07\x00\x00\x00h\x00\x86.", 18);
  const auto pair = Pickle::parse(bytes_of(plain));
  ASSERT_TRUE(pair);
  EXPECT_EQ((*pair)[pair->root()].items.size(), 2U);
}

TEST_F(LowBudget, AnOrthogonalMatrixIsPaidByItsProducts) {
  EXPECT_TRUE(orthogonal_factor({3, 0, 0, 2}, 2, 2));
  expect_refused(orthogonal_factor(std::vector<double>(400 * 400, 1.0), 400, 400), "400 by 400");
}

TEST_F(LowBudget, AProgramIsPaidByTheStep) {
  const auto graph = read_source_text("x = 0\nfor i in range(1000000):\n    x = x + i\n", "", {});
  expect_refused(graph, "following the program");
}

TEST_F(LowBudget, WeightsThatNoFileHoldsAreAddedUpBeforeTheyAreDrawn) {
  budget::begin();
  budget::grant_file(1, 1, 1000);
  EXPECT_TRUE(budget::grant_declared(Size{1} << 29, "'a'"));
  EXPECT_TRUE(budget::grant_declared(Size{1} << 29, "'b'"));
  const auto refused = budget::grant_declared(1, "'c'");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, Fault::Budget);
}

TEST_F(LowBudget, ANodeIsPaidBeforeItIsComputed) {
  Graph graph;
  const ValueId x = graph.input("x", {DType::F32, {512, 512}});
  const auto y = graph.add(MatMul{}, {x, x}, "y");
  ASSERT_TRUE(y);
  graph.outputs = *y;
  graph.output_names = {"y"};
  expect_refused(run(graph, {Tensor::of({512, 512}, std::vector<float>(512 * 512, 1.0F))}), "");
}

TEST(Orthogonal, PanelsOfColumnsAreOrthogonalToAllBefore) {
  constexpr std::size_t rows = 83, columns = 71;  // no multiple of a panel
  std::vector<double> a(rows * columns);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = std::sin(static_cast<double>(i * i % 977) + 0.5);
  const auto q = orthogonal_factor(a, rows, columns);
  ASSERT_TRUE(q);
  for (std::size_t j = 0; j < columns; ++j)
    for (std::size_t k = 0; k <= j; ++k) {
      double dot = 0, r = 0;
      for (std::size_t i = 0; i < rows; ++i) {
        dot += (*q)[i * columns + j] * (*q)[i * columns + k];
        r += (*q)[i * columns + j] * a[i * columns + k];
      }
      EXPECT_NEAR(dot, j == k ? 1 : 0, 1e-13);
      if (j == k) EXPECT_GT(r, 0);  // of R, which is triangular with a positive diagonal
      else EXPECT_NEAR(r, 0, 1e-11);
    }
}

}  // namespace
}  // namespace convoy::budget_test
