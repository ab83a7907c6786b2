// Tuples whose places have names.
#include "containers/python/modules.h"

#include <algorithm>
#include <utility>

namespace convoy::python {
namespace {

using Made = Result<Value>;

// What Name.__new__ is: it holds the defaults of the last fields, and a program may set them.
class Constructor : public Object {
 public:
  std::string type_name() const override { return "constructor"; }
  Result<std::optional<Value>> attribute(Interpreter& in, const std::string& word) override {
    if (word == "__defaults__") return in.tuple(defaults);
    return std::nullopt;
  }
  Status set_attribute(Interpreter& in, const std::string& word, Value value) override {
    if (word != "__defaults__") return fail(Fault::Unsupported, "'__new__." + word + "' is set");
    auto all = in.elements(value);
    if (!all) return std::unexpected(all.error());
    defaults = std::move(*all);
    return {};
  }
  ValueList defaults;
};

Made tuple_of(const Arguments& b) {
  auto* self = b.placed.empty() ? nullptr : b.placed[0].as<Instance>();
  auto* all = self && self->extra ? dynamic_cast<Sequence*>(self->extra) : nullptr;
  return all ? Made(Value::of(all)) : Made(wrong("a namedtuple without itself"));
}

Status fill(Interpreter& in, Instance& self, const std::vector<std::string>& fields, ValueList values) {
  for (std::size_t i = 0; i < fields.size(); ++i) self.attributes.set(fields[i], values[i]);
  ValueList names;
  for (const std::string& field : fields) names.push_back(in.text(field));
  self.attributes.set("_fields", in.tuple(std::move(names)));
  self.extra = in.tuple(std::move(values)).object();
  return {};
}

std::vector<std::string> fields_of(const Instance& self) {
  std::vector<std::string> fields;
  const Value* names = self.attributes.find("_fields");
  if (const auto* all = names ? names->as<Sequence>() : nullptr)
    for (const Value& one : all->items)
      if (const auto* text = one.as<Text>()) fields.push_back(text->text);
  return fields;
}

// x._replace(width=3): another one, with some of its values changed.
Made replaced(Interpreter& in, Arguments& b) {
  const auto now = tuple_of(b);
  if (!now) return now;
  const auto* self = b.placed[0].as<Instance>();
  const auto fields = fields_of(*self);
  ValueList values = now->as<Sequence>()->items;
  for (const auto& [word, value] : b.named) {
    const auto found = std::ranges::find(fields, word);
    if (found == fields.end()) return wrong("_replace(): there is no field '" + word + "'");
    values[static_cast<std::size_t>(found - fields.begin())] = value;
  }
  if (auto paid = in.charge(static_cast<Size>(fields.size()) * 64); !paid) return pass(paid);
  auto* other = in.make<Instance>(self->type);
  if (auto done = fill(in, *other, fields, std::move(values)); !done) return pass(done);
  return Value::of(other);
}

Made as_dictionary(Interpreter& in, Arguments& b) {
  const auto now = tuple_of(b);
  if (!now) return now;
  const auto fields = fields_of(*b.placed[0].as<Instance>());
  auto* made = in.make<Mapping>();
  for (std::size_t i = 0; i < fields.size(); ++i)
    if (auto put = made->put(in, in.text(fields[i]), now->as<Sequence>()->items[i]); !put) return pass(put);
  return Value::of(made);
}

void add_methods(Interpreter& in, Class& made) {
  const auto add = [&](const char* name, NativeFunction run) {
    made.attributes.set(name, in.native(name, std::move(run)));
  };
  add("__iter__", [](Interpreter&, Arguments& b) { return tuple_of(b); });
  add("__getitem__", [](Interpreter& with, Arguments& b) -> Made {
    const auto all = tuple_of(b);
    if (!all || b.placed.size() < 2) return all ? wrong("a namedtuple without itself") : all;
    return all->object()->item(with, b.placed[1]);
  });
  add("__len__", [](Interpreter& with, Arguments& b) -> Made {
    const auto all = tuple_of(b);
    if (!all) return all;
    const auto n = all->object()->length(with);
    return n ? Made(Value::of(*n)) : Made(std::unexpected(n.error()));
  });
  add("_replace", replaced);
  add("_asdict", as_dictionary);
}

// By place and by name, the last ones by their defaults.
Made filled(Interpreter& in, const std::vector<std::string>& fields, const ValueList& defaults, Arguments& b) {
  auto* self = b.placed.empty() ? nullptr : b.placed[0].as<Instance>();
  if (!self) return wrong("a namedtuple without itself");
  b.placed.erase(b.placed.begin());
  std::string words;
  for (const auto& field : fields) words += (words.empty() ? "" : " ") + field;
  const std::size_t least = fields.size() - std::min(defaults.size(), fields.size());
  const auto given = bound(b, words, least, self->type->name);
  if (!given) return std::unexpected(given.error());
  ValueList items;
  for (std::size_t i = 0; i < fields.size(); ++i)
    items.push_back((*given)[i] ? *(*given)[i] : defaults[i + defaults.size() - fields.size()]);
  if (auto done = fill(in, *self, fields, std::move(items)); !done) return pass(done);
  return Value();
}

}  // namespace

Result<Value> named_tuple(Interpreter& in, Arguments& a) {
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
  auto* constructor = in.make<Constructor>();
  if (const auto defaults = a.take("defaults"); defaults && !defaults->is_none())
    if (auto set = constructor->set_attribute(in, "__defaults__", *defaults); !set) return pass(set);
  made->attributes.set(fields_of_tuple, Value::of(constructor));
  ValueList names;
  for (const std::string& field : fields) names.push_back(in.text(field));
  made->attributes.set("_fields", in.tuple(std::move(names)));
  made->attributes.set("__init__", in.native("__init__", [fields, constructor](Interpreter& with, Arguments& b) {
    return filled(with, fields, constructor->defaults, b);
  }));
  add_methods(in, *made);
  return Value::of(made);
}

// class Spec(NamedTuple): the names with a type in its body are its fields.
Class* named_tuple_base(Interpreter& in) {
  Class* made = in.make_class("NamedTuple", {});
  made->attributes.set("__init__", in.native("__init__", [](Interpreter& with, Arguments& b) -> Made {
    const auto* self = b.placed.empty() ? nullptr : b.placed[0].as<Instance>();
    if (!self) return wrong("a namedtuple without itself");
    ValueList defaults;
    for (const std::string& field : self->type->fields)
      if (const Value* otherwise = self->type->attributes.find(field)) defaults.push_back(*otherwise);
    return filled(with, self->type->fields, defaults, b);
  }));
  add_methods(in, *made);
  return made;
}

}  // namespace convoy::python
