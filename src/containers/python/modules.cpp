// The parts of Python's library that networks are written with, as far as they compute on known values.
#include "containers/python/interpreter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace convoy::python {
namespace {

using Made = Result<Value>;

std::unexpected<Error> wrong(std::string what) { return fail(Fault::Format, std::move(what)); }

void add(Interpreter& in, Module& to, const std::string& name, std::size_t least, NativeFunction run) {
  to.attributes.set(name, in.native(name, [least, name, run = std::move(run)](Interpreter& with, Arguments& a) -> Made {
    if (a.placed.size() < least) return wrong(name + "() with " + std::to_string(a.placed.size()) + " arguments");
    return run(with, a);
  }));
}

// ---- math

template <double (*F)(double)>
Made real_function(Interpreter&, Arguments& a) {
  if (!a.placed[0].is_number()) return wrong("a function of math of a " + type_name(a.placed[0]));
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
double root(double x) { return std::sqrt(x); }
double exponential(double x) { return std::exp(x); }
double log_2(double x) { return std::log2(x); }
double log_10(double x) { return std::log10(x); }
double sine(double x) { return std::sin(x); }
double cosine(double x) { return std::cos(x); }
double hyperbolic(double x) { return std::tanh(x); }
double magnitude(double x) { return std::abs(x); }

Made logarithm(Interpreter&, Arguments& a) {
  if (!a.placed[0].is_number()) return wrong("log() of a " + type_name(a.placed[0]));
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

Module* math(Interpreter& in) {
  auto* m = in.make<Module>("math");
  m->attributes.set("pi", Value::of(std::numbers::pi));
  m->attributes.set("e", Value::of(std::numbers::e));
  m->attributes.set("inf", Value::of(std::numeric_limits<double>::infinity()));
  m->attributes.set("nan", Value::of(std::numeric_limits<double>::quiet_NaN()));
  add(in, *m, "ceil", 1, to_whole<ceiling>);
  add(in, *m, "floor", 1, to_whole<floored>);
  add(in, *m, "trunc", 1, to_whole<truncated>);
  add(in, *m, "sqrt", 1, real_function<root>);
  add(in, *m, "exp", 1, real_function<exponential>);
  add(in, *m, "log", 1, logarithm);
  add(in, *m, "log2", 1, real_function<log_2>);
  add(in, *m, "log10", 1, real_function<log_10>);
  add(in, *m, "sin", 1, real_function<sine>);
  add(in, *m, "cos", 1, real_function<cosine>);
  add(in, *m, "tanh", 1, real_function<hyperbolic>);
  add(in, *m, "fabs", 1, real_function<magnitude>);
  add(in, *m, "prod", 1, product);
  add(in, *m, "gcd", 1, gcd);
  add(in, *m, "pow", 2,
      [](Interpreter&, Arguments& a) -> Made { return Value::of(std::pow(a.placed[0].real(), a.placed[1].real())); });
  return m;
}

// ---- functools, operator, itertools

Made reduce(Interpreter& in, Arguments& a) {
  const auto all = in.elements(a.placed[1]);
  if (!all) return std::unexpected(all.error());
  std::size_t next = 0;
  if (a.placed.size() < 3 && all->empty()) return wrong("reduce() of nothing");
  Made total = a.placed.size() > 2 ? a.placed[2] : (*all)[next++];
  for (; next < all->size() && total; ++next) total = in.call(a.placed[0], ValueList{*total, (*all)[next]});
  return total;
}

Made partial(Interpreter& in, Arguments& a) {
  const Value function = a.placed[0];
  Arguments first = a;
  first.placed.erase(first.placed.begin());
  return in.native("partial", [function, first](Interpreter& with, Arguments& more) -> Made {
    Arguments all = first;
    all.placed.insert(all.placed.end(), more.placed.begin(), more.placed.end());
    for (const auto& [word, value] : more.named) {
      all.take(word);
      all.named.emplace_back(word, value);
    }
    return with.call(function, std::move(all));
  });
}

// A decorator that leaves the function as it is, with or without arguments of its own.
Made unchanged(Interpreter& in, Arguments& a) {
  if (a.placed.size() == 1 && a.named.empty() && (a.placed[0].as<Function>() || a.placed[0].as<Class>()))
    return a.placed[0];
  return in.native("decorator", [](Interpreter&, Arguments& b) -> Made {
    if (b.placed.size() != 1) return wrong("a decorator of other than one function");
    return b.placed[0];
  });
}

Module* functools(Interpreter& in) {
  auto* m = in.make<Module>("functools");
  add(in, *m, "reduce", 2, reduce);
  add(in, *m, "partial", 1, partial);
  for (const char* name : {"lru_cache", "wraps", "cache"}) add(in, *m, name, 0, unchanged);
  m->attributes.set("cached_property", in.builtins["property"]);
  return m;
}

Module* operators(Interpreter& in) {
  auto* m = in.make<Module>("operator");
  struct Named {
    const char *name, *symbol;
  };
  for (const auto& [name, symbol] :
       {Named{"add", "+"}, Named{"sub", "-"}, Named{"mul", "*"}, Named{"truediv", "/"}, Named{"floordiv", "//"},
        Named{"mod", "%"}, Named{"pow", "**"}, Named{"matmul", "@"}, Named{"iadd", "+"}, Named{"concat", "+"},
        Named{"and_", "&"}, Named{"or_", "|"}})
    for (const std::string& spelled : {std::string(name), "__" + std::string(name) + "__"})
      add(in, *m, spelled, 2,
          [symbol](Interpreter& with, Arguments& a) { return with.binary(symbol, a.placed[0], a.placed[1]); });
  add(in, *m, "itemgetter", 1, [](Interpreter& with, Arguments& a) -> Made {
    const ValueList keys = a.placed;
    return with.native("itemgetter", [keys](Interpreter& within_it, Arguments& b) -> Made {
      ValueList all;
      for (const Value& key : keys) {
        const auto one = within_it.item(b.placed.empty() ? Value() : b.placed[0], key);
        if (!one) return one;
        all.push_back(*one);
      }
      return all.size() == 1 ? Made(all[0]) : Made(within_it.tuple(all));
    });
  });
  add(in, *m, "neg", 1, [](Interpreter& with, Arguments& a) { return with.unary("-", a.placed[0]); });
  add(in, *m, "getitem", 2, [](Interpreter& with, Arguments& a) { return with.item(a.placed[0], a.placed[1]); });
  return m;
}

Made repeat(Interpreter& in, Arguments& a) {
  const auto given = bound(a, "object times", 1, "repeat");
  if (!given) return std::unexpected(given.error());
  if (!(*given)[1]) return fail(Fault::Unsupported, "repeat() without an end is not read; say how many times");
  const Size n = std::max<Size>((*given)[1]->whole(), 0);
  const auto bytes = checked_multiply(n, 16);
  if (!bytes) return fail(Fault::Limit, "repeat() of more values than there is memory");
  if (auto paid = in.charge(*bytes); !paid) return pass(paid);
  return Value::of(in.make<Iterator>(ValueList(static_cast<std::size_t>(n), *(*given)[0])));
}

Made chain(Interpreter& in, Arguments& a) {
  ValueList all;
  for (const Value& one : a.placed) {
    const auto some = in.elements(one);
    if (!some) return std::unexpected(some.error());
    all.insert(all.end(), some->begin(), some->end());
  }
  if (auto paid = in.charge(static_cast<Size>(all.size()) * 16); !paid) return pass(paid);
  return Value::of(in.make<Iterator>(std::move(all)));
}

Made cartesian(Interpreter& in, Arguments& a) {
  const auto times = a.take("repeat");
  std::vector<ValueList> rows{{}};
  const std::int64_t rounds = times && times->is_whole() ? std::clamp<std::int64_t>(times->whole(), 0, 64) : 1;
  for (std::int64_t r = 0; r < rounds; ++r)
    for (const Value& one : a.placed) {
      const auto some = in.elements(one);
      if (!some) return std::unexpected(some.error());
      std::vector<ValueList> longer;
      const auto count = checked_multiply(static_cast<Size>(rows.size()), static_cast<Size>(some->size()));
      if (!count || *count > 1000000) return fail(Fault::Limit, "product() of more than a million rows");
      if (auto paid = in.charge(*count * 200); !paid) return pass(paid);
      for (const auto& row : rows)
        for (const Value& next : *some) longer.push_back(row), longer.back().push_back(next);
      rows = std::move(longer);
    }
  ValueList all;
  for (auto& row : rows) all.push_back(in.tuple(std::move(row)));
  return Value::of(in.make<Iterator>(std::move(all)));
}

Made accumulate(Interpreter& in, Arguments& a) {
  const auto all = in.elements(a.placed[0]);
  if (!all) return std::unexpected(all.error());
  ValueList sums;
  for (const Value& one : *all) {
    if (sums.empty()) {
      sums.push_back(one);
      continue;
    }
    const auto next =
        a.placed.size() > 1 ? in.call(a.placed[1], ValueList{sums.back(), one}) : in.binary("+", sums.back(), one);
    if (!next) return next;
    sums.push_back(*next);
  }
  return Value::of(in.make<Iterator>(std::move(sums)));
}

Made islice(Interpreter& in, Arguments& a) {
  const auto all = in.elements(a.placed[0]);
  if (!all) return std::unexpected(all.error());
  const bool ends = a.placed.size() == 2;
  const Cut cut(ends ? Value() : a.placed[1], ends ? a.placed[1] : a.placed[2],
                a.placed.size() > 3 ? a.placed[3] : Value());
  const auto part = part_of(cut, static_cast<Size>(all->size()));
  if (!part) return std::unexpected(part.error());
  ValueList some;
  for (Size i = 0; i < part->count; ++i) some.push_back((*all)[static_cast<std::size_t>(part->start + i * part->step)]);
  return Value::of(in.make<Iterator>(std::move(some)));
}

Module* itertools(Interpreter& in) {
  auto* m = in.make<Module>("itertools");
  add(in, *m, "repeat", 1, repeat);
  add(in, *m, "chain", 0, chain);
  add(in, *m, "product", 1, cartesian);
  add(in, *m, "accumulate", 1, accumulate);
  add(in, *m, "islice", 2, islice);
  return m;
}

// ---- names that other modules give

Made named_tuple(Interpreter& in, Arguments& a) {
  if (a.placed.size() < 2) return wrong("namedtuple() wants a name and fields");
  std::vector<std::string> fields;
  if (const auto* text = a.placed[1].as<Text>()) {
    std::string word;
    for (const char c : text->text + " ") {
      if (c != ' ' && c != ',') word += c;
      else if (!word.empty()) fields.push_back(std::exchange(word, ""));
    }
  } else {
    const auto all = in.elements(a.placed[1]);
    if (!all) return std::unexpected(all.error());
    for (const Value& one : *all)
      if (const auto* name = one.as<Text>()) fields.push_back(name->text);
  }
  Class* made = in.make_class(a.placed[0].as<Text>() ? a.placed[0].as<Text>()->text : "tuple", {});
  made->attributes.set("__init__", in.native("__init__", [fields](Interpreter& with, Arguments& b) -> Made {
    auto* self = b.placed.empty() ? nullptr : b.placed[0].as<Instance>();
    if (!self) return wrong("a namedtuple without itself");
    b.placed.erase(b.placed.begin());
    std::string words;
    for (const auto& field : fields) words += (words.empty() ? "" : " ") + field;
    const auto given = bound(b, words, fields.size(), "namedtuple");
    if (!given) return std::unexpected(given.error());
    ValueList items;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      self->attributes.set(fields[i], *(*given)[i]);
      items.push_back(*(*given)[i]);
    }
    self->extra = with.tuple(std::move(items)).object();
    return Value();
  }));
  made->attributes.set("__iter__", in.native("__iter__", [](Interpreter&, Arguments& b) -> Made {
    return b.placed.empty() || !b.placed[0].as<Instance>() || !b.placed[0].as<Instance>()->extra
               ? Made(wrong("a namedtuple without itself"))
               : Made(Value::of(b.placed[0].as<Instance>()->extra));
  }));
  made->attributes.set("__getitem__", in.native("__getitem__", [](Interpreter& with, Arguments& b) -> Made {
    if (b.placed.size() < 2 || !b.placed[0].as<Instance>() || !b.placed[0].as<Instance>()->extra)
      return wrong("a namedtuple without itself");
    return b.placed[0].as<Instance>()->extra->item(with, b.placed[1]);
  }));
  made->attributes.set("__len__", in.native("__len__", [](Interpreter& with, Arguments& b) -> Made {
    if (b.placed.empty() || !b.placed[0].as<Instance>() || !b.placed[0].as<Instance>()->extra)
      return wrong("a namedtuple without itself");
    const auto n = b.placed[0].as<Instance>()->extra->length(with);
    return n ? Made(Value::of(*n)) : Made(std::unexpected(n.error()));
  }));
  return Value::of(made);
}

Made default_dict(Interpreter& in, Arguments& a) {
  (void)a;
  (void)in;
  return fail(Fault::Unsupported, "'defaultdict' is not read; write a dict");
}

Module* collections(Interpreter& in, const std::string& name) {
  auto* m = in.make<Module>(name);
  m->attributes.set("OrderedDict", in.builtins["dict"]);
  add(in, *m, "namedtuple", 2, named_tuple);
  add(in, *m, "defaultdict", 0, default_dict);
  auto* abc = in.make<Module>("collections.abc");
  for (const char* word : {"Iterable", "Sequence", "Callable", "Mapping"}) {
    const Value kind = in.native(word, [](Interpreter&, Arguments&) -> Made {
      return fail(Fault::Unsupported, "an abstract class is not called");
    });
    abc->attributes.set(word, kind);
    m->attributes.set(word, kind);
  }
  m->attributes.set("abc", Value::of(abc));
  return name == "collections.abc" ? abc : m;
}

// What type hints are made of: read over, whatever they say.
class Hint : public Object {
 public:
  std::string type_name() const override { return "type hint"; }
  Result<std::optional<Value>> attribute(Interpreter&, const std::string&) override { return Value::of(this); }
  Result<Value> item(Interpreter&, Value) override { return Value::of(this); }
  Result<Value> call(Interpreter&, Arguments& a) override {
    return a.placed.empty() ? Value::of(this) : a.placed.back();
  }
  Result<std::optional<Value>> binary(Interpreter&, std::string_view symbol, Value, bool) override {
    if (symbol == "|") return Value::of(this);
    return std::nullopt;
  }
};

Module* hints(Interpreter& in, const std::string& name) {
  auto* m = in.make<Module>(name);
  m->more = [](Interpreter& with, const std::string&) -> Result<std::optional<Value>> {
    return Value::of(with.make<Hint>());
  };
  m->attributes.set("TYPE_CHECKING", Value::of(false));
  return m;
}

// What lies outside of the network: it may be named and handed around, nothing of it is done, and nothing may depend on
// it.
class Outside : public Object {
 public:
  explicit Outside(std::string called) : name(std::move(called)) {}
  std::string type_name() const override { return "value of '" + name + "', which is not read"; }
  Result<std::optional<Value>> attribute(Interpreter& in, const std::string& word) override {
    if (word.starts_with("__")) return std::nullopt;
    return Value::of(in.make<Outside>(name + "." + word));
  }
  Result<Value> call(Interpreter& in, Arguments&) override { return Value::of(in.make<Outside>(name + "()")); }
  Result<std::optional<Value>> binary(Interpreter& in, std::string_view symbol, Value, bool) override {
    if (symbol == "/") return Value::of(in.make<Outside>(name));
    return std::nullopt;
  }
  Result<bool> truth(Interpreter&) override { return fail(Fault::Unsupported, "a decision by a " + type_name()); }
  const std::string name;
};

constexpr std::array<std::string_view, 12> outside_modules{
    "sys",    "pathlib",     "hashlib",           "time",   "datetime",         "json", "argparse",
    "random", "safetensors", "safetensors.torch", "pprint", "matplotlib.pyplot"};

Module* numpy(Interpreter& in) {
  Module* m = math(in);
  auto* made = in.make<Module>("numpy");
  made->attributes = m->attributes;
  made->attributes.set("newaxis", Value());
  for (const char* word : {"float32", "float64", "float16", "int64", "int32", "uint8", "bool_"})
    made->attributes.set(word, in.text(word));
  made->attributes.set("array", in.native("array", [](Interpreter&, Arguments& a) -> Made {
    return a.placed.empty() ? Made(wrong("array() of nothing")) : Made(a.placed[0]);
  }));
  made->attributes.set("abs", in.builtins["abs"]);
  made->attributes.set("sum", in.builtins["sum"]);
  made->attributes.set("max", in.builtins["max"]);
  made->attributes.set("min", in.builtins["min"]);
  return made;
}

Made data_class(Interpreter& in, Arguments& a) {
  (void)in;
  (void)a;
  return fail(Fault::Unsupported, "'dataclass' is not read; write an __init__");
}

}  // namespace

std::optional<Value> standard_module(Interpreter& in, const std::string& name) {
  const auto made = [](Object* m) { return Value::of(m); };
  if (name == "math") return made(math(in));
  if (name == "functools") return made(functools(in));
  if (name == "operator") return made(operators(in));
  if (name == "itertools") return made(itertools(in));
  if (name == "collections" || name == "collections.abc") return made(collections(in, name));
  if (name == "typing" || name == "typing_extensions" || name == "abc" || name == "types") return made(hints(in, name));
  if (name == "numbers") {
    auto* m = in.make<Module>(name);
    for (const char* word : {"Number", "Integral", "Real"})
      m->attributes.set(word, in.native(word, [](Interpreter&, Arguments&) -> Made {
        return fail(Fault::Unsupported, "an abstract class is not called");
      }));
    return made(m);
  }
  if (name == "numpy") return made(numpy(in));
  if (std::ranges::find(outside_modules, name) != outside_modules.end()) return made(in.make<Outside>(name));
  if (name == "dataclasses") {
    auto* m = in.make<Module>(name);
    add(in, *m, "dataclass", 0, data_class);
    return made(m);
  }
  if (name == "copy") {
    auto* m = in.make<Module>(name);
    add(in, *m, "copy", 1, [](Interpreter& with, Arguments& a) -> Made {
      const auto method = with.find_attribute(a.placed[0], "copy");
      if (!method) return std::unexpected(method.error());
      if (*method) return with.call(**method, ValueList{});
      return fail(Fault::Unsupported, "a copy of a " + type_name(a.placed[0]));
    });
    return made(m);
  }
  if (name == "warnings" || name == "logging") {
    auto* m = in.make<Module>(name);
    m->more = [](Interpreter& with, const std::string& word) -> Result<std::optional<Value>> {
      return with.native(word, [](Interpreter& inner, Arguments&) -> Made {
        auto* silent = inner.make<Module>("logger");
        silent->more = [](Interpreter& deep, const std::string& said) -> Result<std::optional<Value>> {
          return deep.native(said, [](Interpreter&, Arguments&) -> Made { return Value(); });
        };
        return Value::of(silent);
      });
    };
    return made(m);
  }
  return std::nullopt;
}

}  // namespace convoy::python
