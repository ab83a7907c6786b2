// Whole numbers that are computed from sizes which come only when the model runs: sums of so many times a size, a
// quotient, a product, or what is positive of another. Equal formulas are equal numbers at all sizes.
#pragma once
#include "convoy/size.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convoy {

// Which unknown size: equal numbers are equal sizes in every run of the model.
using SizeId = int;

struct SizeTerm;

// `constant` + every term so many times over. By the terms' texts, which tell all there is of them.
struct SizeFormula {
  Size constant = 0;
  std::map<std::string, std::pair<SizeTerm, Size>> terms;

  static SizeFormula of(Size constant);
  static SizeFormula of_size(SizeId size);
  bool is_constant() const { return terms.empty(); }
  // Of one size, once, and nothing added.
  std::optional<SizeId> single() const;
  std::string text() const;
  friend bool operator==(const SizeFormula& a, const SizeFormula& b);
};

struct SizeTerm {
  enum class Kind : std::uint8_t {
    Single,  // `size` itself
    Quotient,  // of[0] / divisor, rounded down
    Positive,  // of[0], or 0 where it is below
    Product,  // of all
  };
  Kind kind = Kind::Single;
  SizeId size = -1;
  Size divisor = 1;
  std::vector<SizeFormula> of{};
};

// Nothing: a number beyond 64 bits, a formula of more than any model's terms.
using MaybeFormula = std::optional<SizeFormula>;
MaybeFormula sum(const SizeFormula& a, const SizeFormula& b);
MaybeFormula times(const SizeFormula& a, Size factor);
MaybeFormula difference(const SizeFormula& a, const SizeFormula& b);
MaybeFormula product(const SizeFormula& a, const SizeFormula& b);
MaybeFormula floor_quotient(const SizeFormula& a, Size divisor);  // divisor > 0
MaybeFormula truncated_quotient(const SizeFormula& a, Size divisor);  // toward zero; divisor > 0
MaybeFormula least(const SizeFormula& a, const SizeFormula& b);
MaybeFormula greatest(const SizeFormula& a, const SizeFormula& b);

// The same with no quotient taken away: n - n / 2 is (n + 1) / 2.
MaybeFormula raised(const SizeFormula& formula);

// The same as the sum of `rest` and of so many times the least of a formula and a number: n - positive(n - 4) is the least of n and 4.
struct LeastOf {
  SizeFormula formula;
  Size bound = 0, count = 1;
};
struct SplitFormula {
  SizeFormula rest;
  std::vector<LeastOf> parts;
};
std::optional<SplitFormula> split_least(const SizeFormula& formula);

// What the number is never below and never above, whatever the sizes are, none of which is below 0. Nothing: it has no such bound.
struct SizeBounds {
  std::optional<Size> least, most;
};
SizeBounds bounds_of(const SizeFormula& formula);

// The sizes that it hangs on.
std::vector<SizeId> sizes_in(const SizeFormula& formula);
// Nothing: a number beyond 64 bits.
std::optional<Size> value_of(const SizeFormula& formula, const std::function<Size(SizeId)>& size);
// With other formulas in place of sizes; where `instead` says nothing the size stays.
MaybeFormula replaced(const SizeFormula& formula, const std::function<MaybeFormula(SizeId)>& instead);

// Whether `holds` of the formulas' values at every size that is tried: many in a row from 0 on, some far beyond, and those about
// their constants. Nothing where they hang on several sizes.
std::optional<bool> at_all_sizes(const std::vector<const SizeFormula*>& formulas,
                                 const std::function<bool(const std::vector<Size>&)>& holds);

}  // namespace convoy
