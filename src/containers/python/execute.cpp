// Statements, but for imports and assignments.
#include "containers/python/evaluator.h"
#include "containers/python/unread.h"

#include <algorithm>
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
  const bool is_field = scope_.class_of_body && s.parts[0].kind == SyntaxKind::Name && s.text != "ClassVar";
  if (is_field && !s.text.empty()) return refused(s, "a field of type " + s.text + " is not read");
  if (is_field) scope_.typed.push_back(s.parts[0].text);
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

Result<const Syntax*> Evaluator::branch(const Syntax& s) {
  for (std::size_t i = 0; i + 1 < s.parts.size(); i += 2) {
    const auto condition = value(s.parts[i]);
    if (!condition) return std::unexpected(condition.error());
    if (is_guard(*condition, s.parts[i + 1])) continue;
    const auto holds = in_.truth(*condition);
    if (!holds) return std::unexpected(at(s.parts[i], Result<Next>(std::unexpected(holds.error()))).error());
    if (*holds) return &s.parts[i + 1];
  }
  return s.parts.size() % 2 ? &s.parts.back() : nullptr;
}

Result<Evaluator::Next> Evaluator::branches(const Syntax& s) {
  const auto chosen = branch(s);
  if (!chosen) return std::unexpected(chosen.error());
  return *chosen ? block(**chosen) : Result<Next>(Next::Go);
}

Status Evaluator::assertion(const Syntax& s) {
  const auto asserted = value(s.parts[0]);
  if (!asserted) return std::unexpected(asserted.error());
  if (asserted->as<Outside>() && !in_.expects_exceptions()) return {};
  const auto holds = in_.truth(*asserted);
  if (!holds) return std::unexpected(holds.error());
  if (!*holds) return in_.raises("AssertionError", "the assertion does not hold");
  return {};
}

Result<Evaluator::Next> Evaluator::loop(const Syntax& s) {
  const auto iterable = value(s.parts[1]);
  if (!iterable) return std::unexpected(iterable.error());
  const auto iterator = in_.iterator(*iterable);
  if (!iterator) return at(s.parts[1], Result<Next>(std::unexpected(iterator.error())));
  for (;;) {
    if (auto paid = in_.step(); !paid) return at(s, Result<Next>(pass(paid)));
    const auto one = in_.pull(**iterator);
    if (!one) return at(s.parts[1], Result<Next>(std::unexpected(one.error())));
    if (!*one) break;
    if (auto put = assign(s.parts[0], **one); !put) return pass(put);
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

// A context that a framework knows is entered and left, as torch.no_grad() wants it; one of the program does what its methods
// say. `from`: the first of the contexts that is not entered yet.
Result<Evaluator::Next> Evaluator::with(const Syntax& s, std::size_t from) {
  if (from + 1 == s.parts.size()) return block(s.parts.back());
  const Syntax& part = s.parts[from];
  const auto context = value(part.parts[0]);
  if (!context) return std::unexpected(context.error());
  const auto enter = in_.find_attribute(*context, "__enter__");
  if (!enter) return std::unexpected(enter.error());
  if (!*enter) return refused(part, "'with' a " + type_name(*context) + ", which is not known to change nothing");
  const auto* own = context->as<Instance>();
  const bool is_own = own && own->own_method("__enter__") && own->own_method("__exit__");
  Value named = *context;
  if (is_own) {
    const auto given = in_.call(**enter, ValueList{});
    if (!given) return std::unexpected(given.error());
    named = *given;
  } else if (auto told = in_.tell_context(*context, "__enter__"); !told) {
    return pass(told);
  }
  if (!part.text.empty()) set(part.text, named);
  auto next = with(s, from + 1);
  if (is_own) return leave(*context, std::move(next));
  if (auto told = in_.tell_context(*context, "__exit__"); !told) return pass(told);
  return next;
}

// __exit__ hears of what the program raised, and may catch it. What is only not understood passes through.
Result<Evaluator::Next> Evaluator::leave(const Value& context, Result<Next> next) {
  if (!next && !in_.raised_) return next;
  ValueList told{Value(), Value(), Value()};
  Class* const raised = in_.raised_;
  const bool placed = in_.placed_;
  if (!next) {
    told = {Value::of(raised), exception(), Value()};
    in_.placed_ = false;
  }
  const Value object = in_.raised_object_;
  const auto exit = in_.attribute(context, "__exit__");
  const auto said = exit ? in_.call(*exit, told) : exit;
  if (!said) return std::unexpected(said.error());
  if (next) return next;
  const auto holds = in_.truth(*said);
  if (!holds) return std::unexpected(holds.error());
  in_.raised_ = *holds ? nullptr : raised;
  in_.raised_object_ = object;
  in_.placed_ = placed && !*holds;
  return *holds ? Result<Next>(Next::Go) : next;
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

// What `except ... as` names. What Python would say of its own exceptions is not known.
Value Evaluator::exception() {
  if (!in_.raised_object_.is_none()) return in_.raised_object_;
  auto* made = in_.make<Instance>(in_.raised_);
  made->attributes.set("args", in_.tuple({Value::of(in_.make<Outside>("the text of a " + in_.raised_->name))}));
  return Value::of(made);
}

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
      const Value caught_one = exception();
      in_.raised_ = nullptr;
      in_.placed_ = false;
      if (!s.parts[i].text.empty()) set(s.parts[i].text, caught_one);
      const Value around = std::exchange(in_.handled_, caught_one);
      next = block(s.parts[i].parts[1]);
      in_.handled_ = around;
      break;
    }
  } else if (next && *next == Next::Go && s.parts[handlers].kind != SyntaxKind::Absent) {
    next = block(s.parts[handlers]);
  }
  return s.parts[handlers + 1].kind == SyntaxKind::Absent ? next : in_the_end(s.parts[handlers + 1], std::move(next));
}

// `finally` is followed behind what the program raised, too, which goes on behind it unless it returns or breaks.
Result<Evaluator::Next> Evaluator::in_the_end(const Syntax& finally, Result<Next> next) {
  if (!next && (!in_.raised_ || in_.forbidden_)) return next;
  Class* const raised = in_.raised_;
  const Value object = in_.raised_object_;
  const bool placed = in_.placed_;
  if (!next) in_.placed_ = false;
  auto last = block(finally);
  if (!last || *last != Next::Go) {
    if (last) in_.raised_ = nullptr;
    return last;
  }
  if (next) return next;
  in_.raised_ = raised;
  in_.raised_object_ = object;
  in_.placed_ = placed;
  return next;
}

// Without a value: what is being handled, once more.
Status Evaluator::raise(const Syntax& s) {
  const bool again = s.parts[0].kind == SyntaxKind::Absent && !in_.handled_.is_none();
  auto what = again ? Result<Value>(in_.handled_) : value(s.parts[0]);
  if (!what) return std::unexpected(what.error());
  std::string said = type_name(*what);
  auto* type = what->as<Class>();
  if (type) said = type->name;
  if (type && type->is_exception) what = in_.call(*what, ValueList{});
  if (!what) return std::unexpected(what.error());
  const auto* instance = what->as<Instance>();
  in_.raised_ = instance ? instance->type : type ? type : in_.exception_class;
  in_.raised_object_ = instance ? *what : Value();
  if (const Value* words = instance ? instance->attributes.find("args") : nullptr)
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

// Its descriptors hear their names, and the classes that it derives from hear of it.
Status Evaluator::tell_of_class(Class& made, std::vector<std::pair<std::string, Value>> named) {
  for (const auto& [word, inside] : std::vector(made.attributes.all())) {
    const auto* descriptor = inside.as<Instance>();
    const Value* method = descriptor ? descriptor->own_method("__set_name__") : nullptr;
    if (!method) continue;
    if (auto done = in_.call(*method, ValueList{inside, Value::of(&made), in_.text(word)}); !done) return pass(done);
  }
  if (made.attributes.find("__getattribute__"))
    return fail(Fault::Unsupported, "'" + made.name + "' has a __getattribute__, which is not followed");
  const Value* hook = made.find("__init_subclass__", 1);
  if (!hook && named.empty()) return {};
  if (!hook) return fail(Fault::Unsupported, "'" + made.name + "' is made with '" + named.front().first + "='");
  const auto* how = hook->as<Described>();
  auto done = in_.call(how ? how->function : *hook, Arguments{{Value::of(&made)}, std::move(named)});
  if (!done) return pass(done);
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
  if (const auto metaclass = given->take("metaclass"); metaclass && metaclass->as<Class>())
    return fail(Fault::Unsupported, "'" + s.text + "' is made with a metaclass of the program");
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
  if (auto told = tell_of_class(*made, std::move(given->named)); !told) return told;
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
