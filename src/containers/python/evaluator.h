// Walks a tree in one scope. A failure gets the innermost place where it happened.
#pragma once
#include "containers/python/interpreter.h"

namespace convoy::python {

class Evaluator {
 public:
  Evaluator(Interpreter& in, ProgramFile& file, Scope& scope) : in_(in), file_(file), scope_(scope) {}

  Result<Value> value(const Syntax& s);
  enum class Next : std::uint8_t { Go, Break, Continue, Return };
  Result<Next> block(const Syntax& s);
  Result<Next> statement(const Syntax& s);
  Value returned;

 private:
  friend class GeneratorBody;
  friend class ComprehensionWalk;
  Result<Value> placeless(const Syntax& s);  // what fails does not say where
  Result<Value> subscript(const Syntax& s);
  Result<Value> slice(const Syntax& s);
  Result<Value> binary(const Syntax& s);
  Result<Value> either(const Syntax& s);
  Result<bool> condition(const Syntax& s);
  Result<Value> name(const Syntax& s);
  Result<Value> call(const Syntax& s);
  Result<Arguments> arguments(const Syntax& s, std::size_t first);
  Result<Value> comparison(const Syntax& s);
  Result<Value> comprehension(const Syntax& s);
  Result<bool> passes(const Syntax& part);
  Result<Value> sequence(const Syntax& s);
  Result<Value> dictionary(const Syntax& s);
  Result<Value> formatted(const Syntax& s);
  Result<Value> function(const Syntax& s);
  Result<Value> super_of(Arguments& given);

  Result<Next> placeless_statement(const Syntax& s);
  Result<Next> annotated(const Syntax& s);
  Result<Next> branches(const Syntax& s);
  Result<const Syntax*> branch(const Syntax& s);  // the block of an `if` that is gone into; null: none
  Result<Next> loop(const Syntax& s);
  Result<Next> while_loop(const Syntax& s);
  Result<Next> with(const Syntax& s, std::size_t from = 0);
  Result<Next> leave(const Value& context, Result<Next> next);
  Value exception();
  Result<Next> attempt(const Syntax& s);
  Result<Value> attribute_of(const Value& object, const std::string& name);
  Result<Next> in_the_end(const Syntax& finally, Result<Next> next);
  Result<bool> catches(const Syntax& handler, const Class* raised);
  Status define(const Syntax& s);
  Status define_class(const Syntax& s);
  Status tell_of_class(Class& made, std::vector<std::pair<std::string, Value>> named);
  Status import(const Syntax& s);
  // The value of an import that failed: nothing is said of it before it is used. Fails: limits, and inside a `try` that
  // catches it.
  Result<Value> unread(const Syntax& alias, const std::string& name, const Error& why);
  Status import_from(const Syntax& s);
  Status import_all(const Value& module);
  Status assign(const Syntax& target, Value value);
  Status unpack(const Syntax& target, Value value);
  Status augmented(const Syntax& s);
  Status remove(const Syntax& target);
  Status raise(const Syntax& s);
  Status assertion(const Syntax& s);
  bool is_guard(Value condition, const Syntax& block) const;
  void set(const std::string& name, Value value);
  std::unexpected<Error> refused(const Syntax& s, std::string what, Fault fault = Fault::Unsupported) const;
  template <class T>
  Result<T> at(const Syntax& s, Result<T> r) const;

  Interpreter& in_;
  ProgramFile& file_;
  Scope& scope_;
};

}  // namespace convoy::python
