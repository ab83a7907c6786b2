// TensorFlow's operators as graphs hold them, one row each: what their inputs and results are called, which attribute says
// nothing of inference, and what reads a node. Where a function tf.* is the same thing, that function's reader is the row's.
// Sources: tensorflow/core/ops/*.cc and the api_def files of TensorFlow 2.21.
#pragma once
#include "formats/function.h"

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace convoy::tf {

// The result holds the numbers of the first input, or of all inputs where it takes any number of them, at other places.
struct Moved {};
// What an operator is in our own words, where one of these says it, whole: numbers known beforehand go through it by that.
using Meaning = std::variant<std::monostate, Function, BinaryFunction, Reduction, Moved>;

using ReadFunction = std::vector<ValueId> (*)(FunctionCall&);

struct Operator {
  std::string_view name;
  std::string_view inputs;  // in order, by the names that the reader asks for; "values..." takes all that are left
  ReadFunction read = nullptr;
  std::string_view function = {};  // tf.NAME whose reader it is, where `read` is null
  Meaning meaning{};
  std::string_view outputs = {};  // where there are several names; otherwise the place alone counts
  std::string_view ignored = {};  // attributes that say nothing of inference on numbers
  std::string_view types = {};  // attributes that are element types and that the reader asks for
};

// Null: no operator that is read.
const Operator* operator_named(std::string_view name);
// The rows, as calls see them.
std::span<const FunctionRow> rows();

std::span<const Operator> convolution_operators();
std::span<const Operator> pooling_operators();
std::span<const Operator> padding_operators();
std::span<const Operator> resize_operators();
std::span<const Operator> reshape_operators();
std::span<const Operator> slice_concat_operators();
std::span<const Operator> normalization_operators();
std::span<const Operator> activation_operators();
std::span<const Operator> elementwise_operators();
std::span<const Operator> reduction_operators();
std::span<const Operator> linear_operators();

// What the operator of a call is, which is known to be of that kind.
template <class Kind>
Kind meaning_of(const FunctionCall& call) {
  return std::get<Kind>(operator_named(call.name)->meaning);
}

}  // namespace convoy::tf
