// Tensors as NumPy and TensorFlow hold them: the same values, under those libraries' own methods and functions.
#pragma once
#include "formats/torch/source/tracer.h"

namespace convoy::torch {

class Array : public SourceTensor {
 public:
  Array(Tracer& in, ValueId of, int memory) : SourceTensor(in, of, memory) {}
  std::string type_name() const override { return "array"; }
  Result<std::optional<python::Value>> attribute(python::Interpreter& in, const std::string& name) override;
  Result<python::Value> item(python::Interpreter& in, python::Value key) override;
  Status set_item(python::Interpreter& in, python::Value key, python::Value given) override;
  Result<std::optional<python::Value>> binary(python::Interpreter& in, std::string_view symbol, python::Value other,
                                              bool reversed) override;
  Result<std::optional<python::Value>> augmented(python::Interpreter&, std::string_view, python::Value) override {
    return std::nullopt;
  }
  Result<std::optional<python::Value>> unary(python::Interpreter& in, std::string_view symbol) override;
};

// The same tensor as an array; lists of numbers become arrays of known numbers. Anything else stays as it is.
Result<python::Value> as_array(Tracer& tracer, python::Interpreter& in, const python::Value& value);

// zeros, full, ones_like and their like.
bool makes_numbers(std::string_view name);

// A function of numpy or tensorflow by its name there: "transpose", "reduce_mean", "zeros", "random.randn". Nothing: it is
// not one of those that say the same in both.
std::optional<python::Value> array_function(Tracer& tracer, python::Interpreter& in, const std::string& name);

}  // namespace convoy::torch
