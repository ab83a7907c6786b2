// What stands in the place of a value that could not be made: an import that finds nothing, a name that a statement would
// have bound if it had been understood. It may be handed around; whoever uses it is told why there is nothing.
#pragma once
#include "containers/python/interpreter.h"

#include <set>

namespace convoy::python {

class NotRead : public Object {
 public:
  explicit NotRead(std::string called) : name(std::move(called)) {}
  std::string type_name() const override { return "value of '" + name + "', which is not read"; }
  virtual std::unexpected<Error> refused(Interpreter& in) const = 0;
  const std::string name;
};

// Nothing may be done with it.
class Unread : public NotRead {
 public:
  // An import: refused at the place of its use.
  Unread(std::string called, std::string why) : NotRead(std::move(called)), why_(std::move(why)) {}
  // What a statement of the program did not bind: refused with the failure of that statement, which has its place.
  Unread(std::string called, Error first) : NotRead(std::move(called)), first_(std::move(first)) {}

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
  std::unexpected<Error> refused(Interpreter& in) const override;

 private:
  const std::string why_;
  const std::optional<Error> first_;
};

// What lies outside of the network: it may be named, called and handed around, nothing of it is done, and nothing may
// depend on it.
class Outside : public NotRead {
 public:
  // `from`: what it is a part of.
  explicit Outside(std::string called, Outside* from = nullptr) : NotRead(std::move(called)), from_(from) {}
  // Whether the program puts into it, or into what it is a part of, or takes something out.
  bool is_changed() const { return from_ ? from_->is_changed() : changed_; }
  // What a program makes of its parts.
  Value changed(Interpreter& in);
  Result<std::optional<Value>> attribute(Interpreter& in, const std::string& word) override;
  Status set_attribute(Interpreter&, const std::string&, Value) override { return {}; }
  Result<Value> call(Interpreter& in, Arguments& given) override;
  Result<Value> item(Interpreter& in, Value key) override;
  Status set_item(Interpreter&, Value, Value) override {
    note_change();
    return {};
  }
  Result<std::optional<Value>> binary(Interpreter& in, std::string_view symbol, Value other, bool reversed) override;
  Result<bool> truth(Interpreter& in) override { return refused(in); }
  std::unexpected<Error> refused(Interpreter& in) const override;

 private:
  void note_change() { from_ ? from_->note_change() : void(changed_ = true); }
  Outside* const from_;
  bool changed_ = false;
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
