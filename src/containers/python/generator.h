// What zip, map and functions with `yield` give: each value is made when it is asked for, so that what stands around it may
// have changed.
#pragma once
#include "containers/python/interpreter.h"

#include <functional>

namespace convoy::python {

class Generator : public Iterator {
 public:
  using Make = std::function<Result<std::optional<Value>>(Interpreter&)>;
  // `make`: the next value, or nothing behind the last.
  explicit Generator(Make make) : Iterator({}), make_(std::move(make)) {}
  std::string type_name() const override { return "generator"; }
  Result<ValueList> elements(Interpreter& in) override;
  Result<std::optional<Value>> pull(Interpreter& in) override;

 private:
  Make make_;
  bool done_ = false;
};

// The generator that a call of a function with `yield` gives.
Result<Value> generator_of(Interpreter& in, const Function& function, Scope& scope);

}  // namespace convoy::python
