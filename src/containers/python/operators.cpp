// Arithmetic and comparisons. Whole numbers have 64 bits, and what needs more is refused.
#include "containers/python/division.h"
#include "containers/python/interpreter.h"
#include "containers/python/kinds.h"
#include "containers/python/unread.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace convoy::python {
namespace {

std::unexpected<Error> too_large() {
  return fail(Fault::Limit, "the result is beyond 2^63 - 1, the largest whole number");
}

bool divides_by_zero(std::string_view symbol, const Value& a, const Value& b) {
  if (symbol == "**") return a.real() == 0 && b.real() < 0;
  return (symbol == "/" || symbol == "//" || symbol == "%") && b.real() == 0;
}

// What Python raises an OverflowError for and what is complex is refused.
Result<std::optional<Value>> real_power(double x, double y) {
  if (x < 0 && std::isfinite(y) && std::isfinite(x) && y != std::floor(y))
    return fail(Fault::Unsupported, "a complex number");
  const double made = std::pow(x, y);
  if (std::isinf(made) && std::isfinite(x) && std::isfinite(y))
    return fail(Fault::Format, "a power that is larger than a float");
  return Value::of(made);
}

Result<Value> whole_power(std::int64_t a, std::int64_t exponent) {
  if (exponent < 0) return Value::of(std::pow(static_cast<double>(a), static_cast<double>(exponent)));
  std::int64_t result = 1;
  if (a >= -1 && a <= 1) exponent = exponent > 1 ? 2 - exponent % 2 : exponent;
  for (; exponent > 0; --exponent)
    if (__builtin_mul_overflow(result, a, &result)) return too_large();
  return Value::of(result);
}

Result<std::optional<Value>> bits(std::string_view symbol, Value x, Value y) {
  const std::int64_t a = x.whole(), b = y.whole();
  const bool truths = x.is_truth() && y.is_truth();
  const auto made = [&](std::int64_t r) { return truths ? Value::of(r != 0) : Value::of(r); };
  if (symbol == "&") return made(a & b);
  if (symbol == "|") return made(a | b);
  if (symbol == "^") return made(a ^ b);
  if (symbol != "<<" && symbol != ">>") return std::nullopt;
  if (b < 0) return fail(Fault::Format, "shifts by " + std::to_string(b) + " bits");
  if (symbol == ">>") return Value::of(b > 62 ? (a < 0 ? std::int64_t{-1} : std::int64_t{0}) : a >> b);
  if (a == 0) return Value::of(std::int64_t{0});
  std::int64_t r = 0;
  if (b > 62 || __builtin_mul_overflow(a, std::int64_t{1} << b, &r)) return too_large();
  return Value::of(r);
}

Result<std::optional<Value>> whole(std::string_view symbol, Value x, Value y) {
  const std::int64_t a = x.whole(), b = y.whole();
  std::int64_t r = 0;
  bool over = false;
  if (symbol == "+") over = __builtin_add_overflow(a, b, &r);
  else if (symbol == "-") over = __builtin_sub_overflow(a, b, &r);
  else if (symbol == "*") over = __builtin_mul_overflow(a, b, &r);
  else if (symbol == "**") return whole_power(a, b);
  else if (symbol == "//" || symbol == "%") {
    if (b == -1) over = symbol == "//" && __builtin_sub_overflow(std::int64_t{0}, a, &r);
    else if (symbol == "//") r = a / b - (a % b != 0 && (a < 0) != (b < 0));
    else r = a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
  } else {
    return bits(symbol, x, y);
  }
  if (over) return too_large();
  return Value::of(r);
}

Result<std::optional<Value>> numbers(std::string_view symbol, Value a, Value b) {
  if (a.is_whole() && b.is_whole() && symbol != "/") return whole(symbol, a, b);
  const double x = a.real(), y = b.real();
  if (symbol == "+") return Value::of(x + y);
  if (symbol == "-") return Value::of(x - y);
  if (symbol == "*") return Value::of(x * y);
  if (symbol == "/") return Value::of(a.is_whole() && b.is_whole() ? quotient(a.whole(), b.whole()) : x / y);
  if (symbol == "//") return Value::of(divided(x, y).times);
  if (symbol == "%") return Value::of(divided(x, y).rest);
  if (symbol == "**") return real_power(x, y);
  return std::nullopt;
}

bool less(const Value& a, const Value& b) {
  if (a.is_whole() && b.is_whole()) return a.whole() < b.whole();
  if (a.is_whole()) return is_less(a.whole(), b.real());
  return b.is_whole() ? is_less(a.real(), b.whole()) : a.real() < b.real();
}

bool alike(const Value& a, const Value& b) {
  if (a.is_whole() && b.is_whole()) return a.whole() == b.whole();
  if (a.is_whole()) return is_equal(a.whole(), b.real());
  return b.is_whole() ? is_equal(b.whole(), a.real()) : a.real() == b.real();
}

ValueList pairs_of(Interpreter& in, const Mapping& map) {
  ValueList pairs;
  for (const auto& [key, value] : map.entries) pairs.push_back(in.tuple({key, value}));
  return pairs;
}

std::unexpected<Error> too_deep() { return fail(Fault::Limit, "values are nested too deep"); }

}  // namespace

Result<Value> Interpreter::binary(std::string_view symbol, Value a, Value b) {
  const Deeper deeper(depth_);
  if (depth_ > limits_.depth) return fail(Fault::Limit, "calls are nested too deep");
  Result<std::optional<Value>> made = std::optional<Value>();
  if (a.is_number() && b.is_number()) {
    if (divides_by_zero(symbol, a, b)) return raises("ZeroDivisionError", "divides by zero");
    made = numbers(symbol, a, b);
  }
  if (made && !*made && a.is_object()) made = a.object()->binary(*this, symbol, b, false);
  if (made && !*made && b.is_object()) made = b.object()->binary(*this, symbol, a, true);
  if (!made) return pass(made);
  if (*made) return **made;
  if (symbol == "|")
    if (const auto types = union_of(*this, a, b)) return *types;
  return fail(Fault::Unsupported,
              "'" + std::string(symbol) + "' of a " + python::type_name(a) + " and a " + python::type_name(b));
}

Result<Value> Interpreter::unary(std::string_view symbol, Value a) {
  if (symbol == "not" && a.as<Outside>()) return a;  // as little known as itself
  if (symbol == "not") {
    const auto truth_of = truth(a);
    if (!truth_of) return std::unexpected(truth_of.error());
    return Value::of(!*truth_of);
  }
  if (a.is_whole()) {
    std::int64_t r = a.whole();
    if (symbol == "-" && __builtin_sub_overflow(std::int64_t{0}, r, &r)) return too_large();
    if (symbol == "~") r = ~r;
    return Value::of(r);
  }
  if (a.is_real() && symbol != "~") return Value::of(symbol == "-" ? -a.real() : a.real());
  if (a.is_object()) {
    const Deeper deeper(depth_);
    if (depth_ > limits_.depth) return too_deep();
    auto made = a.object()->unary(*this, symbol);
    if (!made) return pass(made);
    if (*made) return **made;
  }
  return fail(Fault::Unsupported, "'" + std::string(symbol) + "' of a " + python::type_name(a));
}

// a < b as the program's own classes say it: a.__lt__(b), else b.__gt__(a). Nothing: neither says it.
Result<std::optional<bool>> Interpreter::said_by_program(std::string_view symbol, Value a, Value b) {
  struct Method {
    std::string_view symbol, name, turned;
  };
  static constexpr std::array methods{Method{"<", "__lt__", "__gt__"},  Method{">", "__gt__", "__lt__"},
                                      Method{"<=", "__le__", "__ge__"}, Method{">=", "__ge__", "__le__"},
                                      Method{"!=", "__ne__", "__ne__"}, Method{"==", "__eq__", "__eq__"}};
  const auto method = std::ranges::find(methods, symbol, &Method::symbol);
  if (method == methods.end()) return std::nullopt;
  for (const bool turned : {false, true}) {
    const Value &self = turned ? b : a, &other = turned ? a : b;
    const auto* instance = self.as<Instance>();
    const Value* found = instance ? instance->type->find(std::string(turned ? method->turned : method->name)) : nullptr;
    if (!found) continue;
    const auto made = call(*found, ValueList{self, other});
    if (!made) return std::unexpected(made.error());
    if (made->same(not_implemented)) continue;
    const auto holds = truth(*made);
    if (!holds) return std::unexpected(holds.error());
    return *holds;
  }
  if (symbol != "!=") return std::nullopt;
  const auto same = said_by_program("==", a, b);
  if (!same || !*same) return same;
  return !**same;
}

// What an object answers may ask another one, as a method of the program says: each of these questions counts as a call.
Result<bool> Interpreter::truth(Value value) {
  if (value.is_none()) return false;
  if (value.is_whole()) return value.whole() != 0;
  if (value.is_real()) return value.real() != 0;
  if (!value.is_object()) return true;
  const Deeper deeper(depth_);
  if (depth_ > limits_.depth) return too_deep();
  return value.object()->truth(*this);
}

Result<bool> Interpreter::compare(std::string_view symbol, Value a, Value b) {
  const Deeper deeper(depth_);
  if (depth_ > limits_.depth) return fail(Fault::Limit, "values are nested too deep to compare");
  if (auto s = step(); !s) return pass(s);
  if (a.as<Instance>() || b.as<Instance>()) {
    auto said = said_by_program(symbol, a, b);
    if (!said) return pass(said);
    if (*said) return **said;
  }
  if (symbol == "!=" || symbol == "<=" || symbol == ">=" || symbol == ">") {
    if (symbol == ">") return compare("<", b, a);
    if (symbol == "<=" && a.is_number() && b.is_number()) return less(a, b) || alike(a, b);
    if (symbol == ">=" && a.is_number() && b.is_number()) return compare("<=", b, a);
    const bool swapped = symbol == "<=";
    auto other = symbol == "!=" ? compare("==", a, b) : swapped ? compare("<", b, a) : compare("<", a, b);
    if (!other) return other;
    return !*other;
  }
  if (a.is_number() && b.is_number()) return symbol == "==" ? alike(a, b) : less(a, b);
  if (symbol == "==") {
    if (a.same(b)) return true;
    const auto *s = a.as<Text>(), *t = b.as<Text>();
    if (s && t) return s->text == t->text;
    const auto *x = a.as<Sequence>() ? a.as<Sequence>() : tuple_in(a),
               *y = b.as<Sequence>() ? b.as<Sequence>() : tuple_in(b);
    if (x && y) {
      if (x->is_tuple != y->is_tuple || x->items.size() != y->items.size()) return false;
      for (std::size_t i = 0; i < x->items.size(); ++i) {
        auto same = same_or_equal(x->items[i], y->items[i]);
        if (!same || !*same) return same;
      }
      return true;
    }
    const auto *first = a.as<Range>(), *second = b.as<Range>();
    if (first && second) {
      const Size n = first->count();
      return n == second->count() &&
             (n == 0 || (first->start == second->start && (n == 1 || first->step == second->step)));
    }
    const auto *cut = a.as<Cut>(), *part = b.as<Cut>();
    if (cut && part)
      return equal(tuple({cut->start, cut->stop, cut->step}), tuple({part->start, part->stop, part->step}));
    auto *m = a.as<Mapping>(), *n = b.as<Mapping>();
    if (m && n) {
      if (m->is_set != n->is_set || m->entries.size() != n->entries.size()) return false;
      if (m->is_ordered && n->is_ordered) return equal(tuple(pairs_of(*this, *m)), tuple(pairs_of(*this, *n)));
      for (const auto& [key, value] : m->entries) {
        const auto there = n->find(key);
        if (!there) return std::unexpected(there.error());
        if (!*there) return false;
        auto same = m->is_set ? Result<bool>(true) : same_or_equal(value, **there);
        if (!same || !*same) return same;
      }
      return true;
    }
  }
  for (const bool reversed : {false, true}) {
    const Value self = reversed ? b : a, other = reversed ? a : b;
    if (!self.is_object()) continue;
    auto made = self.object()->binary(*this, symbol, other, reversed);
    if (!made) return pass(made);
    if (*made) return truth(**made);
  }
  if (symbol == "==") return false;
  return fail(Fault::Format, "a " + python::type_name(a) + " and a " + python::type_name(b) + " have no order");
}

Result<bool> Interpreter::same_or_equal(Value a, Value b) { return a.same(b) ? Result<bool>(true) : equal(a, b); }

Result<Size> Interpreter::length(Value value) {
  if (!value.is_object()) return fail(Fault::Format, "a " + python::type_name(value) + " has no length");
  const Deeper deeper(depth_);
  if (depth_ > limits_.depth) return too_deep();
  return value.object()->length(*this);
}

Result<ValueList> Interpreter::elements(Value value) {
  if (!value.is_object()) return fail(Fault::Format, "a " + python::type_name(value) + " cannot be gone through");
  const Deeper deeper(depth_);
  if (depth_ > limits_.depth) return too_deep();
  auto all = value.object()->elements(*this);
  if (all) {
    if (auto s = step(static_cast<Size>(all->size()) / 8); !s) return pass(s);
    if (auto paid = charge(static_cast<Size>(all->size()) * 4); !paid) return pass(paid);
  }
  return all;
}

Result<bool> Interpreter::contains(Value container, Value value) {
  if (!container.is_object()) return fail(Fault::Format, "a " + python::type_name(container) + " holds nothing");
  const Deeper deeper(depth_);
  if (depth_ > limits_.depth) return too_deep();
  return container.object()->contains(*this, value);
}

}  // namespace convoy::python
