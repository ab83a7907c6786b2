// What stands in the place of a value that could not be made: an import that finds nothing, a name that a statement would
// have bound if it had been understood. It may be handed around; whoever uses it is told why there is nothing.
#pragma once
#include "containers/python/interpreter.h"

#include <set>

namespace convoy::python {

class Unread : public Object {
 public:
  // An import: refused at the place of its use.
  Unread(std::string called, std::string why) : name_(std::move(called)), why_(std::move(why)) {}
  // What a statement of the program did not bind: refused with the failure of that statement, which has its place.
  Unread(std::string called, Error first) : name_(std::move(called)), first_(std::move(first)) {}

  std::string type_name() const override;
  Result<std::optional<Value>> attribute(Interpreter& in, const std::string& name) override;
  Status set_attribute(Interpreter& in, const std::string&, Value) override { return refused(in); }
  Result<Value> call(Interpreter& in, Arguments&) override { return refused(in); }
  Result<Value> item(Interpreter& in, Value) override { return refused(in); }
  Status set_item(Interpreter& in, Value, Value) override { return refused(in); }
  Status delete_item(Interpreter& in, Value) override { return refused(in); }
  Result<std::optional<Value>> binary(Interpreter& in, std::string_view, Value, bool) override { return refused(in); }
  Result<std::optional<Value>> augmented(Interpreter& in, std::string_view, Value) override { return refused(in); }
  Result<std::optional<Value>> unary(Interpreter& in, std::string_view) override { return refused(in); }
  Result<bool> truth(Interpreter& in) override { return refused(in); }
  Result<Size> length(Interpreter& in) override { return refused(in); }
  Result<ValueList> elements(Interpreter& in) override { return refused(in); }
  Result<bool> contains(Interpreter& in, Value) override { return refused(in); }
  std::unexpected<Error> refused(Interpreter& in) const;

 private:
  const std::string name_, why_;
  const std::optional<Error> first_;
};

// The names that a statement binds, and those whose values it may change: what it assigns an attribute or an item of, calls
// a method of, or hands to a function that does so. Methods and functions that only look at a model or train it change
// nothing of its structure. `known`: the names that stand around it.
struct Touched {
  std::set<std::string> bound, changed;
};
Touched touched_by(const Syntax& statement, const Scope& known);
// Whether an expression or statement mentions a name that `is_meant` says yes to, other than to look at it or train it.
bool mentions(const Syntax& syntax, const std::function<bool(const std::string&)>& is_meant);

}  // namespace convoy::python
