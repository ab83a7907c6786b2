// Numbers: the modules math and numpy, as far as they compute on known values.
#include "containers/python/modules.h"
#include "containers/python/vector.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace convoy::python {
namespace {

using Made = Result<Value>;

template <double (*F)(double)>
Made real_function(Interpreter&, Arguments& a) {
  if (!a.placed[0].is_number())
    return fail(Fault::Unsupported, "a function of math of a " + type_name(a.placed[0]) + " is not read");
  return Value::of(F(a.placed[0].real()));
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

double ceiling(double x) { return std::ceil(x); }
double floored(double x) { return std::floor(x); }
double truncated(double x) { return std::trunc(x); }
double exponential(double x) { return std::exp(x); }
double log_2(double x) { return std::log2(x); }
double log_10(double x) { return std::log10(x); }
double sine(double x) { return std::sin(x); }
double cosine(double x) { return std::cos(x); }
double hyperbolic(double x) { return std::tanh(x); }
double magnitude(double x) { return std::abs(x); }

// Of what is no number of its own, the power that is the same.
Made root(Interpreter& in, Arguments& a) {
  if (!a.placed[0].is_number()) return in.binary("**", a.placed[0], Value::of(0.5));
  return Value::of(std::sqrt(a.placed[0].real()));
}

Made logarithm(Interpreter&, Arguments& a) {
  if (!a.placed[0].is_number())
    return fail(Fault::Unsupported, "log() of a " + type_name(a.placed[0]) + " is not read");
  const double x = std::log(a.placed[0].real());
  if (a.placed.size() < 2) return Value::of(x);
  return Value::of(a.placed[1].real() == 2 ? std::log2(a.placed[0].real()) : x / std::log(a.placed[1].real()));
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

}  // namespace

Module* math_module(Interpreter& in) {
  auto* m = in.make<Module>("math");
  m->attributes.set("pi", Value::of(std::numbers::pi));
  m->attributes.set("e", Value::of(std::numbers::e));
  m->attributes.set("inf", Value::of(std::numeric_limits<double>::infinity()));
  m->attributes.set("nan", Value::of(std::numeric_limits<double>::quiet_NaN()));
  add_function(in, *m, "ceil", 1, to_whole<ceiling>);
  add_function(in, *m, "floor", 1, to_whole<floored>);
  add_function(in, *m, "trunc", 1, to_whole<truncated>);
  add_function(in, *m, "sqrt", 1, root);
  add_function(in, *m, "exp", 1, real_function<exponential>);
  add_function(in, *m, "log", 1, logarithm);
  add_function(in, *m, "log2", 1, real_function<log_2>);
  add_function(in, *m, "log10", 1, real_function<log_10>);
  add_function(in, *m, "sin", 1, real_function<sine>);
  add_function(in, *m, "cos", 1, real_function<cosine>);
  add_function(in, *m, "tanh", 1, real_function<hyperbolic>);
  add_function(in, *m, "fabs", 1, real_function<magnitude>);
  add_function(in, *m, "prod", 1, product);
  add_function(in, *m, "gcd", 1, gcd);
  add_function(in, *m, "pow", 2, [](Interpreter&, Arguments& a) -> Made {
    if (!a.placed[0].is_number() || !a.placed[1].is_number()) return wrong("pow() of what is no number");
    return Value::of(std::pow(a.placed[0].real(), a.placed[1].real()));
  });
  return m;
}

Module* numpy_module(Interpreter& in) {
  Module* m = math_module(in);
  auto* made = in.make<Module>("numpy");
  made->attributes = m->attributes;
  made->attributes.set("newaxis", Value());
  for (const char* word : {"Inf", "Infinity", "PINF", "infty"})
    made->attributes.set(word, Value::of(std::numeric_limits<double>::infinity()));
  made->attributes.set("NINF", Value::of(-std::numeric_limits<double>::infinity()));
  made->attributes.set("NaN", Value::of(std::numeric_limits<double>::quiet_NaN()));
  for (const char* word : {"float32", "float64", "float16", "int64", "int32", "uint8", "bool_"})
    made->attributes.set(word, in.text(word));
  made->attributes.set("ndarray", in.native("ndarray", [](Interpreter&, Arguments&) -> Made {
    return fail(Fault::Unsupported, "numpy.ndarray() is not called; arrays are made by numpy.array()");
  }));
  add_array_functions(in, *made);
  made->attributes.set("pow", *made->attributes.find("power"));
  return made;
}

}  // namespace convoy::python
