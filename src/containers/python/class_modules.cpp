// What makes classes and tells of them: dataclasses, enum and inspect.
#include "containers/python/modules.h"

#include <algorithm>

namespace convoy::python {

using Made = Result<Value>;

namespace {

// field(default=..., default_factory=...): what a field starts with.
class Field : public Object {
 public:
  std::string type_name() const override { return "field"; }
  std::optional<Value> otherwise, factory;
  bool is_given = true, is_compared = true;  // init=, compare=
};

Status take_truth(Interpreter& in, Arguments& a, const char* word, bool& into) {
  const auto said = a.take(word);
  const auto holds = said ? in.truth(*said) : Result<bool>(into);
  if (!holds) return std::unexpected(holds.error());
  into = *holds;
  return {};
}

const Field* field_of(const Class& type, const std::string& name) {
  const Value* found = type.find(name);
  return found ? found->as<Field>() : nullptr;
}

Made field(Interpreter& in, Arguments& a) {
  auto* made = in.make<Field>();
  made->otherwise = a.take("default");
  made->factory = a.take("default_factory");
  if (auto said = take_truth(in, a, "init", made->is_given); !said) return pass(said);
  if (auto said = take_truth(in, a, "compare", made->is_compared); !said) return pass(said);
  return Value::of(made);
}

// The __init__ of a dataclass: its fields in order, those of its bases first; then __post_init__.
Made fill_fields(Interpreter& in, const std::vector<std::string>& fields, Arguments& a) {
  auto* self = a.placed.empty() ? nullptr : a.placed[0].as<Instance>();
  if (!self) return wrong("a dataclass without itself");
  a.placed.erase(a.placed.begin());
  std::string words;
  const auto is_given = [&](const std::string& name) {
    const auto* said = field_of(*self->type, name);
    return !said || said->is_given;
  };
  for (const auto& name : fields)
    if (is_given(name)) words += (words.empty() ? "" : " ") + name;
  const auto given = bound(a, words, 0, self->type->name);
  if (!given) return std::unexpected(given.error());
  std::size_t next = 0;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    std::optional<Value> value = is_given(fields[i]) ? (*given)[next++] : std::nullopt;
    const Value* otherwise = self->type->find(fields[i]);
    const auto* made = field_of(*self->type, fields[i]);
    if (!value && made && made->factory) {
      const auto fresh = in.call(*made->factory, ValueList{});
      if (!fresh) return fresh;
      value = *fresh;
    } else if (!value) {
      value = made ? made->otherwise : otherwise ? std::optional(*otherwise) : std::nullopt;
    }
    if (!value) return wrong(self->type->name + "(): argument '" + fields[i] + "' is missing");
    self->attributes.set(fields[i], *value);
  }
  if (const Value* then = self->type->find("__post_init__")) return in.call(*then, ValueList{Value::of(self)});
  return Value();
}

// Of two of the same class: their fields are equal.
Made same_fields(Interpreter& in, const std::vector<std::string>& fields, const Arguments& a) {
  const auto *x = a.placed.size() == 2 ? a.placed[0].as<Instance>() : nullptr,
             *y = x ? a.placed[1].as<Instance>() : nullptr;
  if (!y || x->type != y->type) return in.not_implemented;
  for (const std::string& name : fields) {
    const auto* said = field_of(*x->type, name);
    const Value *one = x->attributes.find(name), *other = y->attributes.find(name);
    if ((said && !said->is_compared) || !one || !other) continue;
    const auto same = in.same_or_equal(*one, *other);
    if (!same) return std::unexpected(same.error());
    if (!*same) return Value::of(false);
  }
  return Value::of(true);
}

Made data_class(Interpreter& in, Arguments& a) {
  bool compares = true;
  if (auto said = take_truth(in, a, "eq", compares); !said) return pass(said);
  if (a.placed.empty())  // @dataclass(frozen=True)
    return in.native("dataclass", [compares](Interpreter& with, Arguments& b) -> Made {
      b.named = {{"eq", Value::of(compares)}};
      return data_class(with, b);
    });
  auto* type = a.placed[0].as<Class>();
  if (!type) return wrong("dataclass() of what is no class");
  std::vector<std::string> fields;
  type->is_dataclass = true;
  for (std::size_t i = type->order.size(); i-- > 0;)
    for (const std::string& name : type->order[i]->is_dataclass ? type->order[i]->fields : std::vector<std::string>())
      if (std::ranges::find(fields, name) == fields.end()) fields.push_back(name);
  if (!type->attributes.find("__init__"))
    type->attributes.set("__init__", in.native("__init__", [fields](Interpreter& with, Arguments& b) {
      return fill_fields(with, fields, b);
    }));
  if (compares && !type->attributes.find("__eq__"))
    type->attributes.set("__eq__", in.native("__eq__", [fields](Interpreter& with, Arguments& b) {
      return same_fields(with, fields, b);
    }));
  return a.placed[0];
}

class Parameter : public Object {
 public:
  Parameter(std::string called, ParameterKind takes, std::optional<Value> value)
      : name(std::move(called)),
        kind(takes),
        otherwise(value) {}
  std::string type_name() const override { return "parameter"; }
  Result<std::optional<Value>> attribute(Interpreter& in, const std::string& word) override {
    if (word == "name") return in.text(name);
    if (word == "default") return otherwise ? *otherwise : in.text("<class 'inspect._empty'>");
    const char* words[] = {"POSITIONAL_OR_KEYWORD", "KEYWORD_ONLY", "VAR_POSITIONAL", "VAR_KEYWORD"};
    if (word == "kind") return in.text(words[static_cast<std::size_t>(kind)]);
    for (const char* one : words)
      if (word == one) return in.text(one);
    return std::nullopt;
  }
  const std::string name;
  const ParameterKind kind;
  const std::optional<Value> otherwise;
};

Made signature(Interpreter& in, Arguments& a) {
  const Function* f = a.placed[0].as<Function>();
  if (!f) return fail(Fault::Unsupported, "signature() of a " + type_name(a.placed[0]));
  f = &f->told();
  auto* all = in.make<Mapping>();
  std::size_t next_default = 0;
  for (const Syntax& one : f->parameters->parts) {
    std::optional<Value> otherwise;
    if (one.parts[0].kind != SyntaxKind::Absent) otherwise = f->defaults[next_default++];
    auto* made = in.make<Parameter>(one.text, static_cast<ParameterKind>(one.integer), otherwise);
    if (auto put = all->put(in, in.text(one.text), Value::of(made)); !put) return pass(put);
  }
  auto* m = in.make<Module>("signature");
  m->attributes.set("parameters", Value::of(all));
  return Value::of(m);
}

}  // namespace

Module* dataclasses_module(Interpreter& in) {
  auto* m = in.make<Module>("dataclasses");
  add_function(in, *m, "dataclass", 0, data_class);
  add_function(in, *m, "field", 0, field);
  return m;
}

Module* inspect_module(Interpreter& in) {
  auto* m = in.make<Module>("inspect");
  add_function(in, *m, "isfunction", 1,
               [](Interpreter&, Arguments& a) -> Made { return Value::of(a.placed[0].as<Function>() != nullptr); });
  add_function(in, *m, "isclass", 1,
               [](Interpreter&, Arguments& a) -> Made { return Value::of(a.placed[0].as<Class>() != nullptr); });
  add_function(in, *m, "signature", 1, signature);
  return m;
}

namespace {

// enum.auto(): one more than the largest number before, once the class has its members.
class Counted : public Object {
 public:
  std::string type_name() const override { return "auto"; }
  Value number;
};

// The value of a member that the body of its class gave so.
Value counted(const Class& type, const Value& given) {
  auto* one = given.as<Counted>();
  if (!one) return given;
  std::int64_t most = 0;
  for (const auto& [word, member] : type.members.all())
    if (const Value* held = member.as<Instance>()->attributes.find("value"); held->is_whole())
      most = std::max(most, held->whole());
  if (one->number.is_none()) one->number = Value::of(most + 1);
  return one->number;
}

}  // namespace

Module* enum_module(Interpreter& in) {
  auto* m = in.make<Module>("enum");
  Class* base = in.make_class("Enum", {});
  base->is_enum = true;
  m->attributes.set("Enum", Value::of(base));
  add_function(in, *m, "auto", 0,
               [](Interpreter& with, Arguments&) -> Made { return Value::of(with.make<Counted>()); });
  add_function(in, *m, "unique", 1, [](Interpreter&, Arguments& a) -> Made { return a.placed[0]; });
  return m;
}

// The values that the body of an enum gives become its members; equal ones are one.
Status make_members(Interpreter& in, Class& type) {
  for (const auto& [word, given] : type.attributes.all()) {
    const bool plain = !given.as<Function>() && !given.as<Native>() && !given.as<Described>() && word[0] != '_';
    if (!plain) continue;
    const Value value = counted(type, given);
    const Value* same = nullptr;
    for (const auto& [other, member] : type.members.all()) {
      const Value* held = member.as<Instance>()->attributes.find("value");
      const bool one = value.same(*held) || (!value.as<Instance>() && in.equal(value, *held).value_or(false));
      if (one && !same) same = &member;
    }
    if (same) {
      const Value member = *same;
      type.members.set(word, member);
      continue;
    }
    auto* member = in.make<Instance>(&type);
    for (const char* name : {"value", "_value_"}) member->attributes.set(name, value);
    for (const char* name : {"name", "_name_"}) member->attributes.set(name, in.text(word));
    type.members.set(word, Value::of(member));
  }
  for (const auto& [word, member] : type.members.all()) type.attributes.set(word, member);
  return in.charge(static_cast<Size>(type.members.all().size()) * 200);
}

Result<Value> Class::item(Interpreter& in, Value key) {
  const auto* word = key.as<Text>();
  if (!is_enum) return Value::of(this);  // a type hint: Foo[int]
  const Value* member = word ? members.find(word->text) : nullptr;
  return member ? Result<Value>(*member) : fail(Fault::Format, "'" + name + "' has no member " + repr(in, key));
}

Result<ValueList> Class::elements(Interpreter& in) {
  if (!is_enum) return Object::elements(in);
  ValueList all;
  for (const auto& [word, member] : members.all())
    if (member.as<Instance>()->attributes.find("name")->as<Text>()->text == word) all.push_back(member);
  return all;
}

Result<Size> Class::length(Interpreter& in) {
  if (!is_enum) return Object::length(in);
  const auto all = elements(in);
  return all ? Result<Size>(static_cast<Size>(all->size())) : std::unexpected(all.error());
}

}  // namespace convoy::python
