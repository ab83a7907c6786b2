// Statements, but for imports and assignments.
#include "containers/python/evaluator.h"
#include "containers/python/generator.h"
#include "containers/python/unread.h"

#include <algorithm>
#include <ranges>
#include <utility>

namespace convoy::python {
namespace {

// __annotations__, __annotations__["x"]: type hints as an assignment.
bool says_types(const Syntax& target) {
  const Syntax& named = target.kind == SyntaxKind::Subscript ? target.parts[0] : target;
  return named.kind == SyntaxKind::Name && named.text == "__annotations__";
}

bool ends_in_raise(const Syntax& block) { return !block.parts.empty() && block.parts.back().kind == SyntaxKind::Raise; }

}  // namespace

Result<Evaluator::Next> Evaluator::block(const Syntax& s) {
  for (const Syntax& one : s.parts) {
    auto next = statement(one);
    if (!next || *next != Next::Go) return next;
  }
  return Next::Go;
}

Result<Evaluator::Next> Evaluator::statement(const Syntax& s) {
  if (auto paid = in_.step(); !paid) return at(s, Result<Next>(pass(paid)));
  return at(s, placeless_statement(s));
}

Result<Evaluator::Next> Evaluator::placeless_statement(const Syntax& s) {
  const auto done = [](Status status) -> Result<Next> {
    if (!status) return pass(status);
    return Next::Go;
  };
  switch (s.kind) {
    case SyntaxKind::Pass:
    case SyntaxKind::Scope:
      for (const Syntax& name : s.parts)
        (s.text == "global" ? scope_.global_names : scope_.outer_names).push_back(name.text);
      return Next::Go;
    case SyntaxKind::Break: return Next::Break;
    case SyntaxKind::Continue: return Next::Continue;
    case SyntaxKind::Expression: {
      const auto made = value(s.parts[0]);
      if (!made) return std::unexpected(made.error());
      return Next::Go;
    }
    case SyntaxKind::Assign: {
      if (says_types(s.parts.front())) return Next::Go;
      const auto made = value(s.parts.back());
      if (!made) return std::unexpected(made.error());
      for (std::size_t i = 0; i + 1 < s.parts.size(); ++i)
        if (auto put = assign(s.parts[i], *made); !put) return pass(put);
      return Next::Go;
    }
    case SyntaxKind::Annotated: return annotated(s);
    case SyntaxKind::Augmented: return done(augmented(s));
    case SyntaxKind::Return: {
      const auto made = value(s.parts[0]);
      if (!made) return std::unexpected(made.error());
      returned = *made;
      return Next::Return;
    }
    case SyntaxKind::If: return branches(s);
    case SyntaxKind::For: return loop(s);
    case SyntaxKind::While: return while_loop(s);
    case SyntaxKind::Def: return done(define(s));
    case SyntaxKind::Class: return done(define_class(s));
    case SyntaxKind::Import: return done(import(s));
    case SyntaxKind::ImportFrom: return done(import_from(s));
    case SyntaxKind::With: return with(s);
    case SyntaxKind::Raise: return done(raise(s));
    case SyntaxKind::Delete: return done(remove(s.parts[0]));
    case SyntaxKind::Assert: return done(assertion(s));
    case SyntaxKind::Try: return attempt(s);
    default: return fail(Fault::Unsupported, "this statement is not read");
  }
}

Result<Evaluator::Next> Evaluator::annotated(const Syntax& s) {
  if (scope_.class_of_body && s.parts[0].kind == SyntaxKind::Name) scope_.typed.push_back(s.parts[0].text);
  if (s.parts[1].kind == SyntaxKind::Absent) return Next::Go;
  auto made = value(s.parts[1]);
  if (!made) return pass(made);
  if (auto put = assign(s.parts[0], *made); !put) return pass(put);
  return Next::Go;
}

// A program that has given a model has not raised: what lies outside of it is as the program wants it.
bool Evaluator::is_guard(Value condition, const Syntax& block) const {
  return condition.as<Outside>() && ends_in_raise(block) && !in_.expects_exceptions();
}

Result<Evaluator::Next> Evaluator::branches(const Syntax& s) {
  for (std::size_t i = 0; i + 1 < s.parts.size(); i += 2) {
    const auto condition = value(s.parts[i]);
    if (!condition) return std::unexpected(condition.error());
    if (is_guard(*condition, s.parts[i + 1])) continue;
    const auto holds = in_.truth(*condition);
    if (!holds) return at(s.parts[i], Result<Next>(std::unexpected(holds.error())));
    if (*holds) return block(s.parts[i + 1]);
  }
  return s.parts.size() % 2 ? block(s.parts.back()) : Result<Next>(Next::Go);
}

Status Evaluator::assertion(const Syntax& s) {
  const auto asserted = value(s.parts[0]);
  if (!asserted) return std::unexpected(asserted.error());
  if (asserted->as<Outside>() && !in_.expects_exceptions()) return {};
  const auto holds = in_.truth(*asserted);
  if (!holds) return std::unexpected(holds.error());
  if (!*holds) return fail(Fault::Format, "the assertion does not hold");
  return {};
}

Result<Evaluator::Next> Evaluator::loop(const Syntax& s) {
  const auto iterable = value(s.parts[1]);
  if (!iterable) return std::unexpected(iterable.error());
  auto* list = iterable->as<Sequence>();
  const auto* range = iterable->as<Range>();
  ValueList all;
  auto* generator = iterable->as<Generator>();
  if (!list && !range && !generator) {
    auto gone = in_.elements(*iterable);
    if (!gone) return at(s.parts[1], Result<Next>(pass(gone)));
    all = std::move(*gone);
  }
  // A list may grow while it is gone through.
  const auto count = [&] {
    return range ? static_cast<std::size_t>(range->count()) : (list ? list->items : all).size();
  };
  for (std::size_t i = 0; generator || i < count(); ++i) {
    if (auto paid = in_.step(); !paid) return at(s, Result<Next>(pass(paid)));
    if (generator) {
      const auto pulled = generator->pull(in_);
      if (!pulled) return std::unexpected(pulled.error());
      if (!*pulled) break;
      all = {**pulled};
    }
    const Value one = range  ? Value::of(range->start + static_cast<std::int64_t>(i) * range->step)
                      : list ? list->items[i]
                             : all[generator ? 0 : i];
    if (auto put = assign(s.parts[0], one); !put) return pass(put);
    auto next = block(s.parts[2]);
    if (!next || *next == Next::Return) return next;
    if (*next == Next::Break) return Next::Go;
  }
  return s.parts.size() > 3 ? block(s.parts[3]) : Result<Next>(Next::Go);
}

Result<Evaluator::Next> Evaluator::while_loop(const Syntax& s) {
  for (;;) {
    if (auto paid = in_.step(); !paid) return at(s, Result<Next>(pass(paid)));
    const auto condition = value(s.parts[0]);
    if (!condition) return std::unexpected(condition.error());
    const auto holds = in_.truth(*condition);
    if (!holds) return at(s.parts[0], Result<Next>(std::unexpected(holds.error())));
    if (!*holds) break;
    auto next = block(s.parts[1]);
    if (!next || *next == Next::Return) return next;
    if (*next == Next::Break) return Next::Go;
  }
  return s.parts.size() > 2 ? block(s.parts[2]) : Result<Next>(Next::Go);
}

// A context that a framework knows: it is entered and left, as torch.no_grad() wants it.
Result<Evaluator::Next> Evaluator::with(const Syntax& s) {
  ValueList entered;
  for (std::size_t i = 0; i + 1 < s.parts.size(); ++i) {
    const auto context = value(s.parts[i].parts[0]);
    if (!context) return std::unexpected(context.error());
    const auto enter = in_.find_attribute(*context, "__enter__");
    if (!enter) return std::unexpected(enter.error());
    if (!*enter)
      return refused(s.parts[i], "'with' a " + type_name(*context) + ", which is not known to change nothing");
    if (auto told = in_.tell_context(*context, "__enter__"); !told) return pass(told);
    entered.push_back(*context);
    if (!s.parts[i].text.empty()) set(s.parts[i].text, *context);
  }
  auto next = block(s.parts.back());
  for (const Value& context : entered | std::views::reverse)
    if (auto told = in_.tell_context(context, "__exit__"); !told) return pass(told);
  return next;
}

Result<bool> Evaluator::catches(const Syntax& handler, const Class* raised) {
  if (handler.parts[0].kind == SyntaxKind::Absent) return true;
  const auto caught = value(handler.parts[0]);
  if (!caught) return std::unexpected(caught.error());
  ValueList types{*caught};
  if (const auto* several = caught->as<Sequence>()) types = several->items;
  for (const Value& type : types)
    if (const auto* known = type.as<Class>(); known && raised->derives_from(known)) return true;
  return false;
}

namespace {

// "the program raises ValueError: no\n    raise ..." -> "no"
std::string words_of_exception(std::string what) {
  what.resize(std::min(what.find('\n'), what.size()));
  if (!what.starts_with("the program raises ")) return what;
  const auto colon = what.find(": ");
  return colon == std::string::npos ? "" : what.substr(colon + 2);
}

}  // namespace

// Handlers catch what the program itself raises and imports that find nothing. What is not understood is no exception of
// the program, and passes through.
Result<Evaluator::Next> Evaluator::attempt(const Syntax& s) {
  const auto handlers = s.parts.size() - 2;
  in_.raised_ = nullptr;
  const auto catches_imports = [](const Syntax& handler) {
    return handler.parts[0].kind == SyntaxKind::Absent || mentions(handler.parts[0], [](const std::string& word) {
             return word == "ImportError" || word == "ModuleNotFoundError" || word == "Exception" ||
                    word == "BaseException";
           });
  };
  const bool tries = std::exchange(
      in_.tries_imports_,
      in_.tries_imports_ ||
          std::any_of(s.parts.begin() + 1, s.parts.begin() + static_cast<std::ptrdiff_t>(handlers), catches_imports));
  in_.handlers_ += handlers > 1;
  auto next = block(s.parts[0]);
  in_.handlers_ -= handlers > 1;
  in_.tries_imports_ = tries;
  if (!next && in_.raised_) {
    for (std::size_t i = 1; i < handlers; ++i) {
      const auto caught = catches(s.parts[i], in_.raised_);
      if (!caught) return std::unexpected(caught.error());
      if (!*caught) continue;
      in_.raised_ = nullptr;
      in_.placed_ = false;
      if (!s.parts[i].text.empty()) set(s.parts[i].text, in_.text(words_of_exception(next.error().what)));
      next = block(s.parts[i].parts[1]);
      break;
    }
  } else if (next && *next == Next::Go && s.parts[handlers].kind != SyntaxKind::Absent) {
    next = block(s.parts[handlers]);
  }
  if (!next || s.parts[handlers + 1].kind == SyntaxKind::Absent) return next;
  auto last = block(s.parts[handlers + 1]);
  return !last || *last != Next::Go ? last : next;
}

Status Evaluator::raise(const Syntax& s) {
  const auto what = value(s.parts[0]);
  if (!what) return std::unexpected(what.error());
  std::string said = type_name(*what);
  in_.raised_ = in_.exception_class;
  if (auto* type = what->as<Class>()) said = type->name, in_.raised_ = type;
  if (const auto* instance = what->as<Instance>()) in_.raised_ = instance->type;
  if (const auto* instance = what->as<Instance>())
    if (const Value* words = instance->attributes.find("args"))
      if (const auto* all = words->as<Sequence>(); all && !all->items.empty())
        said += ": " + in_.string_of(all->items[0]).value_or("");
  return fail(Fault::Unsupported, "the program raises " + said);
}

Status Evaluator::define(const Syntax& s) {
  auto made = function(s);
  if (!made) return pass(made);
  for (std::size_t i = s.parts.size(); i-- > 2;) {
    const auto decorator = value(s.parts[i]);
    if (!decorator) return std::unexpected(decorator.error());
    made = in_.call(*decorator, ValueList{*made});
    if (!made) return at(s.parts[i], Status(pass(made)));
  }
  set(s.text, *made);
  return {};
}

Status Evaluator::define_class(const Syntax& s) {
  auto given = arguments(s, 2);
  if (!given) return pass(given);
  std::vector<Class*> bases;
  for (const Value& base : given->placed) {
    if (auto* type = base.as<Class>()) bases.push_back(type);
    else if (const auto* unread = base.as<NotRead>()) return unread->refused(in_);
    else if (type_name(base) == "type hint") continue;  // ABC, Generic[T], Protocol: nothing of what is computed
    else
      return fail(Fault::Unsupported,
                  "'" + s.text + "' derives from " + repr(in_, base) + ", which is no class that is known");
  }
  for (const auto& [word, unused] : given->named)
    if (word != "metaclass") return fail(Fault::Unsupported, "'" + s.text + "' is made with '" + word + "='");
  Class* made = in_.make_class(s.text, bases);
  if (made->order.empty())
    return fail(Fault::Format, "the classes that '" + s.text + "' derives from have no common order");
  auto* scope = in_.make<Scope>(&scope_);
  scope->class_of_body = made;
  Evaluator inner(in_, file_, *scope);
  auto body = inner.block(s.parts[0]);
  if (!body) return pass(body);
  made->fields = scope->typed;
  for (const auto& [word, inside] : scope->names.all()) made->attributes.set(word, inside);
  if (made->is_enum)
    if (auto listed = make_members(in_, *made); !listed) return listed;
  Value result = Value::of(made);
  for (std::size_t i = s.parts[1].parts.size(); i-- > 0;) {
    const auto decorator = value(s.parts[1].parts[i]);
    if (!decorator) return std::unexpected(decorator.error());
    const auto wrapped = in_.call(*decorator, ValueList{result});
    if (!wrapped) return at(s.parts[1].parts[i], Status(std::unexpected(wrapped.error())));
    result = *wrapped;
  }
  set(s.text, result);
  return {};
}

}  // namespace convoy::python
