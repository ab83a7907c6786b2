// Expressions.
#include "containers/python/evaluator.h"
#include "containers/python/unread.h"

#include <algorithm>
#include <set>

namespace convoy::python {
namespace {

constexpr std::string_view accepted =
    "; known are Python's builtins, math, functools, operator, itertools, collections, torch and keras";

}  // namespace

std::unexpected<Error> Evaluator::refused(const Syntax& s, std::string what, Fault fault) const {
  return std::unexpected(at(s, Status(fail(fault, std::move(what)))).error());
}

template <class T>
Result<T> Evaluator::at(const Syntax& s, Result<T> r) const {
  if (r || in_.placed_) return r;
  in_.placed_ = true;
  const std::string_view text = file_.source.text;
  const auto before = text.substr(0, std::min(s.at, text.size()));
  const auto line = 1 + std::ranges::count(before, '\n');
  const auto start = before.rfind('\n');
  const auto column = before.size() - (start == std::string_view::npos ? 0 : start + 1) + 1;
  Error& e = r.error();
  const std::string place = file_.source.name + ":" + std::to_string(line) + ":" + std::to_string(column);
  e.where = e.where.empty() ? place : place + ": " + e.where;
  e.what += "\n    " + line_around(text, s.at);
  return r;
}

// Of an object of the program alone, what it lacks is an AttributeError, which the program may catch.
Result<Value> Evaluator::attribute_of(const Value& object, const std::string& name) {
  auto found = in_.attribute(object, name);
  const auto* instance = object.as<Instance>();
  const bool is_own = instance && !instance->extra && !instance->is_of_framework() && in_.expects_exceptions();
  if (found || !is_own || in_.raised_ || in_.forbidden_) return found;
  const auto lacks = in_.find_attribute(object, name);
  return lacks && !*lacks ? in_.raises("AttributeError", std::move(found).error().what) : found;
}

template Result<Evaluator::Next> Evaluator::at(const Syntax&, Result<Evaluator::Next>) const;
template Result<Value> Evaluator::at(const Syntax&, Result<Value>) const;
template Result<bool> Evaluator::at(const Syntax&, Result<bool>) const;
template Result<std::optional<Value>> Evaluator::at(const Syntax&, Result<std::optional<Value>>) const;
template Result<std::optional<ValueList>> Evaluator::at(const Syntax&, Result<std::optional<ValueList>>) const;
template Result<Arguments> Evaluator::at(const Syntax&, Result<Arguments>) const;
template Status Evaluator::at(const Syntax&, Status) const;

Result<Value> Evaluator::value(const Syntax& s) {
  const Deeper deeper(in_.depth_);
  if (in_.depth_ > in_.limits_.depth) return refused(s, "calls and expressions are nested too deep", Fault::Limit);
  if (auto paid = in_.step(); !paid) return at(s, Result<Value>(pass(paid)));
  return at(s, placeless(s));
}

Result<Value> Evaluator::placeless(const Syntax& s) {
  switch (s.kind) {
    case SyntaxKind::None: return Value();
    case SyntaxKind::Absent: return Value();
    case SyntaxKind::Ellipsis: return Value::ellipsis();
    case SyntaxKind::Truth: return Value::of(s.integer != 0);
    case SyntaxKind::Integer: return Value::of(s.integer);
    case SyntaxKind::Real: return Value::of(s.real);
    case SyntaxKind::Imaginary:
      return fail(Fault::Unsupported, "'" + s.text + "' is a complex number, which is not carried");
    case SyntaxKind::String:
      if (auto paid = in_.charge(static_cast<Size>(s.text.size())); !paid) return pass(paid);
      if (s.integer == 1) return Value::of(in_.make<Outside>("bytes"));
      return in_.text(s.text);
    case SyntaxKind::Formatted: return formatted(s);
    case SyntaxKind::Name: return name(s);
    case SyntaxKind::Attribute: {
      const auto object = value(s.parts[0]);
      return object ? attribute_of(*object, s.text) : object;
    }
    case SyntaxKind::Subscript: return subscript(s);
    case SyntaxKind::Slice: return slice(s);
    case SyntaxKind::Call: return call(s);
    case SyntaxKind::Unary: {
      const auto operand = value(s.parts[0]);
      return operand ? in_.unary(s.text, *operand) : operand;
    }
    case SyntaxKind::Binary: return binary(s);
    case SyntaxKind::Compare: return comparison(s);
    case SyntaxKind::And:
    case SyntaxKind::Or: return either(s);
    case SyntaxKind::Conditional: {
      auto holds = condition(s.parts[0]);
      if (!holds) return pass(holds);
      return value(s.parts[*holds ? 1 : 2]);
    }
    case SyntaxKind::Yield: return fail(Fault::Unsupported, "a 'yield' inside of an expression is not followed");
    case SyntaxKind::Lambda: return function(s);
    case SyntaxKind::Tuple:
    case SyntaxKind::List:
    case SyntaxKind::Set: return sequence(s);
    case SyntaxKind::Dict: return dictionary(s);
    case SyntaxKind::Comprehension: return comprehension(s);
    case SyntaxKind::Walrus: {
      auto made = value(s.parts[0]);
      if (made) set(s.text, *made);
      return made;
    }
    default: return fail(Fault::Unsupported, "has no value here");
  }
}

Result<Value> Evaluator::subscript(const Syntax& s) {
  const auto object = value(s.parts[0]);
  if (!object) return object;
  const auto key = value(s.parts[1]);
  return key ? in_.item(*object, *key) : key;
}

Result<Value> Evaluator::slice(const Syntax& s) {
  Value bounds[3];
  for (std::size_t i = 0; i < 3; ++i) {
    const auto one = value(s.parts[i]);
    if (!one) return one;
    bounds[i] = *one;
  }
  return Value::of(in_.make<Cut>(bounds[0], bounds[1], bounds[2]));
}

Result<Value> Evaluator::binary(const Syntax& s) {
  const auto left = value(s.parts[0]);
  if (!left) return left;
  const auto right = value(s.parts[1]);
  return right ? in_.binary(s.text, *left, *right) : right;
}

// `and` and `or`: the first operand that decides, else the last.
Result<Value> Evaluator::either(const Syntax& s) {
  Result<Value> last = Value();
  for (const Syntax& part : s.parts) {
    last = value(part);
    if (!last || last->as<Outside>()) return last;  // what cannot be known decides
    auto holds = in_.truth(*last);
    if (!holds) return pass(holds);
    if (*holds == (s.kind == SyntaxKind::Or)) return last;
  }
  return last;
}

Result<bool> Evaluator::condition(const Syntax& s) {
  auto made = value(s);
  if (!made) return pass(made);
  return in_.truth(*made);
}

Result<Value> Evaluator::name(const Syntax& s) {
  const bool global = std::ranges::find(scope_.global_names, s.text) != scope_.global_names.end();
  bool own = true;
  for (Scope* scope = &scope_; scope && !global; scope = scope->outer) {
    if (own || !scope->class_of_body)  // the names of a class body are seen in that body alone
      if (const Value* found = scope->names.find(s.text)) return in_.known_or_lent(s.text, *found);
    own = false;
  }
  if (global && file_.scope)
    if (const Value* found = file_.scope->names.find(s.text)) return *found;
  if (const auto lent = in_.lent.find(s.text); lent != in_.lent.end()) {
    in_.lent_used.insert(s.text);
    return lent->second;
  }
  if (const auto found = in_.builtins.find(s.text); found != in_.builtins.end()) return found->second;
  if (!file_.starred.empty())  // it may come from there, whatever else is called so
    return fail(Fault::Unsupported, "'" + s.text + "' is not defined, and 'from " + file_.starred.front().module +
                                        " import *' is not read: " + file_.starred.front().why);
  for (Library* library : in_.libraries_) {
    auto found = library->implied(in_, s.text);
    if (!found) return pass(found);
    if (*found) {
      if (file_.scope) file_.scope->names.set(s.text, **found);
      return **found;
    }
  }
  if (auto known = standard_module(in_, s.text)) return *known;  // `math` without its import
  return fail(Fault::Unsupported,
              "'" + s.text + "' is not defined" + std::string(accepted) + "; --set " + s.text + "=... gives its value");
}

Result<Arguments> Evaluator::arguments(const Syntax& s, std::size_t first) {
  Arguments given;
  for (std::size_t i = first; i < s.parts.size(); ++i) {
    const Syntax& part = s.parts[i];
    const auto one = value(part.parts[0]);
    if (!one) return std::unexpected(one.error());
    if (part.text.empty()) {
      given.placed.push_back(*one);
    } else if (part.text == "*") {
      const auto all = in_.elements(*one);
      if (!all) return at(part, Result<Arguments>(std::unexpected(all.error())));
      given.placed.insert(given.placed.end(), all->begin(), all->end());
    } else if (part.text == "**") {
      const auto* map = one->as<Mapping>();
      if (!map || map->is_set) return refused(part, "'**' of a " + type_name(*one));
      for (const auto& [key, inner] : map->entries) {
        const auto* word = key.as<Text>();
        if (!word) return refused(part, "'**' of a dictionary whose keys are no words");
        given.named.emplace_back(word->text, inner);
      }
    } else {
      given.named.emplace_back(part.text, *one);
    }
  }
  std::set<std::string_view> words;
  for (const auto& [word, one] : given.named)
    if (!words.insert(word).second) return refused(s, "'" + word + "' is given twice", Fault::Format);
  const auto count = static_cast<Size>(given.placed.size() + given.named.size());
  if (auto paid = in_.charge(count * 64); !paid) return pass(paid);
  return given;
}

Result<Value> Evaluator::call(const Syntax& s) {
  const Syntax& called = s.parts[0];
  const bool is_super = called.kind == SyntaxKind::Name && called.text == "super";
  Value function;
  if (!is_super) {
    const auto found = value(called);
    if (!found) return found;
    function = *found;
  }
  auto given = arguments(s, 1);
  if (!given) return pass(given);
  if (is_super) return super_of(*given);
  if (called.kind == SyntaxKind::Name && (called.text == "locals" || called.text == "globals" || called.text == "vars"))
    return fail(Fault::Unsupported, "'" + called.text + "' is not read");
  const auto is_not_read = [](const Value& one) { return one.as<NotRead>() != nullptr; };
  const bool holds_unread = std::ranges::any_of(given->placed, is_not_read) ||
                            std::ranges::any_of(given->named, [&](const auto& one) { return is_not_read(one.second); });
  auto made = in_.call(function, std::move(*given));
  // What is of the wrong kind here might be of the right one if it were read.
  if (!made && !in_.placed_ && holds_unread && made.error().fault == Fault::Format)
    made.error().fault = Fault::Unsupported;
  return made;
}

// super(), super(Class, self): what comes behind a class in the order of an instance's classes. The class is the one around
// the function in the text, whichever decorator has put the function into another.
Result<Value> Evaluator::super_of(Arguments& given) {
  const Scope* scope = &scope_;
  while (scope && !(scope->function && scope->function->outer && scope->function->outer->class_of_body))
    scope = scope->outer;
  Class* of = scope ? scope->function->outer->class_of_body : nullptr;
  Value self;
  if (given.placed.size() == 2) {
    of = given.placed[0].as<Class>();
    self = given.placed[1];
  } else if (scope && !scope->names.all().empty()) {
    self = scope->names.all().front().second;
  }
  const auto* instance = self.as<Instance>();
  Class* type = instance ? instance->type : self.as<Class>();
  if (!of || !type) return fail(Fault::Format, "'super' outside of a method");
  const auto place = std::ranges::find(type->order, of);
  if (place == type->order.end()) return fail(Fault::Format, "'super' of a class that is not one of its own");
  return Value::of(in_.make<Super>(self, type, static_cast<std::size_t>(place - type->order.begin()) + 1));
}

Result<Value> Evaluator::comparison(const Syntax& s) {
  auto left = value(s.parts[0]);
  if (!left) return left;
  for (std::size_t i = 1; i < s.parts.size(); ++i) {
    const Syntax& part = s.parts[i];
    const auto right = value(part.parts[0]);
    if (!right) return right;
    Result<bool> holds = false;
    const bool is_identity = part.text == "is" || part.text == "is not";
    if (is_identity && left->as<Outside>() && right->is_none()) return *left;  // a function may have given nothing
    if (is_identity) holds = left->same(*right) == (part.text == "is");
    else if (part.text == "in" || part.text == "not in") {
      holds = in_.contains(*right, *left);
      if (holds && part.text == "not in") holds = !*holds;
    } else {
      // Tensors compare element by element.
      for (const bool reversed : {false, true}) {
        const Value self = reversed ? *right : *left, other = reversed ? *left : *right;
        if (!self.is_object() || s.parts.size() > 2) continue;
        auto made = self.object()->binary(in_, part.text, other, reversed);
        if (!made) return pass(made);
        if (*made && !(*made)->is_truth()) return **made;
      }
      holds = in_.compare(part.text, *left, *right);
    }
    if (!holds) return at(part, Result<Value>(std::unexpected(holds.error())));
    if (!*holds) return Value::of(false);
    left = right;
  }
  return Value::of(true);
}

Result<Value> Evaluator::sequence(const Syntax& s) {
  ValueList items;
  for (const Syntax& part : s.parts) {
    const bool star = part.kind == SyntaxKind::Starred;
    const auto one = value(star ? part.parts[0] : part);
    if (!one) return one;
    if (!star) {
      items.push_back(*one);
      continue;
    }
    const auto all = in_.elements(*one);
    if (!all) return std::unexpected(all.error());
    items.insert(items.end(), all->begin(), all->end());
  }
  if (auto paid = in_.charge(static_cast<Size>(items.size()) * 16); !paid) return pass(paid);
  if (s.kind == SyntaxKind::Tuple) return in_.tuple(std::move(items));
  if (s.kind == SyntaxKind::List) return in_.list(std::move(items));
  auto* set = in_.make<Mapping>(true);
  for (const Value& one : items)
    if (auto put = set->put(in_, one, Value()); !put) return pass(put);
  return Value::of(set);
}

Result<Value> Evaluator::dictionary(const Syntax& s) {
  auto* made = in_.make<Mapping>();
  for (std::size_t i = 0; i + 1 < s.parts.size(); i += 2) {
    const bool has_key = s.parts[i].kind != SyntaxKind::Absent;
    const auto key = has_key ? value(s.parts[i]) : Result<Value>(Value());
    if (!key) return key;
    const auto inner = value(s.parts[i + 1]);
    if (!inner) return inner;
    if (!has_key) {
      const auto* map = inner->as<Mapping>();
      if (!map) return fail(Fault::Format, "'**' of a " + type_name(*inner));
      for (const auto& [word, one] : map->entries)
        if (auto put = made->put(in_, word, one); !put) return pass(put);
      continue;
    }
    if (auto put = made->put(in_, *key, *inner); !put) return pass(put);
  }
  return Value::of(made);
}

Result<Value> Evaluator::formatted(const Syntax& s) {
  std::string words;
  for (const Syntax& part : s.parts) {
    if (part.kind == SyntaxKind::String) {
      words += part.text;
      continue;
    }
    const auto inner = value(part.parts[0]);
    if (!inner) return inner;
    std::string specification;
    if (part.parts[1].kind == SyntaxKind::Formatted) {
      const auto said = formatted(part.parts[1]);
      if (!said || !said->as<Text>()) return said;
      specification = said->as<Text>()->text;
    }
    const auto one = at(part, in_.formatted_as(*inner, part.text, specification));
    if (!one) return one;
    if (!one->as<Text>()) return one;
    words += one->as<Text>()->text;
  }
  if (auto paid = in_.charge(static_cast<Size>(words.size())); !paid) return pass(paid);
  return in_.text(std::move(words));
}

// `def` and `lambda`: parameters and body stay in the tree, which lives as long as the file.
Result<Value> Evaluator::function(const Syntax& s) {
  auto* made = in_.make<Function>();
  made->name = s.kind == SyntaxKind::Def ? s.text : "<lambda>";
  made->parameters = &s.parts[0];
  made->body = &s.parts[1];
  made->file = &file_;
  made->yields = s.kind == SyntaxKind::Def && s.integer == 1;
  made->outer = &scope_;
  for (const Syntax& parameter : s.parts[0].parts) {
    if (parameter.parts[0].kind == SyntaxKind::Absent) continue;
    const auto otherwise = value(parameter.parts[0]);
    if (!otherwise) return otherwise;
    made->defaults.push_back(*otherwise);
  }
  return Value::of(made);
}

}  // namespace convoy::python
