// Python's builtin functions, those that compute on known values.
#include "containers/python/builtins.h"

#include "containers/python/kinds.h"
#include "containers/python/unread.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace convoy::python {

namespace {

using Made = Result<Value>;

// What an object of a framework knows to do of itself, "of_int", or one of the program, "__int__". Nothing: it does not.
Result<std::optional<Value>> own(Interpreter& in, const Value& x, const char* word) {
  if (!x.is_object() || x.as<Text>()) return std::nullopt;
  if (const auto* instance = x.as<Instance>()) {
    const Value* said = instance->own_method("__" + std::string(word) + "__");
    if (!said) return std::nullopt;
    auto made = in.call(*said, ValueList{x});
    if (!made) return pass(made);
    return *made;
  }
  auto method = in.find_attribute(x, "of_" + std::string(word));
  if (!method || !*method) return method;
  auto made = in.call(**method, ValueList{});
  if (!made) return pass(made);
  return *made;
}

Made whole(Interpreter& in, Arguments& a) {
  std::optional<Value> said = a.take("base");
  if (!a.named.empty()) return wrong("int() has no argument '" + a.named[0].first + "'");
  if (!said && a.placed.size() > 1) said = a.placed[1];
  if (a.placed.empty()) return Value::of(std::int64_t{0});
  const Value x = a.placed[0];
  if (auto made = own(in, x, "int"); !made || *made) return made ? Made(**made) : pass(made);
  if (x.is_whole()) return Value::of(x.whole());
  if (x.is_real()) {
    if (!(std::abs(x.real()) < 0x1p63)) return wrong("int() of a number that is too large");
    return Value::of(static_cast<std::int64_t>(x.real()));
  }
  if (const auto* text = x.as<Text>()) {
    const Value base = said.value_or(Value::of(std::int64_t{10}));
    if (!base.is_whole() || base.whole() < 2 || base.whole() > 36)
      return fail(Fault::Unsupported, "int() to the base " + repr(in, base));
    const std::size_t last = text->text.find_last_not_of(" \t\n");
    const std::string trimmed = last == std::string::npos ? "" : text->text.substr(0, last + 1);
    char* end = nullptr;
    errno = 0;
    const std::int64_t n = std::strtoll(trimmed.c_str(), &end, static_cast<int>(base.whole()));
    if (!trimmed.empty() && *end == '\0' && errno == 0) return Value::of(n);
    if (base.whole() == 10 && text->is_ascii && errno == 0 && trimmed.find('_') == std::string::npos)
      return in.raises("ValueError", "int() of the text " + repr(in, x));
  }
  return fail(Fault::Unsupported, "int() of a " + type_name(x));
}

Made real(Interpreter& in, Arguments& a) {
  if (a.placed.empty()) return Value::of(0.0);
  if (a.placed[0].is_number()) return Value::of(a.placed[0].real());
  if (auto made = own(in, a.placed[0], "float"); !made || *made) return made ? Made(**made) : pass(made);
  if (const auto* text = a.placed[0].as<Text>()) {
    if (text->text == "inf" || text->text == "infinity") return Value::of(std::numeric_limits<double>::infinity());
    if (text->text == "-inf") return Value::of(-std::numeric_limits<double>::infinity());
    if (text->text == "nan") return Value::of(std::numeric_limits<double>::quiet_NaN());
    double number = 0;
    const char* end = text->text.data() + text->text.size();
    const auto read = std::from_chars(text->text.data(), end, number);
    if (read.ec == std::errc() && read.ptr == end && std::isfinite(number)) return Value::of(number);
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
  return in.text_or_outside(in.string_of(a.placed[0]));
}

Made absolute(Interpreter& in, Arguments& a) {
  const Value x = a.placed[0];
  if (x.is_real()) return Value::of(std::abs(x.real()));
  if (x.is_whole()) return in.unary(x.whole() < 0 ? "-" : "+", x);
  if (auto made = own(in, x, "abs"); !made || *made) return made ? Made(**made) : pass(made);
  const auto method = in.attribute(x, "abs");
  return method ? in.call(*method, ValueList{}) : method;
}

// To digits behind the point, or in front of it where they are below 0; halves of what the number is, to even.
Made rounded_to(const Value& x, std::int64_t digits) {
  constexpr std::int64_t most_digits = 18;
  if (x.is_whole()) {
    if (digits >= 0) return Value::of(x.whole());
    if (digits < -most_digits) return fail(Fault::Unsupported, "round() to more than 18 digits in front of the point");
    std::int64_t step = 1, made = 0;
    for (std::int64_t i = 0; i < -digits; ++i) step *= 10;
    std::int64_t times = x.whole() / step, rest = x.whole() % step;
    if (rest < 0) --times, rest += step;
    const bool up = rest > step - rest || (rest == step - rest && times % 2 != 0);
    if (__builtin_mul_overflow(times + (up ? 1 : 0), step, &made))
      return wrong("round() of a number that is too large");
    return Value::of(made);
  }
  const double number = x.real();
  if (!std::isfinite(number) || digits > 300) return x;
  if (digits < 0) {
    if (digits < -most_digits || !(std::abs(number) < 0x1p62)) return wrong("round() of such a number to such digits");
    const double step = std::pow(10.0, static_cast<double>(-digits));
    return Value::of(std::nearbyint(number / step) * step);
  }
  return Value::of(std::strtod(fmt::format("{:.{}f}", number, digits).c_str(), nullptr));
}

Made rounded(Interpreter& in, Arguments& a) {
  if (a.placed.size() == 1)
    if (auto made = own(in, a.placed[0], "round"); !made || *made) return made ? Made(**made) : pass(made);
  if (a.placed.empty() || !a.placed[0].is_number()) return wrong("round() of what is no number");
  if (a.placed.size() > 1 && !a.placed[1].is_none()) {
    if (!a.placed[1].is_whole()) return wrong("round() to a number of digits that is no whole number");
    return rounded_to(a.placed[0], a.placed[1].whole());
  }
  if (a.placed[0].is_whole()) return Value::of(a.placed[0].whole());
  if (!(std::abs(a.placed[0].real()) < 0x1p62)) return wrong("round() of a number that is too large");
  return Value::of(static_cast<std::int64_t>(std::nearbyint(a.placed[0].real())));  // halves to even
}

Made divmod(Interpreter& in, Arguments& a) {
  const auto times = in.binary("//", a.placed[0], a.placed[1]), rest = in.binary("%", a.placed[0], a.placed[1]);
  if (!times) return times;
  if (!rest) return rest;
  return in.tuple({*times, *rest});
}

Made callable(Interpreter&, Arguments& a) { return Value::of(can_be_called(a.placed[0])); }

Made type(Interpreter& in, Arguments& a) {
  if (a.placed.size() != 1) return fail(Fault::Unsupported, "type() of other than one value");
  if (const auto* instance = a.placed[0].as<Instance>()) return Value::of(instance->type);
  const auto* map = a.placed[0].as<Mapping>();
  if (map && map->is_ordered)
    return fail(Fault::Unsupported, "type() of an OrderedDict; isinstance() tells what it is");
  const auto known = in.builtins.find(map && map->is_frozen ? "frozenset" : type_name(a.placed[0]));
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

template <Described::As How>
Made described(Interpreter& in, Arguments& a) {
  return Value::of(in.make<Described>(How, a.placed[0]));
}

Made nothing(Interpreter&, Arguments&) { return Value(); }
Made representation(Interpreter& in, Arguments& a) { return in.text_or_outside(in.written(a.placed[0])); }
Made letter(Interpreter& in, Arguments& a) {
  if (!a.placed[0].is_whole() || a.placed[0].whole() < 0 || a.placed[0].whole() > 127)
    return fail(Fault::Unsupported, "chr() of other than a number up to 127");
  return in.text(std::string(1, static_cast<char>(a.placed[0].whole())));
}
Made number_of_letter(Interpreter&, Arguments& a) {
  const auto* text = a.placed[0].as<Text>();
  if (!text || text->letters().size() != 1) return wrong("ord() of other than one letter");
  const auto first = static_cast<unsigned char>(text->text[0]);
  std::int64_t number = text->text.size() == 1 ? first : first & (0x7fU >> text->text.size());
  for (std::size_t i = 1; i < text->text.size(); ++i)  // six bits a byte of UTF-8
    number = number * 64 + (static_cast<unsigned char>(text->text[i]) & 0x3fU);
  return Value::of(number);
}
Made slice(Interpreter& in, Arguments& a) {
  if (a.placed.size() == 1) return Value::of(in.make<Cut>(Value(), a.placed[0], Value()));
  return Value::of(in.make<Cut>(a.placed[0], a.placed[1], a.placed.size() > 2 ? a.placed[2] : Value()));
}
Made power(Interpreter& in, Arguments& a) { return in.binary("**", a.placed[0], a.placed[1]); }

// open(...): nothing is opened, and what a file holds is known to nobody; whether there is one, as well.
Made open(Interpreter& in, Arguments&) {
  if (in.expects_exceptions())
    return fail(Fault::Unsupported, "whether 'open' finds its file is not known: nothing is opened");
  return Value::of(in.make<Outside>("open()"));
}

// dir(x): what it is asked for is whether a name is among them.
class Names : public Object {
 public:
  explicit Names(Value whose) : whose_(whose) {}
  std::string type_name() const override { return "list of names"; }
  Result<bool> contains(Interpreter& in, Value value) override {
    const auto* word = value.as<Text>();
    if (!word) return false;
    const auto found = in.find_attribute(whose_, word->text);
    if (!found) return std::unexpected(found.error());
    return found->has_value();
  }

 private:
  const Value whose_;
};

Made dir(Interpreter& in, Arguments& a) { return Value::of(in.make<Names>(a.placed[0])); }

constexpr Builtin of_values[] = {{"int", whole, 0, 2},
                                 {"float", real, 0, 1},
                                 {"bool", truth, 0, 1},
                                 {"str", string, 0, 1},
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
                                 {"staticmethod", described<Described::As::Static>, 1, 1},
                                 {"classmethod", described<Described::As::OfClass>, 1, 1},
                                 {"property", described<Described::As::Property>, 1, 1},
                                 {"print", nothing, 0, any_number},
                                 {"repr", representation, 1, 1},
                                 {"slice", slice, 1, 3},
                                 {"chr", letter, 1, 1},
                                 {"ord", number_of_letter, 1, 1},
                                 {"pow", power, 2, 2},
                                 {"open", open, 0, any_number},
                                 {"dir", dir, 1, 1}};

// Refused by name: each of them reaches beyond the program.
constexpr const char* refused_functions[] = {"eval", "exec", "compile", "input",      "__import__", "breakpoint",
                                             "exit", "quit", "delattr", "memoryview", "id",         "help"};

}  // namespace

namespace {

struct Exception {
  const char *name, *base;
};
constexpr Exception exceptions[] = {{"Exception", "BaseException"},
                                    {"KeyboardInterrupt", "BaseException"},
                                    {"SystemExit", "BaseException"},
                                    {"GeneratorExit", "BaseException"},
                                    {"ArithmeticError", "Exception"},
                                    {"ZeroDivisionError", "ArithmeticError"},
                                    {"OverflowError", "ArithmeticError"},
                                    {"AssertionError", "Exception"},
                                    {"AttributeError", "Exception"},
                                    {"EOFError", "Exception"},
                                    {"ImportError", "Exception"},
                                    {"LookupError", "Exception"},
                                    {"IndexError", "LookupError"},
                                    {"KeyError", "LookupError"},
                                    {"NameError", "Exception"},
                                    {"OSError", "Exception"},
                                    {"FileNotFoundError", "OSError"},
                                    {"RuntimeError", "Exception"},
                                    {"NotImplementedError", "RuntimeError"},
                                    {"RecursionError", "RuntimeError"},
                                    {"StopIteration", "Exception"},
                                    {"TypeError", "Exception"},
                                    {"ValueError", "Exception"},
                                    {"Warning", "Exception"},
                                    {"UserWarning", "Warning"},
                                    {"DeprecationWarning", "Warning"},
                                    {"FutureWarning", "Warning"},
                                    {"RuntimeWarning", "Warning"},
                                    {"PendingDeprecationWarning", "Warning"}};

void add_exceptions(Interpreter& in) {
  Class* first = in.make_class("BaseException", {});
  first->is_exception = true;
  first->attributes.set("__init__", in.native("__init__", [](Interpreter& with, Arguments& a) -> Made {
    auto* self = a.placed.empty() ? nullptr : a.placed[0].as<Instance>();
    if (!self) return wrong("an exception without itself");
    self->attributes.set("args", with.tuple(ValueList(a.placed.begin() + 1, a.placed.end())));
    return Value();
  }));
  in.builtins["BaseException"] = Value::of(first);
  for (const auto& [name, base] : exceptions)
    in.builtins[name] = Value::of(in.make_class(name, {in.builtins[base].as<Class>()}));
  in.exception_class = in.builtins["Exception"].as<Class>();
  in.builtins["ModuleNotFoundError"] = in.builtins["ImportError"];
  in.builtins["IOError"] = in.builtins["OSError"];
}

}  // namespace

void add_builtins(Interpreter& in) {
  std::vector<Builtin> all(std::begin(of_values), std::end(of_values));
  all.insert(all.end(), builtins_of_lists().begin(), builtins_of_lists().end());
  for (const Builtin& one : all) {
    const std::string name = one.name;
    in.builtins[name] = in.native(name, [one, name](Interpreter& with, Arguments& a) -> Made {
      const bool takes_named = one.most == any_number || name == "dict" || name == "sum" || name == "enumerate" ||
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
    in.builtins[name] = in.native(name, [name](Interpreter& with, Arguments&) -> Made {
      return with.forbidden("'" + std::string(name) +
                            "' is not read: source is read as data, and nothing is run or opened");
    });
  in.builtins["object"] = Value::of(in.object_class);
  in.not_implemented = in.native("NotImplemented", [](Interpreter&, Arguments&) -> Made {
    return wrong("'NotImplemented' cannot be called; an exception is a NotImplementedError");
  });
  in.builtins["NotImplemented"] = in.not_implemented;
  add_exceptions(in);
}

}  // namespace convoy::python
