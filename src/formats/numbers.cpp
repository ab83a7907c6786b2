// Shape arithmetic on whole numbers, which divide toward zero unless the function says otherwise.
#include "formats/numbers.h"

#include "ops/expect.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace convoy {
namespace {

using Kind = Number::Kind;

bool whole_factor(const Number& n) { return n.real == std::floor(n.real); }

// A part in 2, 4, 8, ... floating numbers round to nothing else. So they do a quotient by another number: it lies as far from the next
// whole number as one part, which is more than the rounding of all sizes that they hold. Float64 has the same numbers for products with
// 1 / 49, which are below 1 at 49: there a quotient is none that is known.
Number rounded_multiple(const Number& n, bool down, DType dtype) {
  const auto parts = fraction_of(n);
  if (!parts || ((parts->second & (parts->second - 1)) != 0 && dtype != DType::F32)) return {};
  const Size divisor = parts->second;
  const auto top = times(SizeFormula::of_size(n.size), parts->first), more = times(SizeFormula::of(n.whole), divisor);
  const auto all = top && more ? sum(*top, *more) : std::nullopt;
  const auto raised = all && !down ? sum(*all, SizeFormula::of(divisor - 1)) : all;
  return raised ? number_of(floor_quotient(*raised, divisor)) : Number{};
}

// Of whole numbers by their formulas.
Number by_formulas(BinaryFunction function, const Number& a, const Number& b) {
  using enum BinaryFunction;
  const auto x = formula_of(a), y = formula_of(b);
  if (!x || !y) return {};
  const bool by_number = y->is_constant() && y->constant > 0;
  switch (function) {
    case Add: return number_of(sum(*x, *y));
    case Subtract: return number_of(difference(*x, *y));
    case Multiply: return number_of(product(*x, *y));
    case Divide:
    case TruncateDivide: return by_number ? number_of(truncated_quotient(*x, y->constant)) : Number{};
    case FloorDivide: return by_number ? number_of(floor_quotient(*x, y->constant)) : Number{};
    case Modulo: {
      const auto over = by_number ? floor_quotient(*x, y->constant) : std::nullopt;
      const auto whole = over ? times(*over, y->constant) : std::nullopt;
      return whole ? number_of(difference(*x, *whole)) : Number{};
    }
    case Minimum: return number_of(least(*x, *y));
    case Maximum: return number_of(greatest(*x, *y));
    default: return {};
  }
}

Number add(const Number& a, const Number& b, bool whole) {
  if (a.kind == Kind::Whole && b.kind == Kind::Whole) {
    const auto sum = checked_add(a.whole, b.whole);
    return sum ? Number::of(*sum) : Number{};
  }
  if (a.known() && b.known()) return whole ? Number{} : Number::of(a.value() + b.value());
  if (a.known() && a.value() == 0) return b;
  if (b.known() && b.value() == 0) return a;
  const bool both = a.kind == Kind::Multiple && b.kind == Kind::Multiple && a.size == b.size;
  const bool shifted =
      (a.kind == Kind::Multiple && b.kind == Kind::Whole) || (a.kind == Kind::Whole && b.kind == Kind::Multiple);
  const auto added = both || shifted ? checked_add(a.whole, b.whole) : std::nullopt;
  if (!added) return {};
  const double factor = a.real + b.real;  // of a whole number: 0
  return factor == 0 ? Number::of(*added)
                     : Number::multiple(factor, a.kind == Kind::Multiple ? a.size : b.size, *added);
}

// A multiple so many times over; what is added must stay whole.
Number scaled(const Number& multiple, const Number& by) {
  if (multiple.whole == 0) return Number::multiple(multiple.real * by.value(), multiple.size);
  const auto added = by.kind == Kind::Whole ? checked_multiply(multiple.whole, by.whole) : std::nullopt;
  return added ? Number::multiple(multiple.real * by.value(), multiple.size, *added) : Number{};
}

Number multiply(const Number& a, const Number& b, bool whole) {
  if (a.kind == Kind::Whole && b.kind == Kind::Whole) {
    const auto product = checked_multiply(a.whole, b.whole);
    return product ? Number::of(*product) : Number{};
  }
  if (a.known() && b.known()) return whole ? Number{} : Number::of(a.value() * b.value());
  if (a.kind == Kind::Multiple && b.known() && b.value() != 0) return scaled(a, b);
  if (b.kind == Kind::Multiple && a.known() && a.value() != 0) return scaled(b, a);
  return {};
}

Number divide(const Number& a, const Number& b, bool whole) {
  if (a.kind == Kind::Whole && b.kind == Kind::Whole && whole)
    return b.whole == 0 || b.whole == -1 ? (b.whole == 0 ? Number{} : multiply(a, b, true))
                                         : Number::of(a.whole / b.whole);
  if (b.known() && b.value() == 0) return {};
  if (a.known() && b.known()) return whole ? Number{} : Number::of(a.value() / b.value());
  if (a.kind != Kind::Multiple) return {};
  if (b.kind == Kind::Multiple) {
    if (a.size != b.size || a.whole != 0 || b.whole != 0) return {};
    const double ratio = a.real / b.real;
    if (!whole) return Number::of(ratio);
    return ratio == std::floor(ratio) ? Number::of(static_cast<std::int64_t>(ratio)) : Number{};
  }
  if (a.whole != 0 && (b.kind != Kind::Whole || b.whole == -1 || a.whole % b.whole != 0)) return {};
  const Number quotient = Number::multiple(a.real / b.value(), a.size, a.whole == 0 ? 0 : a.whole / b.whole);
  return !whole || whole_factor(quotient) ? quotient : Number{};
}

Number floor_divide(const Number& a, const Number& b, bool whole) {
  if (!whole || a.kind != Kind::Whole || b.kind != Kind::Whole) return whole ? divide(a, b, whole) : Number{};
  const bool rounds_down = b.whole != 0 && b.whole != -1 && a.whole % b.whole != 0 && (a.whole < 0) != (b.whole < 0);
  const Number quotient = divide(a, b, whole);
  return rounds_down ? Number::of(quotient.whole - 1) : quotient;
}

Number modulo(const Number& a, const Number& b) {
  if (a.kind != Kind::Whole || b.kind != Kind::Whole || b.whole == 0 || b.whole == -1) return {};
  const std::int64_t rest = a.whole % b.whole;
  return Number::of(rest != 0 && (rest < 0) != (b.whole < 0) ? rest + b.whole : rest);
}

Number negated(const Number& a) { return multiply(a, Number::of(std::int64_t{-1}), a.kind == Kind::Whole); }

// Of equal or known numbers, and where bounds tell.
std::optional<int> order(const Number& a, const Number& b, bool whole) {
  if (a == b && a.kind != Kind::Unknown) return 0;
  if (a.kind == Kind::Whole && b.kind == Kind::Whole) return a.whole < b.whole ? -1 : 1;
  if (!a.known() || !b.known()) {
    const auto x = whole ? formula_of(a) : std::nullopt, y = whole ? formula_of(b) : std::nullopt;
    const auto apart = x && y ? difference(*x, *y) : std::nullopt;
    if (!apart) return std::nullopt;
    const SizeBounds bounds = bounds_of(*apart);
    return bounds.least && *bounds.least > 0 ? std::optional(1)
           : bounds.most && *bounds.most < 0 ? std::optional(-1)
                                             : std::nullopt;
  }
  return a.value() < b.value() ? -1 : a.value() > b.value() ? 1 : 0;
}

// What a type of fewer bits keeps, as the frameworks' own arithmetic does: 10 times 0.7 is 7 in float32, where its factor is a bit less.
Number held(Number n, DType dtype) {
  if (n.kind == Kind::Real && dtype == DType::F32) n.real = static_cast<float>(n.real);
  else if (n.kind == Kind::Real && is_half(dtype))
    n.real = Tensor::of({}, std::vector{n.real}).converted(dtype).doubles().front();
  if (n.kind == Kind::Whole && dtype != DType::Bool) n.whole = wrapped(n.whole, dtype);
  return n;
}

Number truth(bool value) { return Number::of(std::int64_t{value}); }

bool is_known_binary(BinaryFunction function) {
  return function != BinaryFunction::Power && function != BinaryFunction::Xor &&
         function != BinaryFunction::Remainder && !works_on_bits(function);
}

Number simple_binary(BinaryFunction function, const Number& a, const Number& b, bool whole) {
  using enum BinaryFunction;
  switch (function) {
    case Add: return add(a, b, whole);
    case Subtract: return add(a, negated(b), whole);
    case Multiply: return multiply(a, b, whole);
    case Divide:
    case TruncateDivide: return divide(a, b, whole);
    case FloorDivide: return floor_divide(a, b, whole);
    case Modulo: return modulo(a, b);
    case And:
    case Or:
      if (!a.known() || !b.known()) return {};
      return truth(function == And ? a.value() != 0 && b.value() != 0 : a.value() != 0 || b.value() != 0);
    default: break;
  }
  const auto less = order(a, b, whole);
  if (!less) return {};
  switch (function) {
    case Minimum: return *less <= 0 ? a : b;
    case Maximum: return *less >= 0 ? a : b;
    case Equal: return truth(*less == 0);
    case Less: return truth(*less < 0);
    case LessOrEqual: return truth(*less <= 0);
    case Greater: return truth(*less > 0);
    case GreaterOrEqual: return truth(*less >= 0);
    default: return {};
  }
}

Number binary(BinaryFunction function, const Number& a, const Number& b, bool whole) {
  const Number simple = simple_binary(function, a, b, whole);
  return whole && simple.kind == Kind::Unknown ? by_formulas(function, a, b) : simple;
}

std::optional<Sizes> met(const Sizes& a, const Sizes& b) {
  Sizes shape(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const Size x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) return std::nullopt;
    shape[shape.size() - 1 - i] = x == 1 ? y : x;
  }
  const auto count = checked_count(shape);
  return count && *count <= most_numbers ? std::optional(shape) : std::nullopt;
}

// The number of `from` that stands at place i of `shape`.
const Number& stretched(const Numbers& from, const Sizes& shape, std::size_t i) {
  std::size_t place = 0, step = 1;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const auto size = static_cast<std::size_t>(shape[shape.size() - 1 - axis]);
    const std::size_t at = i % size;
    i /= size;
    if (axis >= from.shape.size()) continue;
    const auto mine = static_cast<std::size_t>(from.shape[from.shape.size() - 1 - axis]);
    if (mine != 1) place += at * step;
    step *= mine;
  }
  return from.all[place];
}

Number cast(const Number& n, DType from, DType to) {
  if (is_floating(to)) return n.kind == Kind::Whole ? Number::of(static_cast<double>(n.whole)) : n;
  if (to == DType::Bool) return n.known() ? truth(n.value() != 0) : Number{};
  if (n.kind == Kind::Real && std::abs(n.real) < 0x1p53) return Number::of(static_cast<std::int64_t>(n.real));
  if (n.kind == Kind::Multiple && !whole_factor(n))
    return n.real > 0 && n.whole >= 0 ? rounded_multiple(n, true, from) : Number{};
  return n.kind == Kind::Real ? Number{} : n;
}

bool is_known_unary(Function f) {
  return f == Function::Sqrt || f == Function::Not || (keeps_whole(f) && f != Function::Sign);
}

Number unary(Function function, const Number& n, DType dtype) {
  const bool is_whole =
      n.kind == Kind::Whole || n.kind == Kind::Computed || (n.kind == Kind::Multiple && whole_factor(n));
  switch (function) {
    case Function::Negate:
      return n.kind == Kind::Computed ? by_formulas(BinaryFunction::Subtract, Number::of(std::int64_t{0}), n)
                                      : negated(n);
    case Function::Not: return n.known() ? truth(n.value() == 0) : Number{};
    case Function::Sqrt: return n.kind == Kind::Real ? Number::of(std::sqrt(n.real)) : Number{};
    case Function::Abs:
      if (n.kind == Kind::Whole && n.whole < 0) return negated(n);
      if (is_whole && !n.known()) return by_formulas(BinaryFunction::Maximum, n, unary(Function::Negate, n, dtype));
      if (n.kind == Kind::Multiple) return {};
      return n.kind == Kind::Real ? Number::of(std::abs(n.real)) : n;
    case Function::Floor:
      if (n.kind == Kind::Multiple && !is_whole) return rounded_multiple(n, true, dtype);
      return is_whole ? n : n.kind == Kind::Real ? Number::of(std::floor(n.real)) : Number{};
    case Function::Ceil:
      if (n.kind == Kind::Multiple && !is_whole) return rounded_multiple(n, false, dtype);
      return is_whole ? n : n.kind == Kind::Real ? Number::of(std::ceil(n.real)) : Number{};
    case Function::Round: return is_whole ? n : n.kind == Kind::Real ? Number::of(std::nearbyint(n.real)) : Number{};
    default: return {};
  }
}

std::optional<Numbers> range_of_reals(const std::vector<const Numbers*>& in) {
  const double start = in[0]->all[0].value(), limit = in[1]->all[0].value(), step = in[2]->all[0].value();
  const double count = step == 0 ? 0 : std::max(0.0, std::ceil((limit - start) / step));
  if (step == 0 || !(count <= static_cast<double>(most_numbers))) return std::nullopt;
  Numbers out{in[0]->dtype, {static_cast<Size>(count)}, {}};
  for (Size i = 0; i < out.shape[0]; ++i) out.all.push_back(Number::of(start + static_cast<double>(i) * step));
  return out;
}

}  // namespace

MaybeFormula formula_of(const Number& number) {
  if (number.kind == Kind::Whole) return SizeFormula::of(number.whole);
  if (number.kind == Kind::Computed) return *number.formula;
  if (number.kind != Kind::Multiple || !whole_factor(number) || std::abs(number.real) > 0x1p40) return std::nullopt;
  const auto multiple = times(SizeFormula::of_size(number.size), static_cast<Size>(number.real));
  return multiple ? sum(*multiple, SizeFormula::of(number.whole)) : std::nullopt;
}

std::optional<std::pair<Size, Size>> fraction_of(const Number& number) {
  constexpr Size most = 4096;
  if (number.kind != Kind::Multiple || !(std::abs(number.real) < 0x1p20)) return std::nullopt;
  for (Size parts = 1; parts <= most; ++parts) {
    const double top = std::round(number.real * static_cast<double>(parts));
    if (top != 0 && std::abs(top) < 0x1p20 && top / static_cast<double>(parts) == number.real)
      return std::pair(static_cast<Size>(top), parts);
  }
  return std::nullopt;
}

Number number_of(const MaybeFormula& formula) {
  if (!formula) return {};
  if (formula->is_constant()) return Number::of(formula->constant);
  if (formula->terms.size() == 1) {
    const auto& [term, count] = formula->terms.begin()->second;
    if (term.kind == SizeTerm::Kind::Single && std::abs(static_cast<double>(count)) < 0x1p40)
      return Number::multiple(static_cast<double>(count), term.size, formula->constant);
  }
  Number number{Kind::Computed, 0, 0, -1, {}};
  number.formula = std::make_shared<SizeFormula>(*formula);
  return number;
}

Number of_whole(BinaryFunction function, const Number& a, const Number& b) {
  return is_known_binary(function) ? binary(function, a, b, true) : Number{};
}

std::optional<Numbers> by_pairs(BinaryFunction function, const Numbers& a, const Numbers& b) {
  if (!is_known_binary(function)) return std::nullopt;
  const auto shape = met(a.shape, b.shape);
  const auto count = shape ? checked_count(*shape) : std::nullopt;
  if (!count || *count > most_numbers) return std::nullopt;
  const bool whole = !is_floating(a.dtype);
  Numbers out{gives_truth(function) ? DType::Bool : a.dtype, *shape, {}};
  for (std::size_t i = 0; i < static_cast<std::size_t>(*count); ++i)
    out.all.push_back(held(binary(function, stretched(a, *shape, i), stretched(b, *shape, i), whole), out.dtype));
  return out;
}

std::optional<Numbers> chosen(const Numbers& condition, const Numbers& yes, const Numbers& no) {
  const auto first = met(condition.shape, yes.shape);
  const auto shape = first ? met(*first, no.shape) : std::nullopt;
  const auto count = shape ? checked_count(*shape) : std::nullopt;
  if (!count || *count > most_numbers) return std::nullopt;
  Numbers out{yes.dtype, *shape, {}};
  for (std::size_t i = 0; i < static_cast<std::size_t>(*count); ++i) {
    const Number& which = stretched(condition, *shape, i);
    const Number &one = stretched(yes, *shape, i), &other = stretched(no, *shape, i);
    out.all.push_back(which.known() ? (which.value() != 0 ? one : other) : one == other ? one : Number{});
  }
  return out;
}

Numbers as_type(const Numbers& x, DType dtype) {
  Numbers out{dtype, x.shape, {}};
  for (const Number& n : x.all) out.all.push_back(held(cast(n, x.dtype, dtype), dtype));
  return out;
}

std::optional<Numbers> one_by_one(Function function, const Numbers& x) {
  if (!is_known_unary(function)) return std::nullopt;
  Numbers out{x.dtype, x.shape, {}};
  for (const Number& n : x.all) out.all.push_back(held(unary(function, n, x.dtype), x.dtype));
  return out;
}

std::optional<Numbers> folded(Reduction reduction, bool keeps_axes, const Numbers& x) {
  if (reduction == Reduction::Mean || x.shape.size() > 1 || x.all.empty()) return std::nullopt;
  Number sum = x.all.front();
  const bool whole = !is_floating(x.dtype);
  for (std::size_t i = 1; i < x.all.size(); ++i) {
    if (reduction == Reduction::Product) sum = multiply(sum, x.all[i], whole);
    else if (reduction == Reduction::Sum) sum = add(sum, x.all[i], whole);
    else if (reduction == Reduction::Maximum) sum = binary(BinaryFunction::Maximum, sum, x.all[i], whole);
    else sum = binary(BinaryFunction::Minimum, sum, x.all[i], whole);
    sum = held(sum, x.dtype);
  }
  const bool kept = keeps_axes && !x.shape.empty();
  return Numbers{x.dtype, kept ? Sizes{1} : Sizes{}, {sum}};
}

std::optional<Numbers> range(const std::vector<const Numbers*>& in) {
  if (in.size() != 3) return std::nullopt;
  bool whole = true;
  for (const Numbers* n : in) {
    if (!n || n->all.size() != 1 || !n->all[0].known()) return std::nullopt;
    whole = whole && n->all[0].kind == Kind::Whole;
  }
  if (!whole) return range_of_reals(in);
  const std::int64_t start = in[0]->all[0].whole, limit = in[1]->all[0].whole, step = in[2]->all[0].whole;
  if (step == 0 || step == std::numeric_limits<std::int64_t>::min()) return std::nullopt;
  if (std::abs(static_cast<double>(limit) - static_cast<double>(start)) > 1e9) return std::nullopt;
  const Size length = step > 0 ? limit - start : start - limit,
             count = length <= 0 ? 0 : (length - 1) / std::abs(step) + 1;
  if (count > most_numbers) return std::nullopt;
  Numbers out{in[0]->dtype, {count}, {}};
  for (Size i = 0; i < count; ++i) out.all.push_back(Number::of(std::int64_t{start + i * step}));
  return out;
}

std::optional<std::vector<Numbers>> moved(const std::vector<const Numbers*>& in, std::size_t count,
                                          const ComputePlaces& compute) {
  std::vector<std::optional<Tensor>> tensors;
  std::vector<Number> pool;
  DType dtype = DType::I64;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!in[i]) {
      tensors.emplace_back();
      continue;
    }
    if (i >= count) {
      auto known = in[i]->tensor();
      if (!known) return std::nullopt;
      tensors.emplace_back(std::move(*known));
      continue;
    }
    dtype = in[i]->dtype;
    std::vector<std::int64_t> places(in[i]->all.size());
    std::iota(places.begin(), places.end(), static_cast<std::int64_t>(pool.size()));
    pool.insert(pool.end(), in[i]->all.begin(), in[i]->all.end());
    tensors.emplace_back(Tensor::of(in[i]->shape, std::move(places)));
  }
  auto results = compute(tensors);
  if (!results) return std::nullopt;
  std::vector<Numbers> out;
  for (const Tensor& places : *results) {
    Numbers& one = out.emplace_back(Numbers{dtype, places.shape(), {}});
    if (places.count() > most_numbers) return std::nullopt;
    for (const std::int64_t place : places.integers()) one.all.push_back(pool[static_cast<std::size_t>(place)]);
  }
  return out;
}

bool Numbers::known() const { return std::ranges::all_of(all, &Number::known); }

Result<Tensor> Numbers::tensor() const {
  if (!known()) return fail(Fault::Unsupported, "is computed from sizes that are not known beforehand");
  if (is_floating(dtype)) {
    std::vector<double> reals;
    for (const Number& n : all) reals.push_back(n.value());
    return Tensor::of(shape, std::move(reals)).converted(dtype);
  }
  std::vector<std::int64_t> wholes;
  for (const Number& n : all) wholes.push_back(n.kind == Kind::Whole ? n.whole : static_cast<std::int64_t>(n.real));
  return whole_tensor(dtype, shape, std::move(wholes));
}

Numbers numbers_of(const Tensor& tensor) {
  Numbers numbers{tensor.dtype(), tensor.shape(), {}};
  if (is_floating(tensor.dtype()))
    for (const double n : tensor.doubles()) numbers.all.push_back(Number::of(n));
  else
    for (const std::int64_t n : tensor.integers()) numbers.all.push_back(Number::of(n));
  return numbers;
}

Numbers numbers_of(const Shape& shape, std::span<const SizeId> sizes) {
  Numbers numbers{DType::I64, {static_cast<Size>(shape.size())}, {}};
  for (std::size_t i = 0; i < shape.size(); ++i)
    numbers.all.push_back(shape[i].known() ? Number::of(std::int64_t{*shape[i]}) : Number::multiple(1, sizes[i]));
  return numbers;
}

}  // namespace convoy
