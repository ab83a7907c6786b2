#include "containers/python/arithmetic.h"

#include "containers/python/division.h"

#include <cmath>

namespace convoy::python {
namespace {

bool is_number(const Expression& e) { return e.kind == Kind::Integer || e.kind == Kind::Real; }
double real_of(const Expression& e) { return e.kind == Kind::Integer ? static_cast<double>(e.integer) : e.real; }

std::unexpected<Error> beyond_whole_numbers() {
  return fail(Fault::Format, "the result is beyond 2^63 - 1, the largest whole number");
}

Result<bool> power(Expression& a, std::int64_t exponent) {
  std::int64_t result = 1;
  // A base of two or more overflows within 63 steps; the others repeat themselves.
  if (a.integer >= -1 && a.integer <= 1) exponent = exponent > 1 ? 2 - exponent % 2 : exponent;
  for (; exponent > 0; --exponent)
    if (__builtin_mul_overflow(result, a.integer, &result)) return beyond_whole_numbers();
  a.integer = result;
  return true;
}

Result<bool> whole(Expression& a, std::string_view symbol, std::int64_t b) {
  std::int64_t r = 0;
  bool over = false;
  if (symbol == "+") over = __builtin_add_overflow(a.integer, b, &r);
  else if (symbol == "-") over = __builtin_sub_overflow(a.integer, b, &r);
  else if (symbol == "*") over = __builtin_mul_overflow(a.integer, b, &r);
  else if (symbol == "**") return power(a, b);
  else {
    if (b == 0) return fail(Fault::Format, "divides by zero");
    if (b == -1) over = symbol == "//" && __builtin_sub_overflow(std::int64_t{0}, a.integer, &r);
    else if (symbol == "//") r = a.integer / b - (a.integer % b != 0 && (a.integer < 0) != (b < 0));
    else r = a.integer % b + (a.integer % b != 0 && (a.integer < 0) != (b < 0) ? b : 0);
  }
  if (over) return beyond_whole_numbers();
  a.integer = r;
  return true;
}

bool is_list(const Expression& e) { return e.kind == Kind::Tuple || e.kind == Kind::List; }

// (2,) * 4 and (1, 2) + (3,). Nothing: more than anybody writes.
bool combine_lists(Expression& a, std::string_view symbol, const Expression& b) {
  constexpr std::size_t longest = 64;
  if (symbol == "+" && is_list(a) && a.kind == b.kind && a.items.size() + b.items.size() <= longest) {
    a.items.insert(a.items.end(), b.items.begin(), b.items.end());
    return true;
  }
  if (symbol != "*" || is_list(a) == is_list(b)) return false;
  const Expression& times = is_list(a) ? b : a;
  const Expression once = is_list(a) ? a : b;
  if (times.kind != Kind::Integer || times.integer < 0 || times.integer > static_cast<std::int64_t>(longest) ||
      once.items.size() * static_cast<std::size_t>(times.integer) > longest)
    return false;
  const std::int64_t count = times.integer;
  a = once;
  a.items.clear();
  for (std::int64_t i = 0; i < count; ++i) a.items.insert(a.items.end(), once.items.begin(), once.items.end());
  return true;
}

}  // namespace

Result<bool> combine(Expression& a, std::string_view symbol, const Expression& b) {
  if (is_list(a) || is_list(b)) return combine_lists(a, symbol, b);
  if (!is_number(a) || !is_number(b)) return false;
  const bool division = symbol == "/" || symbol == "//" || symbol == "%";
  if (!division && symbol != "+" && symbol != "-" && symbol != "*" && symbol != "**") return false;
  const bool whole_power = symbol != "**" || b.integer >= 0;
  if (a.kind == Kind::Integer && b.kind == Kind::Integer && symbol != "/" && whole_power)
    return whole(a, symbol, b.integer);
  const double x = real_of(a), y = real_of(b);
  const bool are_whole = a.kind == Kind::Integer && b.kind == Kind::Integer;
  if (division && y == 0) return fail(Fault::Format, "divides by zero");
  a.kind = Kind::Real;
  if (symbol == "+") a.real = x + y;
  else if (symbol == "-") a.real = x - y;
  else if (symbol == "*") a.real = x * y;
  else if (symbol == "/") a.real = are_whole ? quotient(a.integer, b.integer) : x / y;
  else if (symbol == "//") a.real = divided(x, y).times;
  else if (symbol == "%") a.real = divided(x, y).rest;
  else a.real = std::pow(x, y);
  return true;
}

Result<bool> negate(Expression& a) {
  if (a.kind == Kind::Real) a.real = -a.real;
  else if (a.kind != Kind::Integer) return false;
  else if (__builtin_sub_overflow(std::int64_t{0}, a.integer, &a.integer)) return beyond_whole_numbers();
  return true;
}

}  // namespace convoy::python
