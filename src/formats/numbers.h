// Numbers that a model computes about its own shapes, while it is read: known ones, multiples of sizes that are not
// known beforehand, and what whole arithmetic makes of them. Exported models say "flatten" or "twice as large" by such little computations.
#pragma once
#include "base/whole_tensor.h"
#include "convoy/tensor.h"
#include "formats/size_formula.h"
#include "ops/activation.h"
#include "ops/elementwise.h"
#include "ops/reduction.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace convoy {

struct Number {
  enum class Kind : std::uint8_t { Unknown, Whole, Real, Multiple, Computed };
  Kind kind = Kind::Unknown;
  std::int64_t whole = 0;  // of Multiple: what is added
  double real = 0;  // of Multiple: the factor
  SizeId size = -1;  // of Multiple
  std::shared_ptr<const SizeFormula> formula{};  // of Computed: a whole number that is no multiple of one size

  static Number of(std::int64_t n) { return {Kind::Whole, n, 0, -1, {}}; }
  static Number of(double n) { return {Kind::Real, 0, n, -1, {}}; }
  static Number multiple(double factor, SizeId size, std::int64_t added = 0) {
    return {Kind::Multiple, added, factor, size, {}};
  }
  // A size, so many times over, and nothing added.
  bool is_multiple(double factor) const { return kind == Kind::Multiple && real == factor && whole == 0; }
  bool known() const { return kind == Kind::Whole || kind == Kind::Real; }
  double value() const { return kind == Kind::Whole ? static_cast<double>(whole) : real; }
  friend bool operator==(const Number& a, const Number& b) {
    return a.kind == b.kind && a.whole == b.whole && a.real == b.real && a.size == b.size &&
           (a.formula == b.formula || (a.formula && b.formula && *a.formula == *b.formula));
  }
};

// A whole number as a formula. Nothing: another number.
MaybeFormula formula_of(const Number& number);
// The factor of a Multiple as a quotient of whole numbers, both small: 160 / 441. Nothing: it is none.
std::optional<std::pair<Size, Size>> fraction_of(const Number& number);
// The simplest kind of number that it is; of kind Unknown where there is none.
Number number_of(const MaybeFormula& formula);

struct Numbers {
  DType dtype = DType::I64;  // whole, Bool or floating
  Sizes shape;
  std::vector<Number> all;

  bool known() const;
  Result<Tensor> tensor() const;  // where all are known
};

// Of a small tensor.
Numbers numbers_of(const Tensor& tensor);
Numbers numbers_of(const Shape& shape, std::span<const SizeId> sizes);

// More than these are not followed.
inline constexpr Size most_numbers = 65536;

// Nothing: not of the arithmetic that is followed here, shapes that do not meet, or too many numbers. A number that does
// not follow from what is known is Unknown.
std::optional<Numbers> by_pairs(BinaryFunction function, const Numbers& a, const Numbers& b);
// Of two whole numbers; of kind Unknown where it does not follow.
Number of_whole(BinaryFunction function, const Number& a, const Number& b);
std::optional<Numbers> one_by_one(Function function, const Numbers& x);
std::optional<Numbers> chosen(const Numbers& condition, const Numbers& yes, const Numbers& no);
std::optional<Numbers> range(const std::vector<const Numbers*>& in);  // start, limit, step
// All numbers folded into one; axes must be all there are.
std::optional<Numbers> folded(Reduction reduction, bool keeps_axes, const Numbers& x);
Numbers as_type(const Numbers& x, DType dtype);

// What an operator does that only moves numbers: `compute` runs it on places in stead of numbers. `count`: how many inputs,
// from the first, hold the numbers that move.
using ComputePlaces = std::function<Result<std::vector<Tensor>>(const std::vector<std::optional<Tensor>>&)>;
std::optional<std::vector<Numbers>> moved(const std::vector<const Numbers*>& in, std::size_t count,
                                          const ComputePlaces& compute);

}  // namespace convoy
