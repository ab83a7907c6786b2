// Numbers: the modules math and numpy, as far as they compute on known values.
#include "containers/python/modules.h"
#include "containers/python/vector_types.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <numbers>
#include <utility>

namespace convoy::python {
namespace {

using Made = Result<Value>;

// What is no number, or too large for one, of numbers that are: Python's functions raise there, NumPy's give it.
template <bool Raises>
Made checked(Interpreter& in, double made, std::initializer_list<double> of) {
  const bool is_right = std::isfinite(made) || !std::ranges::all_of(of, [](double x) { return std::isfinite(x); });
  if (!Raises || is_right) return Value::of(made);
  const bool is_large = std::isinf(made) && std::ranges::none_of(of, [](double x) { return x == 0; });
  return in.raises(is_large ? "OverflowError" : "ValueError", is_large ? "math range error" : "math domain error");
}

template <double (*F)(double), bool Raises>
Made real_function(Interpreter& in, Arguments& a) {
  if (!a.placed[0].is_number())
    return fail(Fault::Unsupported, "a function of math of a " + type_name(a.placed[0]) + " is not read");
  return checked<Raises>(in, F(a.placed[0].real()), {a.placed[0].real()});
}

template <double (*F)(double, double)>
Made function_of_two(Interpreter& in, Arguments& a) {
  if (!a.placed[0].is_number() || !a.placed[1].is_number()) return wrong("a function of math of what is no number");
  return checked<true>(in, F(a.placed[0].real(), a.placed[1].real()), {a.placed[0].real(), a.placed[1].real()});
}

template <double (*F)(double)>
Made to_whole(Interpreter& in, Arguments& a) {
  if (a.placed[0].is_whole()) return Value::of(a.placed[0].whole());
  if (!a.placed[0].is_number()) {
    const auto method = in.attribute(a.placed[0], F(0.5) > 0 ? "ceil" : "floor");
    return method ? in.call(*method, ValueList{}) : method;
  }
  const double x = F(a.placed[0].real());
  if (!(std::abs(x) < 0x1p63)) return wrong("a whole number that is too large");
  return Value::of(static_cast<std::int64_t>(x));
}

// NumPy's: a number of the same type.
template <double (*F)(double)>
Made to_real(Interpreter& in, Arguments& a) {
  const Value x = a.placed[0];
  return x.is_real() ? Made(Value::of(F(x.real()))) : to_whole<F>(in, a);
}

double ceiling(double x) { return std::ceil(x); }
double floored(double x) { return std::floor(x); }
double truncated(double x) { return std::trunc(x); }
double magnitude(double x) { return std::abs(x); }
double in_degrees(double x) { return x * (180.0 / std::numbers::pi); }
double in_radians(double x) { return x * (std::numbers::pi / 180.0); }

// Of what is no number of its own, the power that is the same.
template <bool Raises>
Made root(Interpreter& in, Arguments& a) {
  if (!a.placed[0].is_number()) return in.binary("**", a.placed[0], Value::of(0.5));
  return checked<Raises>(in, std::sqrt(a.placed[0].real()), {a.placed[0].real()});
}

// log(x), log(x, base): the quotient of two logarithms, as Python rounds it.
template <bool Raises>
Made logarithm(Interpreter& in, Arguments& a) {
  for (const Value& one : a.placed)
    if (!one.is_number()) return fail(Fault::Unsupported, "log() of a " + type_name(one) + " is not read");
  const auto x = checked<Raises>(in, std::log(a.placed[0].real()), {a.placed[0].real()});
  if (a.placed.size() < 2 || !x) return x;
  const auto base = checked<Raises>(in, std::log(a.placed[1].real()), {a.placed[1].real()});
  return base ? in.binary("/", *x, *base) : base;
}

template <bool (*F)(double)>
Made asked(Interpreter&, Arguments& a) {
  if (!a.placed[0].is_number()) return wrong("a function of math of what is no number");
  return Value::of(F(a.placed[0].real()));
}

bool is_nan(double x) { return std::isnan(x); }
bool is_infinite(double x) { return std::isinf(x); }
bool is_finite(double x) { return std::isfinite(x); }

Made is_close(Interpreter&, Arguments& a) {
  const auto given = bound(a, "a b rel_tol abs_tol", 2, "isclose");
  if (!given) return std::unexpected(given.error());
  double numbers[] = {0, 0, 1e-9, 0};
  for (std::size_t i = 0; i < 4; ++i) {
    if ((*given)[i] && !(*given)[i]->is_number()) return wrong("isclose() of what is no number");
    if ((*given)[i]) numbers[i] = (*given)[i]->real();
  }
  const auto [x, y, relative, absolute] = numbers;
  if (x == y) return Value::of(true);
  if (std::isinf(x) || std::isinf(y)) return Value::of(false);
  const double off = std::abs(x - y);
  return Value::of(off <= std::abs(relative * x) || off <= std::abs(relative * y) || off <= absolute);
}

// n!, n!/(n-k)! and n!/(n-k)!/k! of small numbers.
Made falling(Interpreter& in, const Value& n, const Value& times, bool divides) {
  if (!n.is_whole() || !times.is_whole() || n.whole() < 0 || times.whole() < 0)
    return in.raises("ValueError", "an arrangement of other than whole numbers from 0 on");
  if (times.whole() > n.whole()) return Value::of(std::int64_t{0});
  const std::int64_t k = divides ? std::min(times.whole(), n.whole() - times.whole()) : times.whole();
  if (k > 64) return fail(Fault::Limit, "the result is beyond 2^63 - 1, the largest whole number");
  Made made = Value::of(std::int64_t{1});
  for (std::int64_t i = 0; i < k && made; ++i) {
    made = in.binary("*", *made, Value::of(n.whole() - i));
    if (made && divides) made = in.binary("//", *made, Value::of(i + 1));
  }
  return made;
}

Made whole_root(Interpreter& in, Arguments& a) {
  if (!a.placed[0].is_whole() || a.placed[0].whole() < 0) return in.raises("ValueError", "isqrt() of less than 0");
  const std::int64_t n = a.placed[0].whole();
  auto root = static_cast<std::int64_t>(std::sqrt(static_cast<double>(n)));
  while (root > 0 && root > n / root) --root;
  while (root + 1 <= n / (root + 1)) ++root;
  return Value::of(root);
}

Made product(Interpreter& in, Arguments& a) {
  const auto all = in.elements(a.placed[0]);
  if (!all) return std::unexpected(all.error());
  Made total = Value::of(std::int64_t{1});
  for (const Value& one : *all)
    if (total) total = in.binary("*", *total, one);
  return total;
}

Made gcd(Interpreter&, Arguments& a) {
  std::int64_t x = 0;
  for (const Value& one : a.placed) {
    if (!one.is_whole() || one.whole() == std::numeric_limits<std::int64_t>::min())
      return wrong("gcd() of what is no number");
    std::int64_t y = one.whole();
    while (y != 0) x %= y, std::swap(x, y);
    x = std::abs(x);
  }
  return Value::of(x);
}

Made least_multiple(Interpreter& in, Arguments& a) {
  Made made = Value::of(std::int64_t{1});
  for (const Value& one : a.placed) {
    if (made && one.is_whole() && one.whole() == 0) return one;
    Arguments both{{made ? *made : one, one}, {}};
    const auto shared = gcd(in, both);
    if (!shared) return shared;
    made = in.binary("*", in.binary("//", *made, *shared).value_or(*made), one);
    if (!made) return made;
    if (made->whole() < 0) made = in.unary("-", *made);
  }
  return made;
}

using OfReal = double (*)(double);
// One row names what Python and NumPy both have by that name.
template <bool Raises>
void add_real_functions(Interpreter& in, Module& m) {
  const auto add = [&]<OfReal F>(const char* name) { add_function(in, m, name, 1, real_function<F, Raises>); };
  add.template operator()<std::exp>("exp");
  add.template operator()<std::log2>("log2");
  add.template operator()<std::log10>("log10");
  add.template operator()<std::log1p>("log1p");
  add.template operator()<std::expm1>("expm1");
  add.template operator()<std::sin>("sin");
  add.template operator()<std::cos>("cos");
  add.template operator()<std::tan>("tan");
  add.template operator()<std::sinh>("sinh");
  add.template operator()<std::cosh>("cosh");
  add.template operator()<std::tanh>("tanh");
  add.template operator()<magnitude>("fabs");
  add.template operator()<in_degrees>("degrees");
  add.template operator()<in_radians>("radians");
  add_function(in, m, "sqrt", 1, root<Raises>);
  add_function(in, m, "log", 1, logarithm<Raises>);
  add_function(in, m, "gcd", 1, gcd);
  add_function(in, m, "isnan", 1, asked<is_nan>);
  add_function(in, m, "isinf", 1, asked<is_infinite>);
  add_function(in, m, "isfinite", 1, asked<is_finite>);
  m.attributes.set("pi", Value::of(std::numbers::pi));
  m.attributes.set("e", Value::of(std::numbers::e));
  m.attributes.set("inf", Value::of(std::numeric_limits<double>::infinity()));
  m.attributes.set("nan", Value::of(std::numeric_limits<double>::quiet_NaN()));
}

// Those that Python alone has, or NumPy by another name.
void add_functions_of_python(Interpreter& in, Module& m) {
  const auto add = [&]<OfReal F>(const char* name) { add_function(in, m, name, 1, real_function<F, true>); };
  add.template operator()<std::asin>("asin");
  add.template operator()<std::acos>("acos");
  add.template operator()<std::atan>("atan");
  add.template operator()<std::erf>("erf");
  add.template operator()<std::cbrt>("cbrt");
  add_function(in, m, "atan2", 2, function_of_two<std::atan2>);
  add_function(in, m, "pow", 2, function_of_two<std::pow>);
  add_function(in, m, "fmod", 2, function_of_two<std::fmod>);
  add_function(in, m, "copysign", 2, function_of_two<std::copysign>);
  add_function(in, m, "isclose", 2, is_close);
  add_function(in, m, "isqrt", 1, whole_root);
  add_function(in, m, "lcm", 0, least_multiple);
  add_function(in, m, "comb", 2,
               [](Interpreter& with, Arguments& a) { return falling(with, a.placed[0], a.placed[1], true); });
  add_function(in, m, "perm", 2,
               [](Interpreter& with, Arguments& a) { return falling(with, a.placed[0], a.placed[1], false); });
  add_function(in, m, "factorial", 1,
               [](Interpreter& with, Arguments& a) { return falling(with, a.placed[0], a.placed[0], false); });
  m.attributes.set("tau", Value::of(2 * std::numbers::pi));
}

}  // namespace

Module* math_module(Interpreter& in) {
  auto* m = in.make<Module>("math");
  add_real_functions<true>(in, *m);
  add_functions_of_python(in, *m);
  add_function(in, *m, "ceil", 1, to_whole<ceiling>);
  add_function(in, *m, "floor", 1, to_whole<floored>);
  add_function(in, *m, "trunc", 1, to_whole<truncated>);
  add_function(in, *m, "prod", 1, product);
  return m;
}

namespace {

// numpy.float32: the name of an element type, and what makes a number or an array of it.
class TypeWord : public Text {
 public:
  explicit TypeWord(const std::string& name) : Text(name) {}
  Result<Value> call(Interpreter& in, Arguments& a) override {
    if (a.placed.size() > 1 || !a.named.empty()) return wrong(text + "() of other than one value");
    const auto array = a.placed.empty() ? Made(Value::of(0.0)) : array_of(in, a.placed[0]);
    if (!array) return array;
    const auto made =
        array->is_number() || array->as<Vector>() ? all_held(in, *array, *element_type_of(Value::of(this))) : array;
    const bool is_beyond = array->is_whole() && made && made->is_whole() && made->whole() != array->whole();
    if (is_beyond && text != "bool_") return wrong("a number that no " + text + " is");
    if (array->is_number() || array->as<Vector>()) return made;
    return in.call(in.builtins[text.starts_with("float") ? "float" : "int"], ValueList{*array});
  }
};

}  // namespace

Module* numpy_module(Interpreter& in) {
  auto* made = in.make<Module>("numpy");
  add_real_functions<false>(in, *made);
  add_function(in, *made, "ceil", 1, to_real<ceiling>);
  add_function(in, *made, "floor", 1, to_real<floored>);
  add_function(in, *made, "trunc", 1, to_real<truncated>);
  made->attributes.set("newaxis", Value());
  for (const char* word : {"Inf", "Infinity", "PINF", "infty"})
    made->attributes.set(word, Value::of(std::numeric_limits<double>::infinity()));
  made->attributes.set("NINF", Value::of(-std::numeric_limits<double>::infinity()));
  made->attributes.set("NaN", Value::of(std::numeric_limits<double>::quiet_NaN()));
  for (const char* word :
       {"float32", "float64", "float16", "int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "bool_"})
    made->attributes.set(word, Value::of(in.make<TypeWord>(word)));
  made->attributes.set("ndarray", in.native("ndarray", [](Interpreter&, Arguments&) -> Made {
    return fail(Fault::Unsupported, "numpy.ndarray() is not called; arrays are made by numpy.array()");
  }));
  add_array_functions(in, *made);
  made->attributes.set("pow", *made->attributes.find("power"));
  return made;
}

}  // namespace convoy::python
