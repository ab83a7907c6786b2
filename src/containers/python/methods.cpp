// Methods of texts, lists, tuples, dictionaries and sets, and how values are written into texts.
#include "containers/python/dictionary_views.h"
#include "containers/python/interpreter.h"
#include "containers/python/unread.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <type_traits>

namespace convoy::python {
namespace {

using Made = Result<Value>;

template <class Of>
struct Method {
  std::string_view name, words;
  std::size_t least;
  Made (*run)(Interpreter&, Of&, std::vector<std::optional<Value>>&);
};

template <class Of, class Table>
Result<std::optional<Value>> method_of(Interpreter& in, Of& self, const Table& table, const std::string& name) {
  const auto found = std::ranges::find(table, name, &Method<Of>::name);
  if (found == table.end()) return std::nullopt;
  const Method<Of>* method = &*found;
  return in.native(name, [&self, method](Interpreter& with, Arguments& given) -> Made {
    auto taken = bound(given, method->words, method->least, method->name);
    if (!taken) return pass(taken);
    if constexpr (std::is_same_v<Of, Text>)
      if (auto paid = self.read(with); !paid) return pass(paid);
    return method->run(with, self, *taken);
  });
}

using Taken = std::vector<std::optional<Value>>;

Result<std::string> word(const std::optional<Value>& v, std::string_view what) {
  if (v)
    if (const auto* text = v->as<Text>()) return text->text;
  return wrong(std::string(what) + "() wants a text");
}

// ---- texts

constexpr const char* blank = " \t\n\r\v\f";

Made join(Interpreter& in, Text& self, Taken& a) {
  const auto all = in.elements(*a[0]);
  if (!all) return std::unexpected(all.error());
  std::string words;
  for (std::size_t i = 0; i < all->size(); ++i) {
    if ((*all)[i].as<NotRead>()) return (*all)[i];
    const auto one = word((*all)[i], "join");
    if (!one) return std::unexpected(one.error());
    if (i) words += self.text;
    words += *one;
    if (auto paid = in.charge(static_cast<Size>(one->size() + self.text.size())); !paid) return pass(paid);
  }
  return in.text(std::move(words));
}

Made split(Interpreter& in, Text& self, Taken& a) {
  const std::string by = a[0] && !a[0]->is_none() ? word(a[0], "split").value_or(" ") : std::string();
  const Size most = a[1] && a[1]->is_whole() ? a[1]->whole() : -1;
  ValueList parts;
  std::size_t from = 0;
  if (by.empty()) {
    while ((from = self.text.find_first_not_of(blank, from)) != std::string::npos) {
      const bool is_last = most >= 0 && static_cast<Size>(parts.size()) == most;
      const std::size_t to =
          is_last ? self.text.size() : std::min(self.text.find_first_of(blank, from), self.text.size());
      parts.push_back(in.text(self.text.substr(from, to - from)));
      from = to;
    }
    return in.list(std::move(parts));
  }
  for (std::size_t at;
       (most < 0 || static_cast<Size>(parts.size()) < most) && (at = self.text.find(by, from)) != std::string::npos;
       from = at + by.size())
    parts.push_back(in.text(self.text.substr(from, at - from)));
  parts.push_back(in.text(self.text.substr(from)));
  return in.list(std::move(parts));
}

template <bool End>
Made begins(Interpreter& in, Text& self, Taken& a) {
  ValueList all{*a[0]};
  if (const auto* several = a[0]->as<Sequence>()) all = several->items;
  (void)in;
  for (const Value& one : all) {
    const auto part = word(one, End ? "endswith" : "startswith");
    if (!part) return std::unexpected(part.error());
    if (End ? self.text.ends_with(*part) : self.text.starts_with(*part)) return Value::of(true);
  }
  return Value::of(false);
}

template <bool Upper>
Made cased(Interpreter& in, Text& self, Taken&) {
  if (!self.is_ascii) return fail(Fault::Unsupported, "upper() or lower() of a text beyond ASCII");
  std::string words = self.text;
  for (char& c : words) {
    if (Upper && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    if (!Upper && c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return in.text(std::move(words));
}

// lstrip() and rstrip()
template <bool End>
Made strip_one(Interpreter& in, Text& self, Taken& a) {
  const std::string of = a[0] ? word(a[0], "strip").value_or(" ") : blank;
  const auto kept = End ? self.text.find_last_not_of(of) : self.text.find_first_not_of(of);
  if (kept == std::string::npos) return in.text("");
  return in.text(End ? self.text.substr(0, kept + 1) : self.text.substr(kept));
}

// removeprefix() and removesuffix()
template <bool End>
Made removed(Interpreter& in, Text& self, Taken& a) {
  const auto part = word(a[0], End ? "removesuffix" : "removeprefix");
  if (!part) return std::unexpected(part.error());
  const bool is_there = End ? self.text.ends_with(*part) : self.text.starts_with(*part);
  if (!is_there) return Value::of(&self);
  const std::size_t kept = self.text.size() - part->size();
  return in.text(self.text.substr(End ? 0 : part->size(), kept));
}

// How often a text stands in it, one behind the other.
Made text_count(Interpreter&, Text& self, Taken& a) {
  const auto part = word(a[0], "count");
  if (!part) return std::unexpected(part.error());
  if (part->empty()) return Value::of(static_cast<std::int64_t>(self.text.size()) + 1);
  std::int64_t n = 0;
  for (std::size_t at = 0; (at = self.text.find(*part, at)) != std::string::npos; at += part->size()) ++n;
  return Value::of(n);
}

// The letters in front of a byte.
Value letters_before(const Text& self, std::size_t at) {
  return Value::of(static_cast<std::int64_t>(Text(self.text.substr(0, at)).letters().size()));
}

Made text_index(Interpreter& in, Text& self, Taken& a) {
  const auto part = word(a[0], "index");
  if (!part) return std::unexpected(part.error());
  const auto at = self.text.find(*part);
  if (at == std::string::npos) return in.raises("ValueError", "index() of what is not in the text");
  return letters_before(self, at);
}

Made strip(Interpreter& in, Text& self, Taken& a) {
  const std::string of = a[0] ? word(a[0], "strip").value_or(" ") : blank;
  const auto first = self.text.find_first_not_of(of);
  if (first == std::string::npos) return in.text("");
  return in.text(self.text.substr(first, self.text.find_last_not_of(of) - first + 1));
}

Made replace(Interpreter& in, Text& self, Taken& a) {
  const auto from = word(a[0], "replace"), to = word(a[1], "replace");
  if (!from || !to || from->empty()) return wrong("replace() wants two texts");
  std::string words;
  for (std::size_t at = 0;;) {
    const auto found = self.text.find(*from, at);
    words += self.text.substr(at, found - at);
    if (found == std::string::npos) break;
    words += *to;
    if (auto paid = in.charge(static_cast<Size>(to->size())); !paid) return pass(paid);
    at = found + from->size();
  }
  return in.text(std::move(words));
}

Made text_find(Interpreter&, Text& self, Taken& a) {
  const auto part = word(a[0], "find");
  if (!part) return std::unexpected(part.error());
  const auto at = self.text.find(*part);
  return at == std::string::npos ? Value::of(std::int64_t{-1}) : letters_before(self, at);
}

Made digits(Interpreter&, Text& self, Taken&) {
  return Value::of(!self.text.empty() && std::ranges::all_of(self.text, [](char c) { return c >= '0' && c <= '9'; }));
}

// "{} of {name:>3}".format(...)
Made format(Interpreter& in, Text& self, Arguments& given) {
  std::string words;
  std::size_t next = 0;
  for (std::size_t i = 0; i < self.text.size(); ++i) {
    const char c = self.text[i];
    if ((c == '{' || c == '}') && i + 1 < self.text.size() && self.text[i + 1] == c) {
      words += c;
      ++i;
      continue;
    }
    if (c != '{') {
      words += c;
      continue;
    }
    const auto end = self.text.find('}', i);
    if (end == std::string::npos) return wrong("format() of a text without its closing '}'");
    const std::string field = self.text.substr(i + 1, end - i - 1);
    const std::string said = field.substr(0, field.find(':')), name = said.substr(0, said.find('!'));
    const std::string how = said.size() < field.size() ? field.substr(said.size() + 1) : "";
    const std::string conversion = name.size() < said.size() ? said.substr(name.size() + 1) : "";
    std::optional<Value> value;
    if (name.empty()) {
      if (next < given.placed.size()) value = given.placed[next++];
    } else if (name.find_first_not_of("0123456789") == std::string::npos && name.size() < 6) {
      const auto at = static_cast<std::size_t>(std::stoul(name));
      if (at < given.placed.size()) value = given.placed[at];
    } else {
      for (const auto& [key, one] : given.named)
        if (key == name) value = one;
    }
    if (!value) return fail(Fault::Unsupported, "format() finds no value for '{" + field + "}'");
    const auto one = in.formatted_as(*value, conversion, how);
    if (!one || !one->as<Text>()) return one;
    const std::string& written = one->as<Text>()->text;
    words += written;
    if (auto paid = in.charge(static_cast<Size>(written.size())); !paid) return pass(paid);
    i = end;
  }
  return in.text(std::move(words));
}

constexpr std::array text_methods{Method<Text>{"join", "iterable", 1, join},
                                  Method<Text>{"split", "sep maxsplit", 0, split},
                                  Method<Text>{"startswith", "prefix", 1, begins<false>},
                                  Method<Text>{"endswith", "suffix", 1, begins<true>},
                                  Method<Text>{"upper", "", 0, cased<true>},
                                  Method<Text>{"lower", "", 0, cased<false>},
                                  Method<Text>{"strip", "chars", 0, strip},
                                  Method<Text>{"lstrip", "chars", 0, strip_one<false>},
                                  Method<Text>{"rstrip", "chars", 0, strip_one<true>},
                                  Method<Text>{"removeprefix", "prefix", 1, removed<false>},
                                  Method<Text>{"removesuffix", "suffix", 1, removed<true>},
                                  Method<Text>{"count", "sub", 1, text_count},
                                  Method<Text>{"index", "sub", 1, text_index},
                                  Method<Text>{"replace", "old new", 2, replace},
                                  Method<Text>{"find", "sub", 1, text_find},
                                  Method<Text>{"isdigit", "", 0, digits}};

// ---- lists

Made append(Interpreter& in, Sequence& self, Taken& a) {
  if (auto paid = in.charge(16); !paid) return pass(paid);
  self.items.push_back(*a[0]);
  return Value();
}
Made extend(Interpreter& in, Sequence& self, Taken& a) {
  auto done = self.augmented(in, "+", *a[0]);
  if (!done) return pass(done);
  return Value();
}
Made insert(Interpreter& in, Sequence& self, Taken& a) {
  if (!a[0]->is_whole()) return wrong("insert() wants a place");
  if (auto paid = in.step(static_cast<Size>(self.items.size()) / 8); !paid) return pass(paid);
  const auto n = static_cast<Size>(self.items.size());
  const Size at = std::clamp<Size>(a[0]->whole() < 0 ? a[0]->whole() + n : a[0]->whole(), 0, n);
  self.items.insert(self.items.begin() + at, *a[1]);
  return in.charge(16) ? Made(Value()) : Made(fail(Fault::Limit, "too many items"));
}
Made list_pop(Interpreter& in, Sequence& self, Taken& a) {
  const auto n = static_cast<Size>(self.items.size());
  Size at = a[0] && a[0]->is_whole() ? a[0]->whole() : -1;
  if (at < 0) at += n;
  if (at < 0 || at >= n) return in.raises("IndexError", "pop() of a list of " + std::to_string(n));
  const Value taken = self.items[static_cast<std::size_t>(at)];
  self.items.erase(self.items.begin() + at);
  return taken;
}
Made list_index(Interpreter& in, Sequence& self, Taken& a) {
  for (std::size_t i = 0; i < self.items.size(); ++i) {
    const auto same = in.same_or_equal(self.items[i], *a[0]);
    if (!same) return std::unexpected(same.error());
    if (*same) return Value::of(static_cast<std::int64_t>(i));
  }
  return in.raises("ValueError", "index() of what is not in the list");
}
Made list_count(Interpreter& in, Sequence& self, Taken& a) {
  std::int64_t n = 0;
  for (const Value& one : self.items) {
    const auto same = in.same_or_equal(one, *a[0]);
    if (!same) return std::unexpected(same.error());
    n += *same;
  }
  return Value::of(n);
}
Made list_reverse(Interpreter&, Sequence& self, Taken&) {
  std::ranges::reverse(self.items);
  return Value();
}
Made list_copy(Interpreter& in, Sequence& self, Taken&) { return in.list(self.items); }
Made list_clear(Interpreter&, Sequence& self, Taken&) {
  self.items.clear();
  return Value();
}
Made list_remove(Interpreter& in, Sequence& self, Taken& a) {
  const auto at = list_index(in, self, a);
  if (!at) return at;
  self.items.erase(self.items.begin() + at->whole());
  return Value();
}
Made numel(Interpreter& in, Sequence& self, Taken&) {  // torch.Size is a tuple here
  Made product = Value::of(std::int64_t{1});
  for (const Value& one : self.items)
    if (product) product = in.binary("*", *product, one);
  return product;
}

constexpr std::array tuple_methods{
    Method<Sequence>{"index", "value", 1, list_index}, Method<Sequence>{"count", "value", 1, list_count},
    Method<Sequence>{"numel", "", 0, numel}, Method<Sequence>{"as_list", "", 0, list_copy}};
constexpr std::array list_methods{
    Method<Sequence>{"append", "object", 1, append},       Method<Sequence>{"extend", "iterable", 1, extend},
    Method<Sequence>{"insert", "index object", 2, insert}, Method<Sequence>{"pop", "index", 0, list_pop},
    Method<Sequence>{"index", "value", 1, list_index},     Method<Sequence>{"count", "value", 1, list_count},
    Method<Sequence>{"reverse", "", 0, list_reverse},      Method<Sequence>{"copy", "", 0, list_copy},
    Method<Sequence>{"clear", "", 0, list_clear},          Method<Sequence>{"remove", "value", 1, list_remove}};

// ---- dictionaries and sets

template <View::Of What>
Made parts(Interpreter& in, Mapping& self, Taken&) {
  return Value::of(in.make<View>(self, What));
}
Made get(Interpreter&, Mapping& self, Taken& a) {
  const auto found = self.find(*a[0]);
  if (!found) return std::unexpected(found.error());
  return *found ? **found : a[1].value_or(Value());
}
Made setdefault(Interpreter& in, Mapping& self, Taken& a) {
  const auto found = self.find(*a[0]);
  if (!found) return std::unexpected(found.error());
  if (*found) return **found;
  const Value value = a[1].value_or(Value());
  if (auto put = self.put(in, *a[0], value); !put) return pass(put);
  return value;
}
Made map_pop(Interpreter& in, Mapping& self, Taken& a) {
  const auto found = self.find(*a[0]);
  if (!found) return std::unexpected(found.error());
  if (!*found) return a[1] ? Made(*a[1]) : Made(in.raises("KeyError", "pop() of a key that is not there"));
  const Value taken = **found;
  if (auto gone = self.delete_item(in, *a[0]); !gone) return pass(gone);
  return taken;
}
Made update(Interpreter& in, Mapping& self, Arguments& given) {
  Arguments all = given;
  const auto made = in.call(in.builtins["dict"], std::move(all));
  if (!made) return made;
  for (const auto& [key, value] : made->as<Mapping>()->entries)
    if (auto put = self.put(in, key, value); !put) return pass(put);
  return Value();
}
Made map_copy(Interpreter& in, Mapping& self, Taken&) {
  auto* made = in.make<Mapping>(self.is_set);
  made->otherwise = self.otherwise;
  made->is_frozen = self.is_frozen;
  made->is_ordered = self.is_ordered;
  for (const auto& [key, value] : self.entries)
    if (auto put = made->put(in, key, value); !put) return pass(put);
  return Value::of(made);
}
Made set_add(Interpreter& in, Mapping& self, Taken& a) {
  if (auto put = self.put(in, *a[0], Value()); !put) return pass(put);
  return Value();
}

// Every element of `all` is in the set.
Result<bool> holds_all(Interpreter& in, Mapping& set, const Value& all) {
  const auto wanted = in.elements(all);
  if (!wanted) return std::unexpected(wanted.error());
  for (const Value& one : *wanted) {
    const auto there = set.contains(in, one);
    if (!there || !*there) return there;
  }
  return true;
}

Result<Mapping*> as_set(Interpreter& in, const Value& of) {
  if (auto* set = of.as<Mapping>()) return set;
  const auto all = in.elements(of);
  if (!all) return std::unexpected(all.error());
  auto* made = in.make<Mapping>(true);
  for (const Value& one : *all)
    if (auto put = made->put(in, one, Value()); !put) return pass(put);
  return made;
}

Made is_within(Interpreter& in, Mapping& self, Taken& a) {
  auto other = as_set(in, *a[0]);
  if (!other) return std::unexpected(other.error());
  auto holds = holds_all(in, **other, Value::of(&self));
  return holds ? Made(Value::of(*holds)) : pass(holds);
}
Made surrounds(Interpreter& in, Mapping& self, Taken& a) {
  auto holds = holds_all(in, self, *a[0]);
  return holds ? Made(Value::of(*holds)) : pass(holds);
}
// union, intersection and difference, as the operators of sets.
template <char Symbol>
Made together(Interpreter& in, Mapping& self, Taken& a) {
  if (!a[0]) return map_copy(in, self, a);
  auto other = as_set(in, *a[0]);
  return other ? in.binary(std::string(1, Symbol), Value::of(&self), Value::of(*other)) : pass(other);
}
Made set_update(Interpreter& in, Mapping& self, Taken& a) {
  const auto all = in.elements(*a[0]);
  if (!all) return std::unexpected(all.error());
  for (const Value& one : *all)
    if (auto put = self.put(in, one, Value()); !put) return pass(put);
  return Value();
}

constexpr std::array dict_methods{Method<Mapping>{"keys", "", 0, parts<View::Of::Keys>},
                                  Method<Mapping>{"values", "", 0, parts<View::Of::Values>},
                                  Method<Mapping>{"items", "", 0, parts<View::Of::Items>},
                                  Method<Mapping>{"get", "key default", 1, get},
                                  Method<Mapping>{"setdefault", "key default", 1, setdefault},
                                  Method<Mapping>{"pop", "key default", 1, map_pop},
                                  Method<Mapping>{"copy", "", 0, map_copy}};
constexpr std::array set_methods{Method<Mapping>{"add", "element", 1, set_add},
                                 Method<Mapping>{"copy", "", 0, map_copy},
                                 Method<Mapping>{"update", "others", 1, set_update},
                                 Method<Mapping>{"issubset", "other", 1, is_within},
                                 Method<Mapping>{"issuperset", "other", 1, surrounds},
                                 Method<Mapping>{"union", "other", 0, together<'|'>},
                                 Method<Mapping>{"intersection", "other", 1, together<'&'>},
                                 Method<Mapping>{"difference", "other", 1, together<'-'>}};

}  // namespace

Result<std::optional<Value>> Text::attribute(Interpreter& in, const std::string& name) {
  if (name == "format")
    return in.native(name, [this](Interpreter& with, Arguments& given) { return format(with, *this, given); });
  return method_of(in, *this, text_methods, name);
}

Result<std::optional<Value>> Sequence::attribute(Interpreter& in, const std::string& name) {
  if (is_tuple) return method_of(in, *this, tuple_methods, name);
  if (name == "sort")
    return in.native(name, [this](Interpreter& with, Arguments& given) -> Made {
      Arguments all = given;
      all.placed.insert(all.placed.begin(), Value::of(this));
      const auto made = with.call(with.builtins["sorted"], std::move(all));
      if (!made) return made;
      items = made->as<Sequence>()->items;
      return Value();
    });
  return method_of(in, *this, list_methods, name);
}

Result<std::optional<Value>> Mapping::attribute(Interpreter& in, const std::string& name) {
  if (is_set) return method_of(in, *this, set_methods, name);
  if (name == "update")
    return in.native(name, [this](Interpreter& with, Arguments& given) { return update(with, *this, given); });
  return method_of(in, *this, dict_methods, name);
}

}  // namespace convoy::python
