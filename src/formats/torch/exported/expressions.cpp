// The text is SymPy's srepr: calls of names with expressions, quoted words and key=value pairs inside. Functions are those of
// torch/utils/_sympy/functions.py.
#include "formats/torch/exported/expressions.h"

#include "base/budget.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

namespace convoy::torch {
namespace {

constexpr int most_depth = 100;
constexpr std::size_t most_terms = 2000;
constexpr double steps_of_term = 40;
constexpr double largest_exact = 9007199254740992.0;  // whole numbers below are exact

using Number = std::optional<double>;

double product_of(const std::vector<double>& all) {
  double product = 1;
  for (const double x : all) product *= x;
  return product;
}

double sum_of(const std::vector<double>& all) {
  double sum = 0;
  for (const double x : all) sum += x;
  return sum;
}

Number call_of_two(std::string_view name, double a, double b) {
  if (name == "Pow" || name == "PowByNatural" || name == "FloatPow") return std::pow(a, b);
  if (name == "StrictGreaterThan") return a > b;
  if (name == "GreaterThan") return a >= b;
  if (name == "StrictLessThan") return a < b;
  if (name == "LessThan") return a <= b;
  if (name == "Equality") return a == b;
  if (name == "Unequality") return a != b;
  if (b == 0) return std::nullopt;
  if (name == "FloorDiv" || name == "CleanDiv") return std::floor(a / b);
  if (name == "CeilDiv") return std::ceil(a / b);
  if (name == "Mod" || name == "PythonMod") return a - b * std::floor(a / b);
  if (name == "IntTrueDiv" || name == "FloatTrueDiv" || name == "Rational") return a / b;
  return std::nullopt;
}

Number call_of(std::string_view name, const std::vector<double>& all) {
  if (all.empty()) return std::nullopt;
  if (name == "Add") return sum_of(all);
  if (name == "Mul") return product_of(all);
  if (name == "Max") return *std::ranges::max_element(all);
  if (name == "Min") return *std::ranges::min_element(all);
  if (all.size() == 2) return call_of_two(name, all[0], all[1]);
  if (all.size() != 1) return std::nullopt;
  if (name == "Integer" || name == "Float" || name == "ToFloat" || name == "Identity") return all[0];
  if (name == "floor" || name == "FloorToInt") return std::floor(all[0]);
  if (name == "ceiling" || name == "CeilToInt") return std::ceil(all[0]);
  if (name == "TruncToInt" || name == "TruncToFloat") return std::trunc(all[0]);
  if (name == "RoundToInt") return std::nearbyint(all[0]);
  if (name == "Abs") return std::abs(all[0]);
  return std::nullopt;
}

class ExpressionText {
 public:
  explicit ExpressionText(std::string_view text) : text_(text) {}

  std::optional<SizeExpression> run() {
    auto found = expression(0);
    return found && at_ == text_.size() ? found : std::nullopt;
  }

 private:
  void spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char c) {
    spaces();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::string_view word() {
    spaces();
    const std::size_t first = at_;
    const auto belongs = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
             c == '-' || c == '+';
    };
    while (at_ < text_.size() && belongs(text_[at_])) ++at_;
    return text_.substr(first, at_ - first);
  }
  std::optional<std::string_view> quoted() {
    if (!take('\'')) return std::nullopt;
    const std::size_t end = text_.find('\'', at_);
    if (end == std::string_view::npos) return std::nullopt;
    const auto found = text_.substr(at_, end - at_);
    at_ = end + 1;
    return found;
  }

  // A number by its digits, which may be all there is between the parentheses of Integer and Float.
  static std::optional<SizeExpression> digits(std::string_view text) {
    const std::string copy(text);
    char* end = nullptr;
    const double value = std::strtod(copy.c_str(), &end);
    if (copy.empty() || *end != '\0' || !std::isfinite(value)) return std::nullopt;
    return SizeExpression{.function = {}, .name = {}, .number = value, .of = {}};
  }

  // What follows "Symbol('s0'": its assumptions, which say nothing about its number.
  bool skip_pairs() {
    while (take(',')) {
      word();
      if (!take('=') || word().empty()) return false;
    }
    return take(')');
  }

  std::optional<SizeExpression> expression(int depth) {
    if (depth > most_depth || ++terms_ > most_terms) return std::nullopt;
    const std::size_t before = terms_;
    const std::string_view name = word();
    if (!take('(')) return digits(name);
    if (name == "Symbol" || name == "Float") {
      const auto text = quoted();
      if (!text || !skip_pairs()) return std::nullopt;
      if (name == "Symbol") return SizeExpression{.function = "Symbol", .name = std::string(*text), .of = {}};
      auto number = digits(*text);
      if (number) number->is_fraction = true;
      return number;
    }
    SizeExpression all{.function = std::string(name), .name = {}, .of = {}};
    do {
      auto one = expression(depth + 1);
      if (!one) return std::nullopt;
      all.of.push_back(*std::move(one));
    } while (take(','));
    if (!take(')')) return std::nullopt;
    all.terms = terms_ - before + 1;
    return all;
  }

  std::string_view text_;
  std::size_t at_ = 0, terms_ = 0;
};

Number worked_out(const SizeExpression& expression, const KnownSymbols& known) {
  if (expression.function.empty()) return expression.number;
  if (expression.function == "Symbol") {
    const auto found = known.find(expression.name);
    return found == known.end() ? std::nullopt : Number(static_cast<double>(found->second));
  }
  std::vector<double> all;
  for (const SizeExpression& one : expression.of) {
    const Number number = worked_out(one, known);
    if (!number) return std::nullopt;
    all.push_back(*number);
  }
  return call_of(expression.function, all);
}

// The one symbol that the text names, however often.
std::optional<std::string> only_symbol(std::string_view text) {
  constexpr std::string_view opening = "Symbol('";
  std::optional<std::string> only;
  for (std::size_t at = text.find(opening); at != std::string_view::npos; at = text.find(opening, at)) {
    at += opening.size();
    const std::string name(text.substr(at, text.find('\'', at) - at));
    if (only && *only != name) return std::nullopt;
    only = name;
  }
  return only;
}

}  // namespace

std::optional<SizeExpression> parsed(std::string_view expression) { return ExpressionText(expression).run(); }

std::optional<Size> value_of(const SizeExpression& expression, const KnownSymbols& known) {
  if (!budget::spend(steps_of_term * static_cast<double>(expression.terms), "the sizes of an exported program"))
    return std::nullopt;
  const Number value = worked_out(expression, known);
  if (!value || *value != std::floor(*value) || std::abs(*value) >= largest_exact) return std::nullopt;
  return static_cast<Size>(*value);
}

std::optional<Size> value_of(std::string_view expression, const KnownSymbols& known) {
  const auto found = parsed(expression);
  return found ? value_of(*found, known) : std::nullopt;
}

std::optional<std::pair<std::string, Size>> solved(std::string_view expression, Size value) {
  const auto name = only_symbol(expression);
  if (!name) return std::nullopt;
  const auto at = [&](Size number) { return value_of(expression, {{*name, number}}); };
  const auto zero = at(0), one = at(1);
  if (!zero || !one || *one <= *zero || value < *zero || value >= static_cast<Size>(largest_exact) ||
      (value - *zero) % (*one - *zero) != 0)
    return std::nullopt;
  const Size number = (value - *zero) / (*one - *zero);
  if (at(number) != value) return std::nullopt;
  return std::pair{*name, number};
}

}  // namespace convoy::torch
