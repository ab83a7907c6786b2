// ONNX's operators, one row each: what they and their inputs and attributes are called and which opsets have them, how a
// node is read, and what it is in our own words. The check of files, the readers, the numbers that are known before a model
// runs, the writers and the functions of convoy/onnx.h are made from these rows.
// Sources: onnx/defs of opsets 7 to 28; ONNX Runtime 1.30 where the standard leaves something open.
#pragma once
#include "formats/function.h"

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace convoy::onnx {

// The opsets that the rows tell of. Nodes of older ones are read as nodes of the oldest (formats/onnx/oldest_operators.h).
inline constexpr Size oldest_read = 7, newest_read = 28;

struct Versions {
  Size since = oldest_read, until = newest_read;
  constexpr bool has(Size opset) const { return since <= opset && opset <= until; }
};

// The result holds the numbers of the first input, or of all inputs where it takes any number of them, at other places.
struct Moved {};
// What an operator is in our own words, where one of these says it, whole: numbers known beforehand go through it by that,
// and the writers find its name.
using Meaning = std::variant<std::monostate, Function, BinaryFunction, Reduction, Moved>;

inline constexpr int any_number = 1 << 20;
struct ResultCount {
  int least = 1, most = 1;
};

struct Operator {
  std::string_view name;
  Versions versions;
  // In order: "X W B?", where `?` may be absent, "data..." one or more, "data...?" any number; "axes@13" since that opset.
  std::string_view inputs;
  // "axis:i axes:I@-12 end:i@15": f, i, s, t, g are a number, a whole number, text, a tensor, a graph, capitals lists of
  // them, and p anything else; `@13` since that opset, `@-12` until that one.
  std::string_view attributes;
  std::vector<ValueId> (*read)(FunctionCall&) = nullptr;  // null: not carried, or read by the model's reader itself
  Meaning meaning{};
  ResultCount results{};
};

// An input or an attribute.
struct Parameter {
  std::string_view name;
  Versions versions;
  char kind = 0;  // of an attribute
  bool optional = false, several = false;
};

struct Signature {
  const Operator* row = nullptr;
  std::vector<Parameter> inputs, attributes;

  const Parameter* attribute(std::string_view name) const;
  const Parameter* input(std::string_view name) const;
  // How many inputs there may be: at an opset, or at any of them.
  struct Count {
    int least = 0, most = 0;
  };
  Count count_of_inputs(std::optional<Size> opset) const;
};
// Null: no operator of ONNX's own domain.
const Signature* signature_of(std::string_view name);

// The operator that is this and nothing else; null: there is none.
const Operator* operator_for(const Meaning& meaning);
// What the operator of this name is, which is known to be of that kind.
template <class Kind>
Kind meaning_of(std::string_view name) {
  return std::get<Kind>(signature_of(name)->row->meaning);
}

// The rows that are read, as calls see them.
std::span<const FunctionRow> functions();

std::span<const Operator> convolution_operators();
std::span<const Operator> pooling_operators();
std::span<const Operator> padding_operators();
std::span<const Operator> resize_operators();
std::span<const Operator> reshape_operators();
std::span<const Operator> slice_concat_operators();
std::span<const Operator> scatter_operators();
std::span<const Operator> normalization_operators();
std::span<const Operator> activation_operators();
std::span<const Operator> elementwise_operators();
std::span<const Operator> comparison_operators();
std::span<const Operator> reduction_operators();
std::span<const Operator> linear_operators();
std::span<const Operator> quantization_operators();
std::span<const Operator> recurrent_operators();
std::span<const Operator> attention_operators();
std::span<const Operator> loss_operators();
std::span<const Operator> transform_operators();
std::span<const Operator> select_operators();
std::span<const Operator> region_operators();
std::span<const Operator> data_sized_operators();
std::span<const Operator> state_operators();
std::span<const Operator> deformable_operators();
std::span<const Operator> bit_operators();
std::span<const Operator> other_operators();

}  // namespace convoy::onnx
