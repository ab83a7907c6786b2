// Values as Python's repr() and str() write them, as far as that is known.
#include "containers/python/formatting.h"
#include "containers/python/unread.h"

#include <algorithm>
#include <array>

namespace convoy::python {
namespace {

using Words = Result<std::string>;

Words unknown(const Value& value) {
  if (const auto* unread = value.as<NotRead>()) return fail(Fault::Unsupported, unread->name);
  return fail(Fault::Unsupported, "the text of a " + type_name(value) + " is not known");
}

// In single quotes, unless there are such and no double ones inside.
Words quoted(const Text& of) {
  if (!of.shown.empty()) return of.shown;
  if (!of.is_ascii) return fail(Fault::Unsupported, "the text of a text beyond ASCII is not known");
  const bool doubled = of.text.find('\'') != std::string::npos && of.text.find('"') == std::string::npos;
  const char quote = doubled ? '"' : '\'';
  std::string words(1, quote);
  for (const char c : of.text) {
    if (c == quote || c == '\\') words += std::string("\\") + c;
    else if (c == '\n') words += "\\n";
    else if (c == '\t') words += "\\t";
    else if (c == '\r') words += "\\r";
    else if (c < ' ' || c == 0x7f) return fail(Fault::Unsupported, "the text of a control character is not known");
    else words += c;
  }
  return words + quote;
}

// "a, b" of the parts that `write` gives.
template <class All, class Write>
Words listed(Interpreter& in, const All& all, Write write) {
  std::string words;
  for (const auto& one : all) {
    auto part = write(one);
    if (!part) return part;
    words += (words.empty() ? "" : ", ") + *part;
    if (auto paid = in.charge(static_cast<Size>(part->size())); !paid) return pass(paid);
  }
  return words;
}

Words sequence(Interpreter& in, const Sequence& all) {
  auto words = listed(in, all.items, [&](const Value& one) { return in.written(one); });
  if (!words) return words;
  if (all.is_size) return "torch.Size([" + *words + "])";
  if (!all.is_tuple) return "[" + *words + "]";
  return "(" + *words + (all.items.size() == 1 ? ",)" : ")");
}

// The order of a set's elements is known to nobody.
Words mapping(Interpreter& in, const Mapping& map) {
  if (map.is_set && map.entries.empty()) return std::string(map.is_frozen ? "frozenset()" : "set()");
  if (map.is_ordered || !map.otherwise.is_none() || (map.is_set && map.entries.size() > 1))
    return unknown(Value::of(const_cast<Mapping*>(&map)));
  auto words = listed(in, map.entries, [&](const std::pair<Value, Value>& one) -> Words {
    auto key = in.written(one.first);
    if (!key || map.is_set) return key;
    auto value = in.written(one.second);
    return value ? Words(*key + ": " + *value) : value;
  });
  if (!words) return words;
  return map.is_frozen ? "frozenset({" + *words + "})" : "{" + *words + "}";
}

std::string range(const Range& of) {
  std::string words = "range(" + std::to_string(of.start) + ", " + std::to_string(of.stop);
  if (of.step != 1) words += ", " + std::to_string(of.step);
  return words + ")";
}

Words named_tuple_of(Interpreter& in, const Instance& self, const Sequence& values) {
  const Value* names = self.attributes.find("_fields");
  const auto* fields = names ? names->as<Sequence>() : nullptr;
  if (!fields || fields->items.size() != values.items.size()) return unknown(Value::of(const_cast<Instance*>(&self)));
  std::size_t next = 0;
  auto words = listed(in, fields->items, [&](const Value& field) -> Words {
    auto value = in.written(values.items[next++]);
    return value && field.as<Text>() ? Words(field.as<Text>()->text + "=" + *value) : value;
  });
  return words ? Words(self.type->name + "(" + *words + ")") : words;
}

Words said_by(Interpreter& in, const Value& self, const Value& method) {
  const auto made = in.call(method, ValueList{self});
  if (!made) return std::unexpected(made.error());
  if (const auto* words = made->as<Text>()) return words->text;
  if (made->as<NotRead>()) return unknown(self);
  return wrong("a " + type_name(self) + " is written as a " + type_name(*made));
}

Words instance(Interpreter& in, const Value& value, const Instance& self) {
  if (const Value* method = self.own_method("__repr__")) return said_by(in, value, *method);
  if (const auto* values = tuple_in(value)) return named_tuple_of(in, self, *values);
  const Value* args = self.attributes.find("args");
  if (self.type->is_exception && args && args->as<Sequence>()) {
    auto words = listed(in, args->as<Sequence>()->items, [&](const Value& one) { return in.written(one); });
    return words ? Words(self.type->name + "(" + *words + ")") : words;
  }
  return unknown(value);
}

constexpr std::array<std::string_view, 11> builtin_types{"int", "float", "bool", "str",   "list", "tuple",
                                                         "set", "dict",  "type", "range", "slice"};

}  // namespace

Result<std::string> Interpreter::written(Value value) {
  const Deeper deeper(depth_);
  if (depth_ > limits_.depth) return fail(Fault::Limit, "values are nested too deep");
  if (auto paid = step(); !paid) return pass(paid);
  if (!value.is_object()) return repr(*this, value);
  if (const auto* words = value.as<Text>()) return quoted(*words);
  if (const auto* all = value.as<Sequence>()) return sequence(*this, *all);
  if (const auto* map = value.as<Mapping>()) return mapping(*this, *map);
  if (const auto* of = value.as<Range>()) return range(*of);
  if (const auto* self = value.as<Instance>()) return instance(*this, value, *self);
  if (const auto* native = value.as<Native>())
    if (std::ranges::find(builtin_types, native->name) != builtin_types.end() && builtins.contains(native->name) &&
        builtins[native->name].same(value))
      return "<class '" + native->name + "'>";
  if (const auto* type = value.as<Class>())
    if (const auto known = builtins.find(type->name); known != builtins.end() && known->second.same(value))
      return "<class '" + type->name + "'>";
  return unknown(value);
}

Result<std::string> Interpreter::string_of(Value value) {
  if (const auto* words = value.as<Text>()) return words->shown.empty() ? words->text : words->shown;
  const auto* self = value.as<Instance>();
  if (!self) return written(value);
  const Deeper deeper(depth_);
  if (depth_ > limits_.depth) return fail(Fault::Limit, "values are nested too deep");
  if (const Value* method = self->own_method("__str__")) return said_by(*this, value, *method);
  const Value *args = self->attributes.find("args"), *name = self->attributes.find("name");
  const auto* all = self->type->is_exception && args ? args->as<Sequence>() : nullptr;
  if (all && !self->own_method("__repr__")) {
    if (all->items.empty()) return std::string();
    return all->items.size() == 1 ? string_of(all->items[0]) : written(*args);
  }
  if (self->type->is_enum && name && name->as<Text>()) return self->type->name + "." + name->as<Text>()->text;
  return written(value);
}

}  // namespace convoy::python
