#include "containers/python/kinds.h"

#include "containers/python/unread.h"
#include "containers/python/vector.h"

#include <algorithm>
#include <array>

namespace convoy::python {
namespace {

using Made = Result<Value>;

// Types of typing and types that are asked for by themselves, and the builtin ones that they are.
struct Alias {
  std::string_view name, type;
};
constexpr std::array aliases{Alias{"List", "list"},
                             Alias{"Tuple", "tuple"},
                             Alias{"Dict", "dict"},
                             Alias{"Set", "set"},
                             Alias{"Text", "str"},
                             Alias{"MutableMapping", "Mapping"},
                             Alias{"Mapping", "Mapping"},
                             Alias{"Iterable", "Iterable"},
                             Alias{"Sequence", "Sequence"},
                             Alias{"Callable", "Callable"},
                             Alias{"NoneType", "NoneType"},
                             Alias{"FunctionType", "FunctionType"},
                             Alias{"LambdaType", "FunctionType"},
                             Alias{"ModuleType", "module"},
                             Alias{"MethodType", "method"}};

constexpr std::array<std::string_view, 21> names_of_types{
    "OrderedDict", "int",       "float",    "bool",     "str",   "list",   "tuple",
    "set",         "frozenset", "dict",     "range",    "slice", "type",   "Iterable",
    "Number",      "Sequence",  "Callable", "Integral", "Real",  "Tensor", "Mapping"};

bool is_type(const Value& value) {
  const auto* native = value.as<Native>();
  return value.as<Class>() || value.as<Hint>() ||
         (native && std::ranges::find(names_of_types, native->name) != names_of_types.end());
}

bool can_be_gone_through(const Value& value) {
  const auto* instance = value.as<Instance>();
  return value.as<Sequence>() || value.as<Mapping>() || value.as<Range>() || value.as<Text>() || value.as<Iterator>() ||
         type_name(value) == "Tensor" || type_name(value).starts_with("dict_") ||
         (instance && instance->type->find("__iter__"));
}

bool is_of(const Value& value, const std::string& name) {
  const std::string own = type_name(value);
  if (name == "int") return value.is_whole();
  if (name == "float") return value.is_real();
  if (name == "NoneType") return value.is_none();
  if (const auto* map = value.as<Mapping>(); map && (map->is_set || name == "OrderedDict"))
    return name == "OrderedDict" ? map->is_ordered
                                 : name == (map->is_frozen ? "frozenset" : "set") || name == "Iterable";
  if (name == "FunctionType") return value.as<Function>() != nullptr;
  if (name == "tuple" || name == "Sequence")
    if (tuple_in(value)) return true;
  if (name == "Sequence") return own == "list" || own == "tuple" || own == "range" || own == "str";
  if (name == "Mapping") return own == "dict";
  if (name == "Iterable") return can_be_gone_through(value);
  if (name == "Callable") return can_be_called(value);
  if (name == "Number" || name == "Integral" || name == "Real")
    return name == "Integral" ? value.is_whole() : value.is_number();
  if (name == "ndarray" && own == "array") return true;
  return own == name;
}

Result<bool> of_type(Interpreter& in, const Value& value, const Value& type, int depth = 0) {
  if (depth > 16) return false;  // a list may hold itself
  const auto* hint = type.as<Hint>();
  const auto* listed = type.as<Sequence>();
  if (listed || (hint && !hint->types.empty())) {
    for (const Value& one : listed ? listed->items : hint->types)
      if (const auto is = of_type(in, value, one, depth + 1); !is || *is) return is;
    return false;
  }
  if (hint) {
    const auto alias = std::ranges::find(aliases, hint->name, &Alias::name);
    if (alias != aliases.end()) return is_of(value, std::string(alias->type));
    return fail(Fault::Unsupported, "isinstance() of the type hint '" + (hint->name.empty() ? "X[...]" : hint->name) +
                                        "'; write the class itself");
  }
  if (const auto* unread = type.as<Unread>()) return std::unexpected(unread->refused(in).error());
  if (const auto* known = type.as<Class>()) {
    const auto* instance = value.as<Instance>();
    return known == in.object_class || (instance && instance->type->derives_from(known));
  }
  if (type.is_none()) return value.is_none();  // a part of int | None
  if (const auto* builtin = type.as<Native>()) return is_of(value, builtin->name);
  if (const auto* name = type.as<Text>())  // as type() names what is no class here
    return name->text == (value.is_none() ? "None" : type_name(value));
  return fail(Fault::Unsupported, "isinstance() of a " + type_name(type) + ", which is no class that is known");
}

}  // namespace

bool can_be_called(const Value& value) {
  const auto* instance = value.as<Instance>();
  return value.as<Function>() || value.as<Native>() || value.as<Bound>() || value.as<Class>() ||
         (instance && instance->type->find("__call__"));
}

std::optional<Value> union_of(Interpreter& in, const Value& a, const Value& b) {
  const bool types = (is_type(a) || a.is_none()) && (is_type(b) || b.is_none()) && !(a.is_none() && b.is_none());
  if (!types) return std::nullopt;
  return Value::of(in.make<Hint>("", ValueList{a, b}));
}

// Optional[T] and Union[A, B] are what isinstance() takes; List[T] is what it refuses.
Made Hint::item(Interpreter& in, Value index) {
  if (name == "Optional") return Value::of(in.make<Hint>("", ValueList{index, Value()}));
  if (name == "Union")
    return Value::of(in.make<Hint>("", index.as<Sequence>() ? index.as<Sequence>()->items : ValueList{index}));
  return Value::of(in.make<Hint>());
}

Result<std::optional<Value>> Hint::binary(Interpreter& in, std::string_view symbol, Value other, bool) {
  if (symbol != "|") return std::nullopt;
  return Value::of(in.make<Hint>("", ValueList{Value::of(this), other}));
}

Made isinstance(Interpreter& in, Arguments& a) {
  if (const auto* unread = a.placed[0].as<NotRead>()) return unread->refused(in);
  const auto is = of_type(in, a.placed[0], a.placed[1]);
  if (!is) return std::unexpected(is.error());
  return Value::of(*is);
}

Made issubclass(Interpreter& in, Arguments& a) {
  const Value type = a.placed[0], of = a.placed[1];
  if (const auto* several = of.as<Sequence>()) {
    for (const Value& one : several->items) {
      Arguments pair{{type, one}, {}};
      if (auto is = issubclass(in, pair); !is || is->whole()) return is;
    }
    return Value::of(false);
  }
  const auto *x = type.as<Class>(), *y = of.as<Class>();
  if (y) return Value::of(y == in.object_class || (x && x->derives_from(y)));
  const auto *native = type.as<Native>(), *other = of.as<Native>();
  if (other && x) return Value::of(other->name == "tuple" && x->find("_fields"));
  if (!native || !other) return fail(Fault::Unsupported, "issubclass() of what are no classes that are known");
  return Value::of(type.same(of) || (native->name == "bool" && other->name == "int"));
}

}  // namespace convoy::python
