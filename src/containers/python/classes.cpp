// Classes, their instances, and what is found on them.
#include "containers/python/generator.h"

#include <algorithm>
#include <array>

namespace convoy::python {

Class* Interpreter::make_class(std::string name, std::vector<Class*> bases) {
  auto* made = make<Class>();
  made->name = std::move(name);
  if (bases.empty()) bases.push_back(object_class);
  for (const Class* base : bases) {
    made->is_exception = made->is_exception || base->is_exception;
    made->is_enum = made->is_enum || base->is_enum;
  }
  // An empty order says that there is none. C3: the first class that is behind no other list's head. Source: Python's method resolution order.
  constexpr std::size_t longest = 100;
  for (const Class* base : bases)
    if (base->order.size() > longest) return made;
  std::vector<std::vector<Class*>> lists;
  for (const Class* base : bases) lists.push_back(base->order);
  lists.push_back(bases);
  made->order.push_back(made);
  for (;;) {
    std::erase_if(lists, [](const auto& one) { return one.empty(); });
    if (lists.empty()) return made;
    Class* next = nullptr;
    for (const auto& one : lists) {
      Class* head = one.front();
      const bool behind = std::ranges::any_of(
          lists, [&](const auto& other) { return std::find(other.begin() + 1, other.end(), head) != other.end(); });
      if (behind) continue;
      next = head;
      break;
    }
    if (!next) {
      made->order.clear();
      return made;
    }
    made->order.push_back(next);
    for (auto& one : lists)
      if (one.front() == next) one.erase(one.begin());
  }
}

const Value* Class::find(const std::string& word, std::size_t from) const {
  for (std::size_t i = from; i < order.size(); ++i)
    if (const Value* found = order[i]->attributes.find(word)) return found;
  return nullptr;
}

bool Class::derives_from(const Class* other) const { return std::ranges::find(order, other) != order.end(); }

Result<Value> Interpreter::described(Value found, Value self, Class* type) {
  if (const auto* how = found.as<Described>()) {
    if (how->as == Described::As::Static) return how->function;
    if (how->as == Described::As::OfClass) return Value::of(make<Bound>(Value::of(type), how->function));
    if (self.is_none()) return found;
    const auto made = call(how->function, ValueList{self});
    if (auto* holder = self.as<Instance>(); made && holder && how->as == Described::As::Cached)
      holder->attributes.set(how->name, *made);
    return made;
  }
  if (const auto* own = found.as<Instance>())
    if (const Value* get = own->own_method("__get__")) return call(*get, ValueList{found, self, Value::of(type)});
  if (!self.is_none() && (found.as<Function>() || found.as<Native>())) return Value::of(make<Bound>(self, found));
  return found;
}

Result<std::optional<Value>> Class::attribute(Interpreter& in, const std::string& word) {
  if (word == "__name__") return in.text(name);
  const Value* found = find(word);
  if (!found && word == "__doc__") return in.text("");
  if (!found && word == "__init__")  // Base.__init__(self): what every object has
    return in.native(word, [](Interpreter&, Arguments&) -> Result<Value> { return Value(); });
  if (!found) return std::nullopt;
  auto made = in.described(*found, Value(), this);
  if (!made) return pass(made);
  return *made;
}

Status Class::set_attribute(Interpreter&, const std::string& word, Value value) {
  if (!native.empty()) return fail(Fault::Unsupported, "class '" + name + "' is not the program's to change");
  attributes.set(word, value);
  return {};
}

Result<Value> Class::call(Interpreter& in, Arguments& arguments) {
  if (is_enum) {  // Color(2): the member of this value
    for (const auto& [word, member] : members.all()) {
      if (arguments.placed.size() != 1) break;
      const auto same = in.equal(*member.as<Instance>()->attributes.find("value"), arguments.placed[0]);
      if (!same) return std::unexpected(same.error());
      if (*same) return member;
    }
    return fail(Fault::Format, "'" + name + "' has no member of this value");
  }
  if (const Value* made = find("__new__"))
    return in.call(*made, std::move(arguments));  // ours: programs may not say it
  auto* instance = in.make<Instance>(this);
  const Value self = Value::of(instance);
  if (is_exception) instance->attributes.set("args", in.tuple(arguments.placed));
  if (const Value* init = find("__init__")) {
    arguments.placed.insert(arguments.placed.begin(), self);
    const auto done = in.call(*init, std::move(arguments));
    if (!done) return done;
  } else if (!arguments.placed.empty() || !arguments.named.empty()) {
    return fail(Fault::Format, name + "() takes no arguments");
  }
  return self;
}

namespace {

// self.__getattr__(name) and self.__setattr__(name, value): as getattr() and setattr() do.
Value own_way(Interpreter& in, const std::string& word, const Value& self) {
  return in.native(word, [word, self](Interpreter& with, Arguments& a) -> Result<Value> {
    const auto* name = a.placed.empty() ? nullptr : a.placed[0].as<Text>();
    if (name && word == "__getattr__" && a.placed.size() == 1) return with.attribute(self, name->text);
    if (!name || word == "__getattr__" || a.placed.size() != 2)
      return fail(Fault::Format, word + "() wants the name of an attribute" +
                                     (word == "__getattr__" ? std::string(" alone") : " and its value"));
    auto done = with.set_attribute(self, name->text, a.placed[1]);
    if (!done) return pass(done);
    return Value();
  });
}

}  // namespace

namespace {

// What a class says of an attribute before its instances do: properties, and descriptors that are set.
bool goes_before_own(const Value& found) {
  if (const auto* how = found.as<Described>()) return how->as == Described::As::Property;
  const auto* own = found.as<Instance>();
  return own && own->own_method("__set__");
}

}  // namespace

Result<std::optional<Value>> Instance::attribute(Interpreter& in, const std::string& word) {
  if (word == "__class__") return Value::of(type);
  const Value* of_class = type->find(word);
  if (of_class && goes_before_own(*of_class)) {
    auto made = in.described(*of_class, Value::of(this), type);
    if (!made) return pass(made);
    return *made;
  }
  if (const Value* own = attributes.find(word)) return *own;
  if (word == "__getattr__" && (!of_class || of_class->as<Native>())) return own_way(in, word, Value::of(this));
  if (!of_class) {
    if (const Value* more = type->find("__getattr__"); more && more->as<Native>()) {
      auto made = in.call(*more, ValueList{Value::of(this), in.text(word)});
      if (!made) return pass(made);
      if (made->type() != Value::Type::Ellipsis) return *made;
    }
    if (word == "__setattr__") return own_way(in, word, Value::of(this));
    if (word.starts_with("__") || is_of_framework()) return std::nullopt;
    if (const Value* more = own_method("__getattr__")) {
      auto made = in.call(*more, ValueList{Value::of(this), in.text(word)});
      if (made) return *made;
      return in.catches("AttributeError") ? Result<std::optional<Value>>(std::nullopt) : pass(made);
    }
    return std::nullopt;
  }
  auto made = in.described(*of_class, Value::of(this), type);
  if (!made) return pass(made);
  return *made;
}

Result<std::optional<Value>> Described::attribute(Interpreter& in, const std::string& word) {
  if (as != As::Property || (word != "setter" && word != "getter")) return Object::attribute(in, word);
  return in.native(word, [this, word](Interpreter& with, Arguments& given) -> Result<Value> {
    if (given.placed.size() != 1) return fail(Fault::Format, word + "() of a property wants a function");
    const Value other = given.placed[0];
    return Value::of(word == "setter" ? with.make<Described>(as, function, name, other)
                                      : with.make<Described>(as, other, name, setter));
  });
}

Status Instance::set_attribute(Interpreter& in, const std::string& word, Value value) {
  const Value* hook = type->find("__setattr__");
  const Value* of_class = type->find(word);
  const bool is_own_way = hook && !hook->as<Native>();  // of the program, which may see to its properties itself
  const auto* descriptor = of_class ? of_class->as<Instance>() : nullptr;
  if (const Value* method = descriptor && !is_own_way ? descriptor->own_method("__set__") : nullptr) {
    auto done = in.call(*method, ValueList{*of_class, Value::of(this), value});
    if (!done) return pass(done);
    return {};
  }
  const auto* how = of_class ? of_class->as<Described>() : nullptr;
  if (how && how->as == Described::As::Property && !how->setter.is_none() && !is_own_way) {
    const auto done = in.call(how->setter, ValueList{Value::of(this), value});
    return done ? Status() : Status(std::unexpected(done.error()));
  }
  if (how && how->as != Described::As::Cached && !is_own_way)
    return fail(Fault::Unsupported, "'" + word + "' is a property, which cannot be set");
  if (hook) {
    auto done = in.call(*hook, ValueList{Value::of(this), in.text(word), value});
    if (!done) return pass(done);
    return {};
  }
  attributes.set(word, value);
  return {};
}

Result<std::optional<Value>> Instance::special(Interpreter& in, const std::string& word, ValueList placed) {
  const Value* found = type->find(word);
  if (!found) return std::nullopt;
  placed.insert(placed.begin(), Value::of(this));
  auto made = in.call(*found, std::move(placed));
  if (!made) return pass(made);
  if (made->same(in.not_implemented)) return std::nullopt;
  return *made;
}

Result<Value> Instance::call(Interpreter& in, Arguments& arguments) {
  const Value* found = type->find("__call__");
  if (!found) return fail(Fault::Format, "a " + type->name + " cannot be called");
  arguments.placed.insert(arguments.placed.begin(), Value::of(this));
  return in.call(*found, std::move(arguments));
}

Result<Value> Instance::item(Interpreter& in, Value key) {
  auto made = special(in, "__getitem__", {key});
  if (!made) return pass(made);
  return *made ? Result<Value>(**made) : Object::item(in, key);
}

Status Instance::set_item(Interpreter& in, Value key, Value value) {
  auto made = special(in, "__setitem__", {key, value});
  if (!made) return pass(made);
  return *made ? Status{} : Object::set_item(in, key, value);
}

Result<bool> Instance::truth(Interpreter& in) {
  for (const char* word : {"__bool__", "__len__"}) {
    auto made = special(in, word, {});
    if (!made) return pass(made);
    if (!*made) continue;
    if (!(*made)->is_whole())
      return fail(Fault::Format, type->name + "." + word + "() gives a " + python::type_name(**made) + ", no truth");
    return (*made)->whole() != 0;
  }
  return true;
}

namespace {

// "add" of "+": what stands between the underscores of a method. Empty: it is no operator of two numbers.
std::string_view word_of_operator(std::string_view symbol) {
  struct Operator {
    std::string_view symbol, word;
  };
  static constexpr std::array operators{Operator{"+", "add"},     Operator{"-", "sub"},       Operator{"*", "mul"},
                                        Operator{"/", "truediv"}, Operator{"//", "floordiv"}, Operator{"%", "mod"},
                                        Operator{"**", "pow"},    Operator{"@", "matmul"},    Operator{"&", "and"},
                                        Operator{"|", "or"},      Operator{"^", "xor"},       Operator{"<<", "lshift"},
                                        Operator{">>", "rshift"}};
  const auto found = std::ranges::find(operators, symbol, &Operator::symbol);
  return found == operators.end() ? std::string_view() : found->word;
}

}  // namespace

// a + b by a.__add__(b), else by b.__radd__(a), which comes first where b's class derives from a's.
Result<std::optional<Value>> Instance::binary(Interpreter& in, std::string_view symbol, Value other, bool reversed) {
  const std::string word(word_of_operator(symbol));
  if (word.empty()) return std::nullopt;
  const auto* second = other.as<Instance>();
  const bool is_derived = second && second->type != type && second->type->derives_from(type);
  if (!reversed && is_derived && second->type->find("__r" + word + "__")) return std::nullopt;
  return special(in, (reversed ? "__r" : "__") + word + "__", {other});
}

Result<std::optional<Value>> Instance::augmented(Interpreter& in, std::string_view symbol, Value other) {
  const std::string word(word_of_operator(symbol));
  if (word.empty()) return std::nullopt;
  return special(in, "__i" + word + "__", {other});
}

Result<std::optional<Value>> Instance::unary(Interpreter& in, std::string_view symbol) {
  return special(in, symbol == "-" ? "__neg__" : symbol == "+" ? "__pos__" : "__invert__", {});
}

Result<Size> Instance::length(Interpreter& in) {
  auto made = special(in, "__len__", {});
  if (!made) return pass(made);
  if (*made && (*made)->is_whole()) {
    if ((*made)->whole() < 0)
      return fail(Fault::Format, type->name + ".__len__() gives " + std::to_string((*made)->whole()));
    return (*made)->whole();
  }
  return Object::length(in);
}

namespace {

// Calls a method until it raises what ends it.
Iterator* calling(Interpreter& in, const Value& self, const Value& method, const char* end, bool counts) {
  return in.make<Generator>(
      [self, method, end, counts, i = std::int64_t{0}](Interpreter& with) mutable -> Result<std::optional<Value>> {
        auto made = with.call(method, counts ? ValueList{self, Value::of(i++)} : ValueList{self});
        if (made) return *made;
        return with.catches(end) ? Result<std::optional<Value>>(std::nullopt) : pass(made);
      });
}

}  // namespace

Result<Iterator*> Instance::iterator(Interpreter& in) {
  const Value self = Value::of(this);
  if (const Value* next = own_method("__next__"); next && !own_method("__iter__"))
    return calling(in, self, *next, "StopIteration", false);
  auto made = special(in, "__iter__", {});
  if (!made) return std::unexpected(made.error());
  if (*made) {
    const auto* given = (*made)->as<Instance>();
    if (const Value* next = given ? given->own_method("__next__") : nullptr)
      return calling(in, **made, *next, "StopIteration", false);
    if ((*made)->same(self)) return fail(Fault::Format, "a " + type->name + " gives itself, which has no __next__");
    return in.iterator(**made);
  }
  if (const Value* item = own_method("__getitem__")) return calling(in, self, *item, "IndexError", true);
  return std::unexpected(Object::elements(in).error());
}

Result<ValueList> Instance::elements(Interpreter& in) {
  const auto all = iterator(in);
  return all ? in.elements(Value::of(*all)) : std::unexpected(all.error());
}

bool Instance::is_of_framework() const {
  return std::ranges::any_of(type->order, [](const Class* one) { return !one->native.empty(); });
}

const Value* Instance::own_method(const std::string& word) const {
  const Value* found = type->find(word);
  return found && found->as<Function>() ? found : nullptr;
}

Result<bool> Instance::contains(Interpreter& in, Value value) {
  auto made = special(in, "__contains__", {value});
  if (!made) return pass(made);
  return *made ? in.truth(**made) : Object::contains(in, value);
}

Result<std::optional<Value>> Super::attribute(Interpreter& in, const std::string& word) {
  const Value* found = type->find(word, first);
  if (!found) {
    // What every object has.
    if (word == "__init__" || word == "__init_subclass__")
      return in.native(word, [](Interpreter&, Arguments&) -> Result<Value> { return Value(); });
    return std::nullopt;
  }
  auto made = in.described(*found, self.as<Class>() ? Value() : self, type);
  if (!made) return pass(made);
  return *made;
}

Result<std::optional<Value>> Module::attribute(Interpreter& in, const std::string& word) {
  if (const Value* found = attributes.find(word)) return *found;
  if (!more) return std::nullopt;
  auto made = more(in, word);
  if (made && *made) attributes.set(word, **made);
  return made;
}

}  // namespace convoy::python
