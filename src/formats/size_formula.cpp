#include "formats/size_formula.h"

#include <algorithm>
#include <set>

namespace convoy {

namespace {

using TermKind = SizeTerm::Kind;

constexpr std::size_t longest_text = 4096;

std::string term_text(const SizeTerm& term) {
  if (term.kind == TermKind::Single) return "s" + std::to_string(term.size);
  constexpr const char* words[] = {"", "quotient", "positive", "product"};
  std::string text = words[static_cast<std::size_t>(term.kind)];
  if (term.kind == TermKind::Quotient) text += std::to_string(term.divisor);
  text += '(';
  for (const SizeFormula& one : term.of) text += one.text() + ',';
  return text + ')';
}

MaybeFormula bounded(SizeFormula formula) {
  std::erase_if(formula.terms, [](const auto& entry) { return entry.second.second == 0; });
  return formula.text().size() <= longest_text ? std::optional(std::move(formula)) : std::nullopt;
}

MaybeFormula of_term(SizeTerm term) {
  SizeFormula formula;
  std::string text = term_text(term);
  formula.terms.emplace(std::move(text), std::pair(std::move(term), Size{1}));
  return bounded(std::move(formula));
}

Size floored(Size a, Size divisor) { return a / divisor - (a % divisor < 0 ? 1 : 0); }

std::optional<Size> added_bounds(std::optional<Size> a, std::optional<Size> b) {
  return a && b ? checked_add(*a, *b) : std::nullopt;
}

std::optional<Size> scaled_bound(std::optional<Size> a, Size b) { return a ? checked_multiply(*a, b) : std::nullopt; }

SizeBounds term_bounds(const SizeTerm& term) {
  if (term.kind == TermKind::Single) return {Size{0}, std::nullopt};
  std::vector<SizeBounds> all;
  for (const SizeFormula& one : term.of) all.push_back(bounds_of(one));
  switch (term.kind) {
    case TermKind::Quotient: {
      const auto over = [&](std::optional<Size> n) { return n ? std::optional(floored(*n, term.divisor)) : n; };
      return {over(all[0].least), over(all[0].most)};
    }
    case TermKind::Positive: {
      const auto positive = [](std::optional<Size> n) { return n ? std::optional(std::max<Size>(0, *n)) : n; };
      return {positive(all[0].least.value_or(0)), positive(all[0].most)};
    }
    default: break;
  }
  const bool none_negative = std::ranges::all_of(all, [](const SizeBounds& b) { return b.least && *b.least >= 0; });
  return {none_negative ? std::optional<Size>(0) : std::nullopt, std::nullopt};
}

// Of two that are each other's negative one stands for both: positive(-x) is positive(x) - x.
MaybeFormula positive(const SizeFormula& formula) {
  const SizeBounds bounds = bounds_of(formula);
  if (bounds.least && *bounds.least >= 0) return formula;
  if (bounds.most && *bounds.most <= 0) return SizeFormula::of(0);
  if (formula.terms.begin()->second.second > 0) return of_term({TermKind::Positive, -1, 1, {formula}});
  const auto turned = times(formula, -1);
  const auto other = turned ? positive(*turned) : std::nullopt;
  return other ? sum(formula, *other) : std::nullopt;
}

std::optional<Size> term_value(const SizeTerm& term, const std::function<Size(SizeId)>& size) {
  if (term.kind == TermKind::Single) return size(term.size);
  std::vector<Size> all;
  for (const SizeFormula& one : term.of) {
    const auto value = value_of(one, size);
    if (!value) return std::nullopt;
    all.push_back(*value);
  }
  if (term.kind == TermKind::Quotient) return floored(all[0], term.divisor);
  if (term.kind == TermKind::Positive) return std::max<Size>(0, all[0]);
  std::optional<Size> made = 1;
  for (const Size one : all) made = scaled_bound(made, one);
  return made;
}

MaybeFormula term_replaced(const SizeTerm& term, const std::function<MaybeFormula(SizeId)>& instead) {
  if (term.kind == TermKind::Single) {
    auto other = instead(term.size);
    return other ? other : SizeFormula::of_size(term.size);
  }
  std::vector<SizeFormula> all;
  for (const SizeFormula& one : term.of) {
    auto other = replaced(one, instead);
    if (!other) return std::nullopt;
    all.push_back(std::move(*other));
  }
  if (term.kind == TermKind::Quotient) return floor_quotient(all[0], term.divisor);
  if (term.kind == TermKind::Positive) return positive(all[0]);
  MaybeFormula made = all[0];
  for (std::size_t i = 1; made && i < all.size(); ++i) made = product(*made, all[i]);
  return made;
}

void gather_sizes(const SizeFormula& formula, std::set<SizeId>& found) {
  for (const auto& [text, entry] : formula.terms) {
    if (entry.first.kind == TermKind::Single) found.insert(entry.first.size);
    for (const SizeFormula& one : entry.first.of) gather_sizes(one, found);
  }
}

void gather_constants(const SizeFormula& formula, std::set<Size>& found) {
  found.insert(formula.constant < 0 ? -formula.constant : formula.constant);
  for (const auto& [text, entry] : formula.terms) {
    found.insert(entry.first.divisor);
    for (const SizeFormula& one : entry.first.of) gather_constants(one, found);
  }
}

// The formulas whose product it is.
std::vector<SizeFormula> factors_of(const SizeFormula& formula) {
  if (formula.constant == 0 && formula.terms.size() == 1) {
    const auto& [term, count] = formula.terms.begin()->second;
    if (count == 1 && term.kind == TermKind::Product) return term.of;
  }
  return {formula};
}

}  // namespace

SizeFormula SizeFormula::of(Size constant) { return {constant, {}}; }

SizeFormula SizeFormula::of_size(SizeId size) {
  SizeFormula formula;
  SizeTerm term{TermKind::Single, size, 1, {}};
  formula.terms.emplace(term_text(term), std::pair(term, Size{1}));
  return formula;
}

std::optional<SizeId> SizeFormula::single() const {
  if (constant != 0 || terms.size() != 1) return std::nullopt;
  const auto& [term, count] = terms.begin()->second;
  return term.kind == TermKind::Single && count == 1 ? std::optional(term.size) : std::nullopt;
}

std::string SizeFormula::text() const {
  std::string all = std::to_string(constant);
  for (const auto& [text, entry] : terms) all += '+' + std::to_string(entry.second) + '*' + text;
  return all;
}

bool operator==(const SizeFormula& a, const SizeFormula& b) { return a.text() == b.text(); }

MaybeFormula sum(const SizeFormula& a, const SizeFormula& b) {
  SizeFormula made = a;
  const auto constant = checked_add(a.constant, b.constant);
  if (!constant) return std::nullopt;
  made.constant = *constant;
  for (const auto& [text, entry] : b.terms) {
    const auto [at, added] = made.terms.emplace(text, entry);
    if (added) continue;
    const auto count = checked_add(at->second.second, entry.second);
    if (!count) return std::nullopt;
    at->second.second = *count;
  }
  return bounded(std::move(made));
}

MaybeFormula times(const SizeFormula& a, Size factor) {
  SizeFormula made = a;
  const auto constant = checked_multiply(a.constant, factor);
  if (!constant) return std::nullopt;
  made.constant = *constant;
  for (auto& [text, entry] : made.terms) {
    const auto count = checked_multiply(entry.second, factor);
    if (!count) return std::nullopt;
    entry.second = *count;
  }
  return bounded(std::move(made));
}

MaybeFormula difference(const SizeFormula& a, const SizeFormula& b) {
  const auto negative = times(b, -1);
  return negative ? sum(a, *negative) : std::nullopt;
}

// Sums are multiplied out, so that equal products have equal terms.
MaybeFormula product(const SizeFormula& a, const SizeFormula& b) {
  if (a.is_constant()) return times(b, a.constant);
  if (b.is_constant()) return times(a, b.constant);
  auto made = times(b, a.constant);
  for (const auto& [text, entry] : a.terms) {
    if (!made) return std::nullopt;
    const SizeFormula one{0, {{text, {entry.first, 1}}}};
    MaybeFormula row = times(one, b.constant);
    for (const auto& [other_text, other] : b.terms) {
      const SizeFormula second{0, {{other_text, {other.first, 1}}}};
      std::vector<SizeFormula> all = factors_of(one), more = factors_of(second);
      all.insert(all.end(), more.begin(), more.end());
      std::ranges::sort(all, {}, &SizeFormula::text);
      const auto term = of_term({TermKind::Product, -1, 1, std::move(all)});
      const auto counted = term ? times(*term, other.second) : std::nullopt;
      row = row && counted ? sum(*row, *counted) : std::nullopt;
    }
    const auto counted = row ? times(*row, entry.second) : std::nullopt;
    made = counted ? sum(*made, *counted) : std::nullopt;
  }
  return made;
}

// What the divisor divides is taken out, so that what is left of a constant is not negative.
MaybeFormula floor_quotient(const SizeFormula& a, Size divisor) {
  if (divisor < 1) return std::nullopt;
  SizeFormula whole = SizeFormula::of(floored(a.constant, divisor)), rest;
  rest.constant = a.constant - whole.constant * divisor;
  for (const auto& [text, entry] : a.terms) {
    const Size out = floored(entry.second, divisor), left = entry.second - out * divisor;
    if (out != 0) whole.terms.emplace(text, std::pair(entry.first, out));
    if (left != 0) rest.terms.emplace(text, std::pair(entry.first, left));
  }
  if (rest.is_constant()) return bounded(std::move(whole));
  // (x / 2 + 3) / 5 is (x + 6) / 10.
  if (rest.terms.size() == 1) {
    const auto& [term, count] = rest.terms.begin()->second;
    if (term.kind == TermKind::Quotient && count == 1) {
      const auto inner = checked_multiply(rest.constant, term.divisor), both = checked_multiply(divisor, term.divisor);
      const auto below = inner ? sum(term.of[0], SizeFormula::of(*inner)) : std::nullopt;
      const auto made = below && both ? floor_quotient(*below, *both) : std::nullopt;
      return made ? sum(whole, *made) : std::nullopt;
    }
  }
  const auto term = of_term({TermKind::Quotient, -1, divisor, {std::move(rest)}});
  return term ? sum(whole, *term) : std::nullopt;
}

MaybeFormula truncated_quotient(const SizeFormula& a, Size divisor) {
  const SizeBounds bounds = bounds_of(a);
  if (bounds.least && *bounds.least >= 0) return floor_quotient(a, divisor);
  const auto negative = times(a, -1);
  const auto above = greatest(a, SizeFormula::of(0)),
             below = negative ? greatest(*negative, SizeFormula::of(0)) : std::nullopt;
  const auto first = above ? floor_quotient(*above, divisor) : std::nullopt,
             second = below ? floor_quotient(*below, divisor) : std::nullopt;
  return first && second ? difference(*first, *second) : std::nullopt;
}

MaybeFormula greatest(const SizeFormula& a, const SizeFormula& b) {
  const auto apart = difference(a, b);
  const auto more = apart ? positive(*apart) : std::nullopt;
  return more ? sum(b, *more) : std::nullopt;
}

MaybeFormula least(const SizeFormula& a, const SizeFormula& b) {
  const auto apart = difference(a, b);
  const auto more = apart ? positive(*apart) : std::nullopt;
  return more ? difference(a, *more) : std::nullopt;
}

MaybeFormula raised(const SizeFormula& formula) {
  MaybeFormula made = SizeFormula::of(formula.constant);
  for (const auto& [text, entry] : formula.terms) {
    MaybeFormula one = SizeFormula{0, {{text, {entry.first, 1}}}};
    if (entry.second < 0 && entry.first.kind == TermKind::Quotient) {
      const auto turned = times(entry.first.of[0], -1);
      const auto above = turned ? sum(*turned, SizeFormula::of(entry.first.divisor - 1)) : std::nullopt;
      const auto other = above ? floor_quotient(*above, entry.first.divisor) : std::nullopt;
      one = other ? times(*other, -1) : std::nullopt;
    }
    const auto counted = one ? times(*one, entry.second) : std::nullopt;
    made = made && counted ? sum(*made, *counted) : std::nullopt;
  }
  return made;
}

std::optional<SplitFormula> split_least(const SizeFormula& formula) {
  SplitFormula split{SizeFormula::of(formula.constant), {}};
  for (const auto& [text, entry] : formula.terms) {
    const bool takes_away = entry.second < 0 && entry.first.kind == TermKind::Positive;
    MaybeFormula one = SizeFormula{0, {{text, entry}}};
    if (takes_away) {
      const SizeFormula& above = entry.first.of[0];
      const Size bound = std::max<Size>(0, -above.constant);
      const auto all = sum(above, SizeFormula::of(bound));
      if (!all) return std::nullopt;
      split.parts.push_back({*all, bound, -entry.second});
      one = times(*all, entry.second);
    }
    const auto more = one ? sum(split.rest, *one) : std::nullopt;
    if (!more) return std::nullopt;
    split.rest = *more;
  }
  return split;
}

namespace {

SizeBounds sum_bounds(const SizeFormula& formula) {
  SizeBounds all{formula.constant, formula.constant};
  for (const auto& [text, entry] : formula.terms) {
    const SizeBounds one = term_bounds(entry.first);
    const bool turned = entry.second < 0;
    all.least = added_bounds(all.least, scaled_bound(turned ? one.most : one.least, entry.second));
    all.most = added_bounds(all.most, scaled_bound(turned ? one.least : one.most, entry.second));
  }
  return all;
}

// Of a sum in which a difference is taken as 0 where it is below: the sum without it or with it as it is, whichever is more (less,
// where it is taken away).
SizeBounds bounds_by_cases(const SizeFormula& formula, int depth) {
  SizeBounds all = sum_bounds(formula);
  constexpr int most = 4;
  const auto found = std::ranges::find_if(
      formula.terms, [](const auto& term) { return term.second.first.kind == TermKind::Positive; });
  if (found == formula.terms.end() || depth == most) return all;
  const auto& [term, count] = found->second;
  SizeFormula rest = formula;
  rest.terms.erase(found->first);
  const auto own = times(term.of[0], count);
  const auto with = own ? sum(rest, *own) : std::nullopt;
  if (!with) return all;
  const SizeBounds first = bounds_by_cases(rest, depth + 1), second = bounds_by_cases(*with, depth + 1);
  const auto either = [](std::optional<Size> a, std::optional<Size> b, bool greater) {
    return !a ? b : !b ? a : std::optional(greater ? std::max(*a, *b) : std::min(*a, *b));
  };
  const auto both = [&](std::optional<Size> a, std::optional<Size> b, bool greater) {
    return a && b ? either(a, b, greater) : std::nullopt;
  };
  const bool adds = count > 0;
  const auto least = adds ? either(first.least, second.least, true) : both(first.least, second.least, false),
             most_of = adds ? both(first.most, second.most, true) : either(first.most, second.most, false);
  return {either(all.least, least, true), either(all.most, most_of, false)};
}

}  // namespace

SizeBounds bounds_of(const SizeFormula& formula) { return bounds_by_cases(formula, 0); }

std::vector<SizeId> sizes_in(const SizeFormula& formula) {
  std::set<SizeId> found;
  gather_sizes(formula, found);
  return {found.begin(), found.end()};
}

std::optional<Size> value_of(const SizeFormula& formula, const std::function<Size(SizeId)>& size) {
  std::optional<Size> all = formula.constant;
  for (const auto& [text, entry] : formula.terms)
    all = added_bounds(all, scaled_bound(term_value(entry.first, size), entry.second));
  return all;
}

MaybeFormula replaced(const SizeFormula& formula, const std::function<MaybeFormula(SizeId)>& instead) {
  MaybeFormula made = SizeFormula::of(formula.constant);
  for (const auto& [text, entry] : formula.terms) {
    const auto one = term_replaced(entry.first, instead);
    const auto counted = one ? times(*one, entry.second) : std::nullopt;
    made = made && counted ? sum(*made, *counted) : std::nullopt;
  }
  return made;
}

std::optional<bool> at_all_sizes(const std::vector<const SizeFormula*>& formulas,
                                 const std::function<bool(const std::vector<Size>&)>& holds) {
  std::set<SizeId> sizes;
  std::set<Size> constants;
  for (const SizeFormula* formula : formulas) gather_sizes(*formula, sizes), gather_constants(*formula, constants);
  if (sizes.size() > 1) return std::nullopt;
  constexpr Size in_a_row = 8192, farthest = Size{1} << 24;
  const auto holds_at = [&](Size n) {
    std::vector<Size> values;
    for (const SizeFormula* formula : formulas) {
      const auto value = value_of(*formula, [n](SizeId) { return n; });
      if (!value) return false;
      values.push_back(*value);
    }
    return holds(values);
  };
  for (Size n = 0; n <= in_a_row; ++n)
    if (!holds_at(n)) return false;
  for (Size n = in_a_row; n < farthest; n += n / 3 + 1)
    if (!holds_at(n)) return false;
  for (const Size n : constants)  // where one of two becomes the greater
    for (Size near = std::max<Size>(0, n - 2); n < farthest && near <= n + 2; ++near)
      if (!holds_at(near)) return false;
  return true;
}

}  // namespace convoy
