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

  ValueId x();  // the one tensor that a layer, an operation or a word takes
  ValueId operand(std::string_view name);
  const Json* option(std::string_view name);  // as it was said; null: left out
  double number(std::string_view name);  // as it was said, or its default
  bool truth(std::string_view name);
  Size whole(std::string_view name);
  Sizes list(std::string_view name);
  Values add(Op op, Values inputs) { return {call.add(std::move(op), std::move(inputs), step)}; }
};

struct CatalogueRow {
  // Separated by blanks; the first of a function of one number is the one that is written. "layers.ELU": a layer;
  // "nn.Elu": a class of keras.src.ops.nn, whose function is keras.ops.elu; "activations.elu": a word, and a function of
  // keras.activations, tf.nn and keras.backend; "code.reduce_mean": what else code calls the operation.
  std::string_view names;
  // "x alpha=1": arguments in the order of the constructor and of the function; layers have their tensors elsewhere.
  // "=" alone: may be left out, and is None then. "negative_slope|alpha": today's name and the old ones.
  std::string_view signature;
  Values (*read)(Use&);
  std::optional<Function> function = {};  // of one number
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
// A node's row: a class of keras.ops, or a function of keras.activations, which code alone calls.
const CatalogueRow* catalogued_operation(std::string_view name);
// The row's first name of a kind, without the kind. Empty: none.
std::string_view first_name(const CatalogueRow& row, std::string_view kind);
Values read_catalogued(Use use);
std::span<const LayerRow> catalogued_layers();
std::span<const LayerRow> catalogued_operations();
std::span<const LayerRow> functions();  // of keras.activations, by their words

std::span<const CatalogueRow> activation_operators();
std::span<const CatalogueRow> one_number_operators();

}  // namespace convoy::keras
