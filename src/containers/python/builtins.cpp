// Python's builtin functions, those that compute on known values.
#include "containers/python/interpreter.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace convoy::python {

Result<std::vector<std::optional<Value>>> bound(const Arguments& given, std::string_view words, std::size_t least,
                                                std::string_view function) {
  std::vector<std::string_view> names;
  for (std::size_t from = 0; from < words.size();) {
    const std::size_t to = std::min(words.find(' ', from), words.size());
    names.push_back(words.substr(from, to - from));
    from = to + 1;
  }
  std::vector<std::optional<Value>> all(names.size());
  const std::string who = std::string(function) + "(): ";
  if (given.placed.size() > names.size())
    return fail(Fault::Format, who + "takes " + std::to_string(names.size()) + " arguments, " +
                                   std::to_string(given.placed.size()) + " are given");
  for (std::size_t i = 0; i < given.placed.size(); ++i) all[i] = given.placed[i];
  for (const auto& [word, value] : given.named) {
    const auto at = std::ranges::find(names, word);
    if (at == names.end())
      return fail(Fault::Unsupported, who + "has no argument '" + word + "'; it takes " + std::string(words));
    auto& place = all[static_cast<std::size_t>(at - names.begin())];
    if (place) return fail(Fault::Format, who + "'" + word + "' is given twice");
    place = value;
  }
  for (std::size_t i = 0; i < least; ++i)
    if (!all[i]) return fail(Fault::Format, who + "argument '" + std::string(names[i]) + "' is missing");
  return all;
}

namespace {

using Made = Result<Value>;

std::unexpected<Error> wrong(std::string what) { return fail(Fault::Format, std::move(what)); }

Made len(Interpreter& in, Arguments& a) {
  const auto n = in.length(a.placed[0]);
  if (!n) return std::unexpected(n.error());
  return Value::of(*n);
}

Made range(Interpreter& in, Arguments& a) {
  std::int64_t bounds[3] = {0, 0, 1};
  for (std::size_t i = 0; i < a.placed.size(); ++i) {
    if (!a.placed[i].is_whole()) return wrong("range() of a " + type_name(a.placed[i]));
    bounds[a.placed.size() == 1 ? 1 : i] = a.placed[i].whole();
  }
  if (bounds[2] == 0) return wrong("range() with a step of 0");
  return Value::of(in.make<Range>(bounds[0], bounds[1], bounds[2]));
}

Made zip(Interpreter& in, Arguments& a) {
  a.take("strict");
  std::vector<ValueList> lists;
  std::size_t shortest = a.placed.empty() ? 0 : std::numeric_limits<std::size_t>::max();
  for (const Value& one : a.placed) {
    auto all = in.elements(one);
    if (!all) return pass(all);
    shortest = std::min(shortest, all->size());
    lists.push_back(std::move(*all));
  }
  if (auto s = in.charge(static_cast<Size>(shortest * (lists.size() * 16 + 100))); !s) return pass(s);
  ValueList rows;
  for (std::size_t i = 0; i < shortest; ++i) {
    ValueList row;
    for (const auto& list : lists) row.push_back(list[i]);
    rows.push_back(in.tuple(std::move(row)));
  }
  return Value::of(in.make<Iterator>(std::move(rows)));
}

Made enumerate(Interpreter& in, Arguments& a) {
  const auto given = bound(a, "iterable start", 1, "enumerate");
  if (!given) return std::unexpected(given.error());
  const auto all = in.elements(*(*given)[0]);
  if (!all) return std::unexpected(all.error());
  std::int64_t i = (*given)[1] ? (*given)[1]->whole() : 0;
  if (auto s = in.charge(static_cast<Size>(all->size()) * 150); !s) return pass(s);
  ValueList rows;
  for (const Value& one : *all) rows.push_back(in.tuple({Value::of(i++), one}));
  return Value::of(in.make<Iterator>(std::move(rows)));
}

Made map(Interpreter& in, Arguments& a) {
  if (a.placed.size() < 2) return wrong("map() takes a function and lists");
  Arguments lists{ValueList(a.placed.begin() + 1, a.placed.end()), {}};
  const auto rows = zip(in, lists);
  if (!rows) return rows;
  ValueList made;
  for (const Value& row : rows->as<Iterator>()->items) {
    const auto one = in.call(a.placed[0], row.as<Sequence>()->items);
    if (!one) return one;
    made.push_back(*one);
  }
  return Value::of(in.make<Iterator>(std::move(made)));
}

Made filter(Interpreter& in, Arguments& a) {
  const auto all = in.elements(a.placed[1]);
  if (!all) return std::unexpected(all.error());
  ValueList kept;
  for (const Value& one : *all) {
    const auto said = a.placed[0].is_none() ? Made(one) : in.call(a.placed[0], ValueList{one});
    if (!said) return said;
    const auto holds = in.truth(*said);
    if (!holds) return std::unexpected(holds.error());
    if (*holds) kept.push_back(one);
  }
  return Value::of(in.make<Iterator>(std::move(kept)));
}

Made whole(Interpreter&, Arguments& a) {
  if (a.placed.empty()) return Value::of(std::int64_t{0});
  const Value x = a.placed[0];
  if (x.is_whole()) return Value::of(x.whole());
  if (x.is_real()) {
    if (!(std::abs(x.real()) < 0x1p63)) return wrong("int() of a number that is too large");
    return Value::of(static_cast<std::int64_t>(x.real()));
  }
  if (const auto* text = x.as<Text>()) {
    std::int64_t n = 0;
    const std::string trimmed = text->text.substr(std::min(text->text.find_first_not_of(' '), text->text.size()));
    char* end = nullptr;
    errno = 0;
    n = std::strtoll(trimmed.c_str(), &end, 10);
    if (!trimmed.empty() && *end == '\0' && errno == 0) return Value::of(n);
  }
  return fail(Fault::Unsupported, "int() of a " + type_name(x));
}

Made real(Interpreter& in, Arguments& a) {
  if (a.placed.empty()) return Value::of(0.0);
  if (a.placed[0].is_number()) return Value::of(a.placed[0].real());
  if (const auto* text = a.placed[0].as<Text>()) {
    if (text->text == "inf" || text->text == "infinity") return Value::of(std::numeric_limits<double>::infinity());
    if (text->text == "-inf") return Value::of(-std::numeric_limits<double>::infinity());
    if (text->text == "nan") return Value::of(std::numeric_limits<double>::quiet_NaN());
  }
  return fail(Fault::Unsupported, "float() of " + repr(in, a.placed[0]));
}

Made truth(Interpreter& in, Arguments& a) {
  if (a.placed.empty()) return Value::of(false);
  const auto holds = in.truth(a.placed[0]);
  if (!holds) return std::unexpected(holds.error());
  return Value::of(*holds);
}

Made string(Interpreter& in, Arguments& a) {
  if (a.placed.empty()) return in.text("");
  auto words = in.string_of(a.placed[0]);
  if (!words) return pass(words);
  return in.text(std::move(*words));
}

template <bool Tuple>
Made sequence(Interpreter& in, Arguments& a) {
  if (a.placed.empty()) return Tuple ? in.tuple({}) : in.list({});
  auto all = in.elements(a.placed[0]);
  if (!all) return pass(all);
  return Tuple ? in.tuple(std::move(*all)) : in.list(std::move(*all));
}

Made set(Interpreter& in, Arguments& a) {
  auto* made = in.make<Mapping>(true);
  if (a.placed.empty()) return Value::of(made);
  const auto all = in.elements(a.placed[0]);
  if (!all) return std::unexpected(all.error());
  for (const Value& one : *all)
    if (auto put = made->put(in, one, Value()); !put) return pass(put);
  return Value::of(made);
}

Made dict(Interpreter& in, Arguments& a) {
  auto* made = in.make<Mapping>();
  if (!a.placed.empty()) {
    if (const auto* map = a.placed[0].as<Mapping>()) {
      for (const auto& [key, value] : map->entries)
        if (auto put = made->put(in, key, value); !put) return pass(put);
    } else {
      const auto all = in.elements(a.placed[0]);
      if (!all) return std::unexpected(all.error());
      for (const Value& one : *all) {
        const auto pair = in.elements(one);
        if (!pair) return std::unexpected(pair.error());
        if (pair->size() != 2) return wrong("dict() of what are no pairs");
        if (auto put = made->put(in, (*pair)[0], (*pair)[1]); !put) return pass(put);
      }
    }
  }
  for (const auto& [word, value] : a.named)
    if (auto put = made->put(in, in.text(word), value); !put) return pass(put);
  return Value::of(made);
}

template <bool Most>
Made extreme(Interpreter& in, Arguments& a) {
  const auto key = a.take("key"), otherwise = a.take("default");
  ValueList all = a.placed;
  if (a.placed.size() == 1) {
    auto items = in.elements(a.placed[0]);
    if (!items) return pass(items);
    all = std::move(*items);
  }
  if (all.empty()) return otherwise ? Made(*otherwise) : Made(wrong("the largest or smallest of nothing"));
  std::optional<Value> best, best_key;
  for (const Value& one : all) {
    const auto measured = key ? in.call(*key, ValueList{one}) : Made(one);
    if (!measured) return measured;
    if (best) {
      const auto better = Most ? in.compare("<", *best_key, *measured) : in.compare("<", *measured, *best_key);
      if (!better) return std::unexpected(better.error());
      if (!*better) continue;
    }
    best = one;
    best_key = *measured;
  }
  return *best;
}

Made sum(Interpreter& in, Arguments& a) {
  const auto given = bound(a, "iterable start", 1, "sum");
  if (!given) return std::unexpected(given.error());
  const auto all = in.elements(*(*given)[0]);
  if (!all) return std::unexpected(all.error());
  Made total = (*given)[1].value_or(Value::of(std::int64_t{0}));
  for (const Value& one : *all) {
    total = in.binary("+", *total, one);
    if (!total) return total;
  }
  return total;
}

template <bool Any>
Made some(Interpreter& in, Arguments& a) {
  const auto all = in.elements(a.placed[0]);
  if (!all) return std::unexpected(all.error());
  for (const Value& one : *all) {
    const auto holds = in.truth(one);
    if (!holds) return std::unexpected(holds.error());
    if (*holds == Any) return Value::of(Any);
  }
  return Value::of(!Any);
}

Made sorted(Interpreter& in, Arguments& a) {
  const auto key = a.take("key"), reverse = a.take("reverse");
  auto all = in.elements(a.placed[0]);
  if (!all) return pass(all);
  if (all->size() > 100000) return fail(Fault::Limit, "sorts more than 100000 values");
  std::vector<std::pair<Value, Value>> keyed;
  for (const Value& one : *all) {
    const auto measured = key ? in.call(*key, ValueList{one}) : Made(one);
    if (!measured) return measured;
    keyed.emplace_back(*measured, one);
  }
  bool down = false;
  if (reverse) down = in.truth(*reverse).value_or(false);
  Status failed;
  // A merge sort, so that a comparison that fails leaves nothing undone.
  std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& x, const auto& y) {
    if (!failed) return false;
    const auto less = down ? in.compare("<", y.first, x.first) : in.compare("<", x.first, y.first);
    if (!less) failed = std::unexpected(less.error());
    return less && *less;
  });
  if (!failed) return pass(failed);
  ValueList sorted_items;
  for (const auto& [unused, one] : keyed) sorted_items.push_back(one);
  return in.list(std::move(sorted_items));
}

Made reversed(Interpreter& in, Arguments& a) {
  auto all = in.elements(a.placed[0]);
  if (!all) return pass(all);
  std::ranges::reverse(*all);
  return Value::of(in.make<Iterator>(std::move(*all)));
}

Made absolute(Interpreter& in, Arguments& a) {
  const Value x = a.placed[0];
  if (x.is_real()) return Value::of(std::abs(x.real()));
  if (x.is_whole()) return x.whole() < 0 ? in.unary("-", x) : Made(x);
  const auto method = in.attribute(x, "abs");
  return method ? in.call(*method, ValueList{}) : method;
}

Made rounded(Interpreter&, Arguments& a) {
  if (a.placed.empty() || !a.placed[0].is_number()) return wrong("round() of what is no number");
  if (a.placed[0].is_whole()) return a.placed[0];
  if (a.placed.size() > 1 && !a.placed[1].is_none()) {
    const double scale = std::pow(10.0, a.placed[1].real());
    return Value::of(std::nearbyint(a.placed[0].real() * scale) / scale);
  }
  if (!(std::abs(a.placed[0].real()) < 0x1p62)) return wrong("round() of a number that is too large");
  return Value::of(static_cast<std::int64_t>(std::nearbyint(a.placed[0].real())));  // halves to even
}

Made divmod(Interpreter& in, Arguments& a) {
  const auto times = in.binary("//", a.placed[0], a.placed[1]), rest = in.binary("%", a.placed[0], a.placed[1]);
  if (!times) return times;
  if (!rest) return rest;
  return in.tuple({*times, *rest});
}

bool of_type(Interpreter& in, const Value& value, const Value& type) {
  if (const auto* all = type.as<Sequence>())
    return std::ranges::any_of(all->items, [&](const Value& one) { return of_type(in, value, one); });
  if (const auto* known = type.as<Class>()) {
    const auto* instance = value.as<Instance>();
    return known == in.object_class || (instance && instance->type->derives_from(known));
  }
  if (const auto* builtin = type.as<Native>()) {
    const std::string& name = builtin->name;
    if (name == "int") return value.is_whole();
    if (name == "float") return value.is_real();
    if (name == "Iterable" || name == "Sequence")
      return value.as<Sequence>() || value.as<Mapping>() || value.as<Range>() || value.as<Text>();
    if (name == "Callable") return value.as<Function>() || value.as<Native>() || value.as<Bound>() || value.as<Class>();
    if (name == "Number" || name == "Integral" || name == "Real")
      return name == "Integral" ? value.is_whole() : value.is_number();
    return type_name(value) == name;
  }
  return false;
}

Made isinstance(Interpreter& in, Arguments& a) { return Value::of(of_type(in, a.placed[0], a.placed[1])); }

Made issubclass(Interpreter&, Arguments& a) {
  const auto *x = a.placed[0].as<Class>(), *y = a.placed[1].as<Class>();
  return Value::of(x && y && x->derives_from(y));
}

Made callable(Interpreter&, Arguments& a) {
  const Value f = a.placed[0];
  const auto* instance = f.as<Instance>();
  return Value::of(f.as<Function>() || f.as<Native>() || f.as<Bound>() || f.as<Class>() ||
                   (instance && instance->type->find("__call__")));
}

Made type(Interpreter& in, Arguments& a) {
  if (a.placed.size() != 1) return fail(Fault::Unsupported, "type() of other than one value");
  if (const auto* instance = a.placed[0].as<Instance>()) return Value::of(instance->type);
  const auto known = in.builtins.find(type_name(a.placed[0]));
  return known == in.builtins.end() ? in.text(type_name(a.placed[0])) : known->second;
}

Result<std::string> word_of(const Value& v, std::string_view function) {
  if (const auto* text = v.as<Text>()) return text->text;
  return wrong(std::string(function) + "() wants the name of an attribute");
}

Made getattr(Interpreter& in, Arguments& a) {
  const auto word = word_of(a.placed[1], "getattr");
  if (!word) return std::unexpected(word.error());
  auto found = in.find_attribute(a.placed[0], *word);
  if (!found) return pass(found);
  if (*found) return **found;
  return a.placed.size() > 2 ? Made(a.placed[2]) : in.attribute(a.placed[0], *word);
}

Made hasattr(Interpreter& in, Arguments& a) {
  const auto word = word_of(a.placed[1], "hasattr");
  if (!word) return std::unexpected(word.error());
  auto found = in.find_attribute(a.placed[0], *word);
  if (!found) return pass(found);
  return Value::of(found->has_value());
}

Made setattr(Interpreter& in, Arguments& a) {
  const auto word = word_of(a.placed[1], "setattr");
  if (!word) return std::unexpected(word.error());
  if (auto done = in.set_attribute(a.placed[0], *word, a.placed[2]); !done) return pass(done);
  return Value();
}

Made iter(Interpreter& in, Arguments& a) {
  if (a.placed[0].as<Iterator>()) return a.placed[0];
  auto all = in.elements(a.placed[0]);
  if (!all) return pass(all);
  return Value::of(in.make<Iterator>(std::move(*all)));
}

Made next(Interpreter&, Arguments& a) {
  auto* iterator = a.placed[0].as<Iterator>();
  if (!iterator) return wrong("next() of a " + type_name(a.placed[0]));
  if (iterator->next < iterator->items.size()) return iterator->items[iterator->next++];
  return a.placed.size() > 1 ? Made(a.placed[1]) : Made(wrong("next() finds nothing more"));
}

template <Described::As How>
Made described(Interpreter& in, Arguments& a) {
  return Value::of(in.make<Described>(How, a.placed[0]));
}

Made nothing(Interpreter&, Arguments&) { return Value(); }
Made representation(Interpreter& in, Arguments& a) { return in.text(repr(in, a.placed[0])); }
Made slice(Interpreter& in, Arguments& a) {
  if (a.placed.size() == 1) return Value::of(in.make<Cut>(Value(), a.placed[0], Value()));
  return Value::of(in.make<Cut>(a.placed[0], a.placed[1], a.placed.size() > 2 ? a.placed[2] : Value()));
}
Made power(Interpreter& in, Arguments& a) { return in.binary("**", a.placed[0], a.placed[1]); }

struct Builtin {
  const char* name;
  Made (*run)(Interpreter&, Arguments&);
  std::size_t least, most;
};
constexpr std::size_t any = 1000000;
constexpr Builtin builtin_functions[] = {{"len", len, 1, 1},
                                         {"range", range, 1, 3},
                                         {"zip", zip, 0, any},
                                         {"enumerate", enumerate, 1, 2},
                                         {"map", map, 2, any},
                                         {"filter", filter, 2, 2},
                                         {"int", whole, 0, 1},
                                         {"float", real, 0, 1},
                                         {"bool", truth, 0, 1},
                                         {"str", string, 0, 1},
                                         {"list", sequence<false>, 0, 1},
                                         {"tuple", sequence<true>, 0, 1},
                                         {"set", set, 0, 1},
                                         {"frozenset", set, 0, 1},
                                         {"dict", dict, 0, 1},
                                         {"max", extreme<true>, 1, any},
                                         {"min", extreme<false>, 1, any},
                                         {"sum", sum, 1, 2},
                                         {"any", some<true>, 1, 1},
                                         {"all", some<false>, 1, 1},
                                         {"sorted", sorted, 1, 1},
                                         {"reversed", reversed, 1, 1},
                                         {"abs", absolute, 1, 1},
                                         {"round", rounded, 1, 2},
                                         {"divmod", divmod, 2, 2},
                                         {"isinstance", isinstance, 2, 2},
                                         {"issubclass", issubclass, 2, 2},
                                         {"callable", callable, 1, 1},
                                         {"type", type, 1, 1},
                                         {"getattr", getattr, 2, 3},
                                         {"hasattr", hasattr, 2, 2},
                                         {"setattr", setattr, 3, 3},
                                         {"iter", iter, 1, 1},
                                         {"next", next, 1, 2},
                                         {"staticmethod", described<Described::As::Static>, 1, 1},
                                         {"classmethod", described<Described::As::OfClass>, 1, 1},
                                         {"property", described<Described::As::Property>, 1, 1},
                                         {"print", nothing, 0, any},
                                         {"repr", representation, 1, 1},
                                         {"slice", slice, 1, 3},
                                         {"pow", power, 2, 2}};

// Refused by name: each of them reaches beyond the program.
constexpr const char* refused_functions[] = {"eval",       "exec",       "compile", "open", "input",
                                             "__import__", "breakpoint", "exit",    "quit", "delattr",
                                             "memoryview", "dir",        "id",      "help"};

}  // namespace

void add_builtins(Interpreter& in) {
  for (const Builtin& one : builtin_functions) {
    const std::string name = one.name;
    in.builtins[name] = in.native(name, [one, name](Interpreter& with, Arguments& a) -> Made {
      const bool takes_named = one.most == any || name == "dict" || name == "sum" || name == "enumerate" ||
                               name == "sorted" || name == "int";
      if (a.placed.size() > one.most || (a.placed.size() < one.least && a.named.empty()))
        return wrong(name + "() with " + std::to_string(a.placed.size()) + " arguments");
      if (!a.named.empty() && !takes_named)
        return fail(Fault::Unsupported, name + "() has no argument '" + a.named[0].first + "'");
      if (name == "sorted" && a.placed.empty()) return wrong("sorted() of nothing");
      return one.run(with, a);
    });
  }
  for (const char* name : refused_functions)
    in.builtins[name] = in.native(name, [name](Interpreter&, Arguments&) -> Made {
      return fail(Fault::Unsupported,
                  "'" + std::string(name) + "' is not read: source is read as data, and nothing is run or opened");
    });
  in.builtins["object"] = Value::of(in.object_class);
  in.builtins["NotImplemented"] = Value();
  in.exception_class = in.make_class("Exception", {});
  in.exception_class->is_exception = true;
  in.builtins["Exception"] = Value::of(in.exception_class);
  for (const char* name :
       {"ValueError", "TypeError", "NotImplementedError", "RuntimeError", "KeyError", "ImportError", "AssertionError",
        "AttributeError", "IndexError", "Warning", "UserWarning", "DeprecationWarning"})
    in.builtins[name] = Value::of(in.make_class(name, {in.exception_class}));
}

}  // namespace convoy::python
