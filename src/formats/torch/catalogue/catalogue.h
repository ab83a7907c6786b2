// The catalogue of PyTorch: one row per operator, by every name that it has. Functions, layers and what their
// constructors say by themselves, ATen's overloads and TorchScript's signatures are all made from these rows.
#pragma once
#include "formats/function.h"

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace convoy::torch {

struct CatalogueRow {
  // Separated by blanks. "celu": torch.nn.functional.celu and ATen's celu. "F.softmin": of torch.nn.functional alone.
  // "torch.exp": of torch, a tensor's method, and ATen's exp. "aten.rsub": ATen's alone. "nn.CELU": a layer. What torch.
  // and aten. name goes by the row's first name. "conv[123]d": a row for each of conv1d, conv2d and conv3d.
  // "as.max_pool2d", in front: what layers that all its names make are named after.
  std::string_view names;
  // "input:T alpha:n=1.0 inplace:b=False", or several overloads in the order in which PyTorch tries them:
  // "Tensor(input:T other:T) Scalar(input:T other:n)"; "_softmax.default(...)" is that of another operator of ATen.
  // A parameter is "name:kind", "?" behind what may be None, "=" and the number, truth or 'word' behind what may be
  // left out ("=" alone: something that no program reads back), "..." behind what takes all that is left, and "*" in
  // front of those that are given by name. Kinds: T tensor, L list of tensors, i and I whole numbers, f and F numbers,
  // n either number, b truth, s text, t element type, d device, layout or the like, which says nothing about the
  // numbers; "$": where and in which type a tensor is made. "-> TT" at the end: two results (L: a list).
  // Layers take no tensors, ATen no `inplace`; what else only some names take says so: "aten/scale:n=1", "F/", "nn/",
  // "call/" (all but the layer); "[23]/scale:n=1": conv2d and conv3d do.
  std::string_view signature;
  std::vector<ValueId> (*read)(FunctionCall&) = nullptr;
  std::optional<Function> function = {};  // of one number
};

// A function of one number.
template <Function F>
constexpr CatalogueRow one_number(std::string_view names, std::string_view signature = "input:T") {
  return {names, signature,
          [](FunctionCall& call) -> std::vector<ValueId> {
            call.attrs.ignore({"inplace"});
            ValueId x = call.tensor("input");
            const bool counts = F == Function::Square && !call.failed() && call.type(x).dtype == DType::Bool;
            if (counts) x = call.add(Cast{DType::I64}, {x});  // as PyTorch raises truths to a power
            return {call.add(Unary{F}, {x})};
          },
          F};
}

std::span<const CatalogueRow> activation_operators();
std::span<const CatalogueRow> one_number_operators();
std::span<const CatalogueRow> two_number_operators();
std::span<const CatalogueRow> reduction_operators();
std::span<const CatalogueRow> pooling_operators();
std::span<const CatalogueRow> convolution_operators();
std::span<const CatalogueRow> unfold_operators();
std::span<const CatalogueRow> batch_norm_operators();
std::span<const CatalogueRow> normalization_operators();
std::span<const CatalogueRow> product_operators();
std::span<const CatalogueRow> padding_operators();
std::span<const CatalogueRow> resize_operators();
std::span<const CatalogueRow> reshape_operators();
std::span<const CatalogueRow> shuffle_operators();
std::span<const CatalogueRow> part_operators();
std::span<const CatalogueRow> pick_operators();
std::span<const CatalogueRow> attention_operators();
std::span<const CatalogueRow> constant_operators();
std::span<const CatalogueRow> arranged_operators();
std::span<const CatalogueRow> special_number_operators();
std::span<const CatalogueRow> composed_product_operators();
std::span<const CatalogueRow> fake_quantization_operators();
std::span<const CatalogueRow> loss_operators();
std::span<const CatalogueRow> length_operators();
std::span<const CatalogueRow> neighbour_operators();
std::span<const CatalogueRow> composed_operators();
std::span<const CatalogueRow> composed_number_operators();
std::span<const CatalogueRow> write_operators();
std::span<const CatalogueRow> scatter_operators();
std::span<const CatalogueRow> diagonal_operators();
std::span<const CatalogueRow> recurrent_operators();

// Functions of torch.nn.functional, and layers.
std::span<const FunctionRow> functions();
// A function of torch or torch.nn.functional, or a method, by name. Null: none.
const FunctionRow* catalogued_function(std::string_view name);
// ATen's operator; where all overloads have one row, any overload. Null: none.
const FunctionRow* catalogued_aten(std::string_view name, std::string_view overload);
// Whether this very overload has a row.
bool is_catalogued_overload(std::string_view name, std::string_view overload);

// One overload of an operator of ATen. TorchScript calls them by name and place; which one is meant, the arguments say.
struct Schema {
  std::string_view name, overload, parameters;
  std::string_view results;  // T, TT, TTT, or L for a list
};
struct SchemaParameter {
  std::string_view name;  // as the rows take it: "self" is "input"
  char kind = 'T';
  bool optional = false, has_default = false, by_name_only = false;
  std::string_view otherwise = {};  // the default as Python writes it; empty: not told
};
// Sorted by name; of one operator, in the order in which PyTorch tries them.
std::span<const Schema> schemas();
std::span<const Schema> schemas_named(std::string_view name);
std::vector<SchemaParameter> parameters_of(const Schema& schema);
// What the constructor of a layer takes, in order.
std::vector<SchemaParameter> constructor_of(std::string_view layer);

std::string_view written_name(Function function);  // "F.silu"

// What the row of "leaky_relu" or "LeakyReLU" says of an argument that is left out: 0.01, True or 'none', as Python writes
// it; empty: nothing. And as a number.
std::string_view default_in_row(std::string_view name, std::string_view argument);
std::optional<double> default_number(std::string_view name, std::string_view argument);

}  // namespace convoy::torch
