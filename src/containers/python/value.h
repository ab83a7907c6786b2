// What a program computes with: numbers, texts, containers, functions, classes, and objects of the frameworks, which all
// answer the same few questions. Objects live as long as the interpreter that made them.
#pragma once
#include "convoy/result.h"
#include "convoy/size.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace convoy::python {

class Interpreter;
class Iterator;
class Object;
struct Syntax;
struct ProgramFile;

class Value {
 public:
  enum class Type : std::uint8_t { None, Ellipsis, Truth, Integer, Real, Object };

  Value() : integer_(0) {}
  static Value of(bool truth) { return Value(Type::Truth, truth); }
  static Value of(std::int64_t n) { return Value(Type::Integer, n); }
  static Value of(double x) {
    Value v;
    v.type_ = Type::Real;
    v.real_ = x;
    return v;
  }
  static Value of(Object* object) {
    Value v;
    v.type_ = Type::Object;
    v.object_ = object;
    return v;
  }
  static Value ellipsis() { return Value(Type::Ellipsis, 0); }

  Type type() const { return type_; }
  bool is_none() const { return type_ == Type::None; }
  bool is_truth() const { return type_ == Type::Truth; }
  bool is_whole() const { return type_ == Type::Integer || type_ == Type::Truth; }  // a truth counts as 0 or 1
  bool is_real() const { return type_ == Type::Real; }
  bool is_number() const { return is_whole() || is_real(); }
  bool is_object() const { return type_ == Type::Object; }
  std::int64_t whole() const { return integer_; }
  double real() const { return type_ == Type::Real ? real_ : static_cast<double>(integer_); }
  Object* object() const { return is_object() ? object_ : nullptr; }
  // The object as this kind of object; null where it is another.
  template <class T>
  T* as() const {
    return is_object() ? dynamic_cast<T*>(object_) : nullptr;
  }
  // The very same object, or the same constant: Python's `is`.
  bool same(const Value& b) const { return type_ == b.type_ && integer_ == b.integer_; }

 private:
  Value(Type type, std::int64_t n) : type_(type), integer_(n) {}
  Type type_ = Type::None;
  union {
    std::int64_t integer_;
    double real_;
    Object* object_;
  };
};

using ValueList = std::vector<Value>;

struct Arguments {
  ValueList placed;
  std::vector<std::pair<std::string, Value>> named;
  // Takes the argument of this name out, if it is there.
  std::optional<Value> take(std::string_view name);
};

// Names and values in the order in which they were first set.
class NameTable {
 public:
  const Value* find(const std::string& name) const;
  void set(const std::string& name, Value value);
  bool erase(const std::string& name);
  const std::vector<std::pair<std::string, Value>>& all() const { return all_; }

 private:
  std::vector<std::pair<std::string, Value>> all_;
  std::unordered_map<std::string, std::size_t> places_;
};

// Every kind of object overrides what it can do; what it does not override is refused with its type's name.
class Object {
 public:
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;
  virtual std::string type_name() const = 0;
  virtual Result<std::optional<Value>> attribute(Interpreter&, const std::string& name);
  virtual Status set_attribute(Interpreter&, const std::string& name, Value value);
  virtual Result<Value> call(Interpreter&, Arguments& arguments);
  virtual Result<Value> item(Interpreter&, Value key);
  virtual Status set_item(Interpreter&, Value key, Value value);
  virtual Status delete_item(Interpreter&, Value key);
  // self OP other, or other OP self where `reversed`. Nothing: it has no meaning here.
  virtual Result<std::optional<Value>> binary(Interpreter&, std::string_view symbol, Value other, bool reversed);
  // self OP= other. Nothing: as self = self OP other.
  virtual Result<std::optional<Value>> augmented(Interpreter&, std::string_view symbol, Value other);
  virtual Result<std::optional<Value>> unary(Interpreter&, std::string_view symbol);
  virtual Result<bool> truth(Interpreter&);
  virtual Result<Size> length(Interpreter&);
  virtual Result<ValueList> elements(Interpreter&);
  // What goes through it once; what changes in between is seen where Python sees it.
  virtual Result<Iterator*> iterator(Interpreter&);
  virtual Result<bool> contains(Interpreter&, Value value);
  // Of a key that a dictionary does not hold. Fails: it may be one of its numbers all the same.
  virtual Status expect_no_number() const { return {}; }
  // Of its own, for copy.deepcopy. Nothing: it never changes, and is shared.
  virtual Result<std::optional<Value>> copied(Interpreter&) { return std::nullopt; }
};

class Text : public Object {
 public:
  explicit Text(std::string words, std::string said = "")
      : text(std::move(words)),
        shown(std::move(said)),
        is_ascii(holds_ascii(text)) {}
  std::string type_name() const override { return "str"; }
  Result<std::optional<Value>> attribute(Interpreter&, const std::string& name) override;
  Result<Value> item(Interpreter&, Value key) override;
  Result<std::optional<Value>> binary(Interpreter&, std::string_view symbol, Value other, bool reversed) override;
  Result<bool> truth(Interpreter&) override { return !text.empty(); }
  Result<Size> length(Interpreter&) override { return static_cast<Size>(is_ascii ? text.size() : letters().size()); }
  Result<ValueList> elements(Interpreter&) override;
  std::vector<std::string_view> letters() const;  // in UTF-8 one may have several bytes
  // Pays for going through all of it once.
  Status read(Interpreter& in) const;
  Result<bool> contains(Interpreter&, Value value) override;
  static bool holds_ascii(std::string_view words);
  const std::string text;
  const std::string shown;  // as str() writes what it stands for, where that is another text; empty: it is itself
  const bool is_ascii;
};

// A list or a tuple.
class Sequence : public Object {
 public:
  Sequence(bool fixed, ValueList all) : is_tuple(fixed), items(std::move(all)) {}
  std::string type_name() const override { return is_tuple ? "tuple" : "list"; }
  Result<std::optional<Value>> attribute(Interpreter&, const std::string& name) override;
  Result<Value> item(Interpreter&, Value key) override;
  Status set_item(Interpreter&, Value key, Value value) override;
  Status delete_item(Interpreter&, Value key) override;
  Result<std::optional<Value>> binary(Interpreter&, std::string_view symbol, Value other, bool reversed) override;
  Result<std::optional<Value>> augmented(Interpreter&, std::string_view symbol, Value other) override;
  Result<bool> truth(Interpreter&) override { return !items.empty(); }
  Result<Size> length(Interpreter&) override { return static_cast<Size>(items.size()); }
  Result<ValueList> elements(Interpreter&) override { return items; }
  Result<Iterator*> iterator(Interpreter&) override;
  Result<bool> contains(Interpreter&, Value value) override;
  const bool is_tuple;
  bool is_size = false;  // a torch.Size, which str() tells from a tuple
  ValueList items;
};

// A dictionary; a set is one without values.
class Mapping : public Object {
 public:
  explicit Mapping(bool set = false) : is_set(set) {}
  std::string type_name() const override { return is_set ? "set" : "dict"; }
  Result<std::optional<Value>> attribute(Interpreter&, const std::string& name) override;
  Result<Value> item(Interpreter&, Value key) override;
  Status set_item(Interpreter&, Value key, Value value) override;
  Status delete_item(Interpreter&, Value key) override;
  Result<std::optional<Value>> binary(Interpreter&, std::string_view symbol, Value other, bool reversed) override;
  Result<std::optional<Value>> augmented(Interpreter&, std::string_view symbol, Value other) override;
  Result<bool> truth(Interpreter&) override { return !entries.empty(); }
  Result<Size> length(Interpreter&) override { return static_cast<Size>(entries.size()); }
  Result<ValueList> elements(Interpreter&) override;  // the keys
  Result<bool> contains(Interpreter&, Value value) override;
  // Null: no such key. Fails: what cannot be a key.
  Result<Value*> find(Value key);
  Status put(Interpreter&, Value key, Value value);
  const bool is_set;
  bool is_frozen = false;  // a frozenset
  bool is_ordered = false;  // an OrderedDict
  Value otherwise;  // what makes the value of a key that is not there; None: nothing does
  std::vector<std::pair<Value, Value>> entries;

 private:
  std::unordered_map<std::string, std::size_t> places_;
};

class Range : public Object {
 public:
  Range(std::int64_t first, std::int64_t last, std::int64_t by) : start(first), stop(last), step(by) {}
  std::string type_name() const override { return "range"; }
  Result<Value> item(Interpreter&, Value key) override;
  Result<bool> truth(Interpreter&) override { return count() > 0; }
  Result<Size> length(Interpreter&) override { return count(); }
  Result<ValueList> elements(Interpreter&) override;
  Result<Iterator*> iterator(Interpreter&) override;
  Size count() const;
  const std::int64_t start, stop, step;
};

class Cut : public Object {  // a slice
 public:
  Cut(Value first, Value last, Value by) : start(first), stop(last), step(by) {}
  std::string type_name() const override { return "slice"; }
  const Value start, stop, step;
};

// What `iter` gives: a list that is gone through once. What zip, map and their like give makes its values when they are
// asked for (generator.h).
class Iterator : public Object {
 public:
  explicit Iterator(ValueList all) : items(std::move(all)) {}
  std::string type_name() const override { return "iterator"; }
  Result<ValueList> elements(Interpreter&) override;  // those that are left
  Result<Iterator*> iterator(Interpreter&) override { return this; }
  Result<bool> contains(Interpreter&, Value value) override;
  // The next value; nothing: there is none any more. Interpreter::pull asks it.
  virtual Result<std::optional<Value>> pull(Interpreter&);
  ValueList items;
  std::size_t next = 0;
};

using NativeFunction = std::function<Result<Value>(Interpreter&, Arguments&)>;

// A function of ours. As an attribute of a class it takes the instance first.
class Native : public Object {
 public:
  Native(std::string called, NativeFunction function) : name(std::move(called)), run(std::move(function)) {}
  std::string type_name() const override { return "function"; }
  Result<std::optional<Value>> attribute(Interpreter&, const std::string& word) override;
  Result<Value> call(Interpreter& in, Arguments& arguments) override { return run(in, arguments); }
  const std::string name;
  const NativeFunction run;
};

class Scope;
class Class;

// A function of the program.
class Function : public Object {
 public:
  std::string type_name() const override { return "function"; }
  Result<std::optional<Value>> attribute(Interpreter&, const std::string& word) override;
  Result<Value> call(Interpreter&, Arguments& arguments) override;
  std::string name;
  const Syntax* parameters = nullptr;
  const Syntax* body = nullptr;  // a Block, or the expression of a lambda
  ProgramFile* file = nullptr;
  Scope* outer = nullptr;
  ValueList defaults;  // of the parameters that have one, in their order
  bool yields = false;  // a call gives a generator
  ValueList around;  // contexts that it runs in, from the outermost on: a decorator said so
  const Function* wrapped = nullptr;  // the function whose signature functools.wraps lends it; never round in a ring
  const Function& told() const {
    const Function* last = this;
    while (last->wrapped) last = last->wrapped;
    return *last;
  }
};

class Bound : public Object {  // a method with its instance
 public:
  Bound(Value instance, Value called) : self(instance), function(called) {}
  std::string type_name() const override { return "method"; }
  Result<std::optional<Value>> attribute(Interpreter&, const std::string& word) override;
  Result<Value> call(Interpreter&, Arguments& arguments) override;
  const Value self, function;
};

// What @staticmethod, @classmethod, @property and @cached_property make of a function.
class Described : public Object {
 public:
  enum class As : std::uint8_t { Static, OfClass, Property, Cached };
  Described(As how, Value what, std::string called = "", Value set = {})
      : as(how),
        function(what),
        setter(set),
        name(std::move(called)) {}
  std::string type_name() const override { return "descriptor"; }
  // Of a property: its decorator "setter", and "getter".
  Result<std::optional<Value>> attribute(Interpreter& in, const std::string& word) override;
  const As as;
  const Value function;
  const Value setter;  // None: a property that cannot be set
  const std::string name;  // under which an instance keeps what was computed once
};

class Class : public Object {
 public:
  std::string type_name() const override { return "type"; }
  Result<std::optional<Value>> attribute(Interpreter&, const std::string& word) override;
  Status set_attribute(Interpreter&, const std::string& word, Value value) override;
  Result<Value> call(Interpreter&, Arguments& arguments) override;
  // The first class of the order that has the name, from place `from` on; null: none.
  const Value* find(const std::string& word, std::size_t from = 0) const;
  bool derives_from(const Class* other) const;
  std::string name;
  std::vector<Class*> order;  // itself first: Python's method resolution order
  Result<Value> item(Interpreter&, Value key) override;
  Result<ValueList> elements(Interpreter&) override;
  Result<Size> length(Interpreter&) override;
  NameTable attributes;
  std::string native;  // the framework's own word where this class is the framework's
  bool is_exception = false;
  bool is_enum = false;
  bool is_dataclass = false;
  std::vector<std::string> fields;  // names with a type in its body: the fields of a dataclass
  NameTable members;  // of an enum
};

class Instance : public Object {
 public:
  explicit Instance(Class* of) : type(of) {}
  std::string type_name() const override { return type->name; }
  Result<std::optional<Value>> attribute(Interpreter&, const std::string& word) override;
  Status set_attribute(Interpreter&, const std::string& word, Value value) override;
  Result<Value> call(Interpreter&, Arguments& arguments) override;
  Result<Value> item(Interpreter&, Value key) override;
  Status set_item(Interpreter&, Value key, Value value) override;
  Result<bool> truth(Interpreter&) override;
  Result<Size> length(Interpreter&) override;
  Result<ValueList> elements(Interpreter&) override;
  Result<Iterator*> iterator(Interpreter&) override;
  Result<bool> contains(Interpreter&, Value value) override;
  Result<std::optional<Value>> binary(Interpreter&, std::string_view symbol, Value other, bool reversed) override;
  Result<std::optional<Value>> augmented(Interpreter&, std::string_view symbol, Value other) override;
  Result<std::optional<Value>> unary(Interpreter&, std::string_view symbol) override;
  // A method of this name that the program wrote, not a framework; null: none.
  const Value* own_method(const std::string& word) const;
  bool is_of_framework() const;  // its class derives from one of a framework
  Class* const type;
  NameTable attributes;
  Object* extra = nullptr;  // what a framework keeps with it

 private:
  Result<std::optional<Value>> special(Interpreter&, const std::string& word, ValueList placed);
};

class Super : public Object {
 public:
  Super(Value instance, Class* of, std::size_t from) : self(instance), type(of), first(from) {}
  std::string type_name() const override { return "super"; }
  Result<std::optional<Value>> attribute(Interpreter&, const std::string& word) override;
  const Value self;
  Class* const type;
  const std::size_t first;
};

class Module : public Object {
 public:
  explicit Module(std::string called) : name(std::move(called)) {}
  std::string type_name() const override { return "module"; }
  Result<std::optional<Value>> attribute(Interpreter&, const std::string& word) override;
  const std::string name;
  NameTable attributes;
  // Makes attributes when they are first asked for; nothing: there is none.
  std::function<Result<std::optional<Value>>(Interpreter&, const std::string&)> more;
};

class Scope : public Object {
 public:
  explicit Scope(Scope* around) : outer(around) {}
  std::string type_name() const override { return "scope"; }
  NameTable names;
  Scope* const outer;
  const Function* function = nullptr;
  Class* class_of_body = nullptr;  // where it is the body of a class
  std::vector<std::string> global_names, outer_names;
  std::vector<std::string> typed;  // names that the body of a class gives a type
};

// The values of a tuple or of a named one; null: it is neither.
const Sequence* tuple_in(const Value& value);

// "3", "'word'", "[1, 2]": near to Python's repr, for messages; cut off where it is long. Interpreter::written is what a
// program may compute with.
std::string repr(Interpreter&, const Value& value);
std::string type_name(const Value& value);

}  // namespace convoy::python
