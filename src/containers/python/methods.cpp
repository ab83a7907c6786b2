// Methods of lists, tuples, dictionaries and sets, and how values are written into texts.
#include "containers/python/methods.h"
#include "containers/python/dictionary_views.h"
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

Made map_pop_last(Interpreter& in, Mapping& self, Taken& a) {
  if (self.entries.empty()) return in.raises("KeyError", "popitem() of an empty dictionary");
  const bool is_last = !a[0] || a[0]->whole() != 0;
  const auto taken = is_last ? self.entries.back() : self.entries.front();
  if (auto gone = self.delete_item(in, taken.first); !gone) return pass(gone);
  return in.tuple({taken.first, taken.second});
}
Made map_clear(Interpreter& in, Mapping& self, Taken&) {
  for (const Value& key : in.elements(Value::of(&self)).value_or(ValueList()))
    if (auto gone = self.delete_item(in, key); !gone) return pass(gone);
  return Value();
}
Made set_remove(Interpreter& in, Mapping& self, Taken& a) {
  if (auto gone = self.delete_item(in, *a[0]); !gone) return pass(gone);
  return Value();
}
Made set_discard(Interpreter& in, Mapping& self, Taken& a) {
  const auto there = self.contains(in, *a[0]);
  if (!there) return std::unexpected(there.error());
  return *there ? set_remove(in, self, a) : Made(Value());
}
Made is_apart(Interpreter& in, Mapping& self, Taken& a) {
  const auto all = in.elements(*a[0]);
  if (!all) return std::unexpected(all.error());
  for (const Value& one : *all)
    if (const auto there = self.contains(in, one); !there || *there)
      return there ? Made(Value::of(false)) : std::unexpected(there.error());
  return Value::of(true);
}

constexpr std::array dict_methods{Method<Mapping>{"keys", "", 0, parts<View::Of::Keys>},
                                  Method<Mapping>{"values", "", 0, parts<View::Of::Values>},
                                  Method<Mapping>{"items", "", 0, parts<View::Of::Items>},
                                  Method<Mapping>{"get", "key default", 1, get},
                                  Method<Mapping>{"setdefault", "key default", 1, setdefault},
                                  Method<Mapping>{"pop", "key default", 1, map_pop},
                                  Method<Mapping>{"popitem", "last", 0, map_pop_last},
                                  Method<Mapping>{"clear", "", 0, map_clear},
                                  Method<Mapping>{"copy", "", 0, map_copy}};
constexpr std::array set_methods{Method<Mapping>{"discard", "element", 1, set_discard},
                                 Method<Mapping>{"remove", "element", 1, set_remove},
                                 Method<Mapping>{"clear", "", 0, map_clear},
                                 Method<Mapping>{"isdisjoint", "other", 1, is_apart},
                                 Method<Mapping>{"add", "element", 1, set_add},
                                 Method<Mapping>{"copy", "", 0, map_copy},
                                 Method<Mapping>{"update", "others", 1, set_update},
                                 Method<Mapping>{"issubset", "other", 1, is_within},
                                 Method<Mapping>{"issuperset", "other", 1, surrounds},
                                 Method<Mapping>{"union", "other", 0, together<'|'>},
                                 Method<Mapping>{"intersection", "other", 1, together<'&'>},
                                 Method<Mapping>{"difference", "other", 1, together<'-'>}};

}  // namespace

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
  constexpr std::array<std::string_view, 5> changing{"add", "update", "discard", "remove", "clear"};
  if (is_frozen && std::ranges::find(changing, name) != changing.end()) return std::nullopt;
  if (is_set) return method_of(in, *this, set_methods, name);
  if (name == "update")
    return in.native(name, [this](Interpreter& with, Arguments& given) { return update(with, *this, given); });
  return method_of(in, *this, dict_methods, name);
}

}  // namespace convoy::python
