// Arrays of NumPy whose numbers stand in the program: lists that compute element by element. An array of several axes
// holds others.
#pragma once
#include "containers/python/interpreter.h"

namespace convoy::python {

class Vector : public Sequence {
 public:
  explicit Vector(ValueList all) : Sequence(false, std::move(all)) {}
  std::string type_name() const override { return "ndarray"; }
  std::string element_type;  // as the program says it; empty: what its numbers are
  Result<std::optional<Value>> attribute(Interpreter& in, const std::string& name) override;
  Result<Value> item(Interpreter& in, Value key) override;
  // + - * / // % ** and comparisons with a number or an array of the same length. Fails: other shapes.
  Result<std::optional<Value>> binary(Interpreter& in, std::string_view symbol, Value other, bool reversed) override;
  Result<std::optional<Value>> augmented(Interpreter&, std::string_view, Value) override { return std::nullopt; }
  Result<std::optional<Value>> unary(Interpreter& in, std::string_view symbol) override;
  Result<bool> truth(Interpreter&) override;
};

// Lists of numbers, of lists of numbers ... as arrays; anything else as it is.
Result<Value> array_of(Interpreter& in, const Value& value, int depth = 0);

// numpy.linspace, numpy.arange, numpy.array and what computes on them.
void add_array_functions(Interpreter& in, Module& numpy);

}  // namespace convoy::python
