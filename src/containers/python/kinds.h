// What isinstance() asks: classes, types and what type hints name.
#pragma once
#include "containers/python/interpreter.h"

namespace convoy::python {

// What type hints are made of: read over, whatever they say, until isinstance() asks.
class Hint : public Object {
 public:
  explicit Hint(std::string called = "", ValueList any_of = {}) : name(std::move(called)), types(std::move(any_of)) {}
  std::string type_name() const override { return "type hint"; }
  Result<std::optional<Value>> attribute(Interpreter&, const std::string&) override { return Value::of(this); }
  Result<Value> item(Interpreter& in, Value index) override;
  Result<Value> call(Interpreter&, Arguments& a) override {
    return a.placed.empty() ? Value::of(this) : a.placed.back();
  }
  Result<std::optional<Value>> binary(Interpreter& in, std::string_view symbol, Value other, bool reversed) override;
  const std::string name;  // as typing has it; empty: made of others
  const ValueList types;  // a union of these
};

bool can_be_called(const Value& value);

// int | float, Model | None: a union, where both sides are types.
std::optional<Value> union_of(Interpreter& in, const Value& a, const Value& b);

Result<Value> isinstance(Interpreter& in, Arguments& a);
Result<Value> issubclass(Interpreter& in, Arguments& a);

}  // namespace convoy::python
