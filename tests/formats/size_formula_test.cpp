// Formulas of sizes: whatever is done to them, they are the number that arithmetic gives at every size.
#include "formats/size_formula.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace convoy::size_formula_test {
namespace {

SizeFormula n() { return SizeFormula::of_size(0); }
SizeFormula plus(const SizeFormula& a, Size b) { return *sum(a, SizeFormula::of(b)); }

// Made of two sizes by random steps, and what the same steps make of numbers.
struct Drawn {
  SizeFormula formula;
  std::function<Size(Size, Size)> value;
};

Size rounded_down(Size a, Size b) { return a / b - (a % b < 0 ? 1 : 0); }

std::optional<Drawn> drawn(std::mt19937& random, int depth) {
  const auto below = [&](Size most) { return static_cast<Size>(random() % static_cast<unsigned>(most)); };
  if (depth == 0) {
    const SizeId size = static_cast<SizeId>(below(2));
    if (below(4) == 0) {
      const Size number = below(9) - 4;
      return Drawn{SizeFormula::of(number), [=](Size, Size) { return number; }};
    }
    return Drawn{SizeFormula::of_size(size), [=](Size a, Size b) { return size == 0 ? a : b; }};
  }
  const auto first = drawn(random, depth - 1), second = drawn(random, depth - 1);
  if (!first || !second) return std::nullopt;
  const auto f = first->value, g = second->value;
  const Size number = below(5) + 1;
  const auto made = [](MaybeFormula formula, std::function<Size(Size, Size)> value) {
    return formula ? std::optional(Drawn{std::move(*formula), std::move(value)}) : std::nullopt;
  };
  switch (below(8)) {
    case 0: return made(sum(first->formula, second->formula), [=](Size a, Size b) { return f(a, b) + g(a, b); });
    case 1: return made(difference(first->formula, second->formula), [=](Size a, Size b) { return f(a, b) - g(a, b); });
    case 2: return made(product(first->formula, second->formula), [=](Size a, Size b) { return f(a, b) * g(a, b); });
    case 3:
      return made(floor_quotient(first->formula, number),
                  [=](Size a, Size b) { return rounded_down(f(a, b), number); });
    case 4: return made(truncated_quotient(first->formula, number), [=](Size a, Size b) { return f(a, b) / number; });
    case 5:
      return made(least(first->formula, second->formula), [=](Size a, Size b) { return std::min(f(a, b), g(a, b)); });
    case 6:
      return made(greatest(first->formula, second->formula),
                  [=](Size a, Size b) { return std::max(f(a, b), g(a, b)); });
    default: return made(times(first->formula, number - 3), [=](Size a, Size b) { return f(a, b) * (number - 3); });
  }
}

TEST(SizeFormula, IsWhatArithmeticGivesAtEverySize) {
  std::mt19937 random(7);
  int seen = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const auto one = drawn(random, 3);
    if (!one) continue;
    ++seen;
    const SizeBounds bounds = bounds_of(one->formula);
    const auto other = raised(one->formula);
    const auto split = split_least(one->formula);
    for (Size a = 0; a < 9; ++a)
      for (Size b = 0; b < 9; ++b) {
        const auto size = [&](SizeId id) { return id == 0 ? a : b; };
        const Size wanted = one->value(a, b);
        ASSERT_EQ(value_of(one->formula, size), wanted) << one->formula.text() << " at " << a << ", " << b;
        ASSERT_TRUE(!bounds.least || *bounds.least <= wanted) << one->formula.text() << " at " << a << ", " << b;
        ASSERT_TRUE(!bounds.most || *bounds.most >= wanted) << one->formula.text() << " at " << a << ", " << b;
        if (other) { ASSERT_EQ(value_of(*other, size), wanted) << one->formula.text() << " raised"; }
        if (!split) continue;
        auto all = value_of(split->rest, size);
        for (const LeastOf& part : split->parts)
          all = *all + part.count * std::min(*value_of(part.formula, size), part.bound);
        ASSERT_EQ(all, wanted) << one->formula.text() << " split";
      }
  }
  EXPECT_GT(seen, 2000);
}

TEST(SizeFormula, IsEqualWhereTheNumbersAre) {
  // n - n / 2 and (n + 1) / 2; n / 2 / 3 and n / 6; what is padded up to 5.
  EXPECT_EQ(raised(*difference(n(), *floor_quotient(n(), 2))), floor_quotient(plus(n(), 1), 2));
  EXPECT_EQ(floor_quotient(*floor_quotient(n(), 2), 3), floor_quotient(n(), 6));
  const auto missing = greatest(*difference(SizeFormula::of(5), n()), SizeFormula::of(0));
  EXPECT_EQ(sum(n(), *missing), greatest(n(), SizeFormula::of(5)));
  // n - (n - 4) % 3, as Mod says it, is so many whole frames.
  const auto frames = floor_quotient(plus(n(), -4), 3);
  const auto rest = difference(plus(n(), -4), *times(*frames, 3));
  EXPECT_EQ(difference(n(), *rest), sum(*times(*frames, 3), SizeFormula::of(4)));
  EXPECT_EQ(product(plus(n(), 1), plus(n(), 2)), product(plus(n(), 2), plus(n(), 1)));
}

TEST(SizeFormula, SaysWhatHoldsAtAllSizes) {
  const SizeFormula all = n(), half = *floor_quotient(n(), 2), far = plus(n(), -20000);
  const auto first = [](const std::vector<Size>& v) { return v[0] <= v[1]; };
  EXPECT_EQ(at_all_sizes({&half, &all}, first), std::optional(true));
  EXPECT_EQ(at_all_sizes({&far}, [](const std::vector<Size>& v) { return v[0] < 0; }), std::optional(false));
  const SizeFormula both = *sum(n(), SizeFormula::of_size(1));
  EXPECT_EQ(at_all_sizes({&both}, [](const std::vector<Size>&) { return true; }), std::nullopt);
}

}  // namespace
}  // namespace convoy::size_formula_test
