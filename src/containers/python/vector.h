// Arrays of NumPy whose numbers stand in the program: lists that compute element by element. An array of several axes
// holds others.
#pragma once
#include "containers/python/interpreter.h"

#include <memory>

namespace convoy::python {

class Vector : public Sequence {
 public:
  explicit Vector(ValueList all) : Sequence(false, std::move(all)) {}
  std::string type_name() const override { return "ndarray"; }
  std::string element_type;  // as vector_types.h names it; empty: what its numbers are
  // Where NumPy shows numbers of another array, this holds its own. Whichever of the two is written to is read alone then.
  struct Sources {
    std::vector<Vector*> rows;
    Size seen = 0;  // how often these had been written to
  };
  std::shared_ptr<Sources> sources;
  Size version = 0;  // how often it was written to
  bool is_lent = false;  // a tensor shares its numbers, and would see what is written
  bool is_outdated = false;  // a part of it was, under another name
  Status expect_current() const;
  void derive_from(const std::shared_ptr<Sources>& from);
  void was_written();
  void leaves(std::vector<Vector*>& into);
  Result<std::optional<Value>> attribute(Interpreter& in, const std::string& name) override;
  Result<Value> item(Interpreter& in, Value key) override;
  // + - * / // % ** and comparisons with a number or an array of the same length. Fails: other shapes.
  Result<std::optional<Value>> binary(Interpreter& in, std::string_view symbol, Value other, bool reversed) override;
  Result<std::optional<Value>> augmented(Interpreter& in, std::string_view symbol, Value other) override;
  Status set_item(Interpreter& in, Value key, Value value) override;
  Result<ValueList> elements(Interpreter& in) override;
  Result<Iterator*> iterator(Interpreter& in) override;
  Result<Size> length(Interpreter& in) override;
  Result<std::optional<Value>> unary(Interpreter& in, std::string_view symbol) override;
  Result<bool> truth(Interpreter&) override;
};

// Lists of numbers, of lists of numbers ... as arrays; anything else as it is.
Result<Value> array_of(Interpreter& in, const Value& value, int depth = 0);

// numpy.linspace, numpy.arange, numpy.array and what computes on them.
void add_array_functions(Interpreter& in, Module& numpy);

}  // namespace convoy::python
