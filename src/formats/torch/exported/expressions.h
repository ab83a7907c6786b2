// Sizes that an exported program computes from its free ones: expressions as SymPy writes them, worked out for numbers.
#pragma once
#include "convoy/size.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convoy::torch {

using KnownSymbols = std::map<std::string, Size, std::less<>>;

// An expression by its parts: a symbol, a number, or a function of others.
struct SizeExpression {
  std::string function;  // "Symbol": `name`; empty: `number`
  std::string name;
  double number = 0;
  bool is_fraction = false;  // the number is written as one
  std::vector<SizeExpression> of;
  std::size_t terms = 1;  // with those of its parts
};
// Nothing: text that is no such expression, or has more terms than any program's.
std::optional<SizeExpression> parsed(std::string_view expression);
// Nothing: a symbol that is not known, a function that is not, a value that is no whole number; more work than the budget has.
std::optional<Size> value_of(const SizeExpression& expression, const KnownSymbols& known);

// "Add(FloorDiv(Symbol('s0', positive=True, integer=True), Integer(2)), Integer(1))" with s0 = 7 is 4. Nothing: a symbol that
// is not known, a function that is not, a value that is no whole number, text that is no such expression.
std::optional<Size> value_of(std::string_view expression, const KnownSymbols& known);

// The one symbol of `expression` and which number of it makes the whole `value`, where the expression grows with it
// steadily: 8 * s0 = 24 says s0 = 3. Nothing: another number of symbols; no whole number does.
std::optional<std::pair<std::string, Size>> solved(std::string_view expression, Size value);

}  // namespace convoy::torch
