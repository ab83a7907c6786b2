// TFLite's builtin operators, one row each: name and number, the tensors that it takes, in the file's order, the fields of
// its options, and what reads it. Files and pasted calls are read by the same rows. Arrays are NHWC; kernels lie as the
// file holds them. Source: schema.fbs, version 3.
#pragma once
#include "formats/function.h"

#include <span>
#include <string>
#include <string_view>

namespace convoy::tflite {

struct Operator {
  std::string_view name;
  int code;  // BuiltinOperator
  // In the file's order; "values..." takes all that are left.
  std::string_view inputs;
  int options_kind;  // of the union BuiltinOptions; 0: none
  // Its fields in order, "padding:b dilation_h_factor:i=1": b is a byte, i a whole number of 32 bits, f a float, I a list of
  // whole numbers, - a field that nothing reads any more; behind = what stands for an absent one, 0 otherwise.
  std::string_view options;
  std::vector<ValueId> (*read)(FunctionCall&) = nullptr;  // null: the reader of models does it
};

std::span<const Operator> convolution_operators();
std::span<const Operator> pooling_operators();
std::span<const Operator> pad_operators();
std::span<const Operator> resize_operators();
std::span<const Operator> reshape_operators();
std::span<const Operator> activation_operators();
std::span<const Operator> elementwise_operators();
std::span<const Operator> reduction_operators();
std::span<const Operator> linear_operators();
std::span<const Operator> slice_operators();
std::span<const Operator> recurrent_operators();

std::span<const Operator> all_operators();

// Null: no row has this number; the name of a builtin operator that has none.
const Operator* operator_of(int code);
const Operator* operator_named(std::string_view name);
// Of any builtin operator, read or not; "builtin 300" of a number that the schema does not have.
std::string name_of_operator(int code);

// The element types whose numbers the interpreter computes as they are, of an operator that is written: "float32 int32". Empty: a
// name that no model is written with. CAST takes them on both sides.
std::string_view plain_types_of(std::string_view name);

// The rows as calls see them.
std::span<const FunctionRow> functions();

}  // namespace convoy::tflite
