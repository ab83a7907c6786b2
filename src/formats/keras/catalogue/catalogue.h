// The catalogue of Keras: one row per operator, by every name that it has. Readers of files and of code, activation words,
// constructors' arguments and the writers are all made from these rows.
#pragma once
#include "formats/keras/call.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convoy::keras {

struct CatalogueRow;

// How an operator was called: as a layer with a config, as a node of keras.ops with arguments, or as a word, which is
// "relu" behind another layer. Readers ask for arguments by name; their places and defaults stand in the row.
struct Use {
  enum class Kind : std::uint8_t { Layer, Operation, Word };
  Call& call;
  const CatalogueRow& row;
  Kind kind;
  ValueId value = {};  // what a word is applied to
  std::string_view step = {};

  std::vector<std::string_view> asked = {};  // arguments that the row's function has read

  ValueId x();  // the one tensor that a layer, an operation or a word takes
  ValueId operand(std::string_view name);
  Values operands(std::string_view name);  // of a list of them
  bool takes(std::string_view name) const;  // by this name of the operator
  const Json* option(std::string_view name);  // as it was said; null: left out
  const Json* sized_option(std::string_view name);  // the same, of which some sizes may be free (operation.h)
  double number(std::string_view name);  // as it was said, or its default
  bool truth(std::string_view name);
  Size whole(std::string_view name);
  std::string word(std::string_view name);
  Sizes list(std::string_view name);  // one number is a list of one
  Sizes sizes(std::string_view name, std::size_t count);  // one number for all
  std::optional<DType> element_type(std::string_view name);  // refuses one that is not carried; absent: none was said
  Order order();  // data_format
  Size space() const;  // 2 of a layer "Conv2D"
  std::string called(std::string_view name) const;  // "attribute 'name'", for refusals
  Values add(Op op, Values inputs) { return {call.add(std::move(op), std::move(inputs), step)}; }
};

// What computes with truths takes them as int32.
ValueId without_truths(Use& use, ValueId x);

struct CatalogueRow {
  // Separated by blanks; the first of a function of one number is the one that is written. "layers.ELU": a layer;
  // "nn.Elu": a class of keras.src.ops.nn, whose function is keras.ops.elu; "activations.elu": a word, and a function of
  // keras.activations, tf.nn and keras.backend; "code.reduce_mean": what else code calls the operation;
  // "layers.MaxPooling2D|MaxPool2D": today's name and others; "keras1.Convolution2D": the constructor of Keras 1;
  // "saved.Merge": a layer that files name and code does not.
  std::string_view names;
  // "x alpha=1": arguments in the order of the constructor and of the function; layers have their tensors elsewhere.
  // "=" alone: may be left out, and is None then. "negative_slope|alpha": today's name and the old ones.
  std::string_view signature;
  Values (*read)(Use&) = nullptr;
  std::optional<Function> function = {};  // of one number
  std::optional<BinaryFunction> binary = {};  // of two
};

// A function of one number.
template <Function F>
constexpr CatalogueRow one_number(std::string_view names) {
  return {names, "x", [](Use& use) { return use.add(Unary{F}, {use.x()}); }, F};
}

struct CatalogueParameter {
  std::string_view name, old;  // the old names, separated by '|'
  bool optional = false;
  std::string_view otherwise = {};  // empty: None
};
std::vector<CatalogueParameter> parameters_of(const CatalogueRow& row);
// "alpha" of "x alpha=1": the names alone, as a layer or a function takes them.
std::string words_of(const CatalogueRow& row, Use::Kind kind);

// By the kind of name and the name: ("layers", "ELU"), ("ops", "Elu"), ("activations", "elu"), ("code", "amax").
const CatalogueRow* catalogued(std::string_view kind, std::string_view name);
// Of a layer, in code or in a file.
const CatalogueRow* catalogued_layer(std::string_view name);
// A node's row: a class of keras.ops, or a function of keras.activations, which code alone calls.
const CatalogueRow* catalogued_operation(std::string_view name);
// Today's name of a layer that goes by several: "MaxPool2D" is MaxPooling2D.
std::string_view usual_name(std::string_view layer);
// The row's first name of a kind, without the kind. Empty: none.
std::string_view first_name(const CatalogueRow& row, std::string_view kind);
Values read_catalogued(Use use);
// All names of a kind, sorted.
std::vector<std::string_view> names_of(std::string_view kind);

std::span<const CatalogueRow> activation_operators();
std::span<const CatalogueRow> one_number_operators();
std::span<const CatalogueRow> convolution_operators();
std::span<const CatalogueRow> pooling_operators();
std::span<const CatalogueRow> padding_operators();
std::span<const CatalogueRow> product_operators();
std::span<const CatalogueRow> normalization_operators();
std::span<const CatalogueRow> recurrent_operators();
std::span<const CatalogueRow> conv_recurrent_operators();
std::span<const CatalogueRow> cell_operators();
std::span<const CatalogueRow> wrapper_operators();
std::span<const CatalogueRow> attention_operators();
std::span<const CatalogueRow> encoding_operators();
std::span<const CatalogueRow> reduction_operators();
std::span<const CatalogueRow> elementwise_operators();
std::span<const CatalogueRow> merge_operators();
std::span<const CatalogueRow> reshape_operators();
std::span<const CatalogueRow> slice_concat_operators();
std::span<const CatalogueRow> resize_operators();

}  // namespace convoy::keras
