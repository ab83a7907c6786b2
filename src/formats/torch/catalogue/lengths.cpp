// Lengths of vectors and of rows and columns of matrices, and distances, which are lengths of what lies between.
#include "containers/json.h"
#include "formats/torch/catalogue/arguments.h"
#include "formats/torch/catalogue/arithmetic.h"
#include "formats/torch/catalogue/aten.h"
#include "formats/torch/catalogue/catalogue.h"
#include "ops/expect.h"

#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <limits>

namespace convoy::torch {
namespace {

using Results = std::vector<ValueId>;
using enum BinaryFunction;

// The argument "dtype" says in which numbers a length is worked out; of half precision PyTorch adds up in float32.
ValueId asked_numbers(FunctionCall& call, ValueId x) {
  const auto asked = asked_type(call);
  if (asked && !is_floating(*asked)) call.refuse(Fault::Unsupported, "lengths in whole numbers");
  if (!asked && !call.failed() && !is_floating(call.type(x).dtype))
    call.refuse(Fault::Unsupported, "lengths of whole numbers");
  return asked ? cast_to(call, x, *asked) : x;
}

// (sum |x|^order)^(1/order); of order 0 how many are not 0.
ValueId length_of(FunctionCall& call, ValueId x, double order, const Sizes& over, bool keeps) {
  if (call.failed()) return {};
  const DType own = call.type(x).dtype;
  if (is_half(own)) x = cast_to(call, x, DType::F32);
  Arithmetic apply(call, x);
  const auto folded = [&](Reduction reduction, ValueId v) { return apply.folded(reduction, v, over, keeps); };
  const auto size = [&] { return apply(Function::Abs, x); };
  ValueId y;
  if (order == endless) y = folded(Reduction::Maximum, size());
  else if (order == -endless) y = folded(Reduction::Minimum, size());
  else if (order == 0)
    y = folded(Reduction::Sum, apply.choose(apply(NotEqual, x, 0.0), apply.number(1), apply.number(0)));
  else if (order == 1) y = folded(Reduction::Sum, size());
  else if (order == 2) y = apply(Function::Sqrt, folded(Reduction::Sum, apply(Function::Square, x)));
  else y = apply(Power, folded(Reduction::Sum, apply(Power, size(), order)), 1 / order);
  return is_half(own) ? cast_to(call, y, own) : y;
}

Results vector_norm(FunctionCall& call) {
  const ValueId x = asked_numbers(call, call.tensor("input"));
  const double order = call.attrs.number(call.attrs.has("p") ? "p" : "ord", 2.0);
  const Sizes over = reduced_axes(call, x);
  return {length_of(call, x, order, over, truth_or_default(call, "keepdim"))};
}

// The largest or smallest sum of the sizes in a column (order 1 and -1) or in a row (infinite); "fro" is the length of all.
ValueId matrix_length(FunctionCall& call, ValueId x, const Json& order, Size rows, Size columns, bool keeps) {
  if (call.failed()) return {};
  rows = axis_of(call, rows, call.rank(x)), columns = axis_of(call, columns, call.rank(x));
  if (rows == columns) call.refuse(Fault::Format, "a matrix of one axis");
  const Sizes both{std::min(rows, columns), std::max(rows, columns)};
  if (order.is_string() && order == "fro") return length_of(call, x, 2, both, keeps);
  const double number = order.is_number() ? order.get<double>() : 0;
  if (std::abs(number) != 1 && std::abs(number) != endless)
    call.refuse(Fault::Unsupported,
                "a matrix's norm of order " + json_text(order) + ", which wants its singular values");
  const Size first = std::abs(number) == 1 ? rows : columns, second = first == rows ? columns : rows;
  const ValueId sums = length_of(call, x, 1, {first}, true);
  const ValueId most = length_of(call, sums, number > 0 ? endless : -endless, {second}, true);
  return keeps ? most : call.add(Squeeze{both}, {most});
}

Json order_of(FunctionCall& call, const Json& otherwise) {
  const Json* said = call.attrs.raw("ord");
  if (!said || said->is_null()) return otherwise;
  if (said->is_string()) {
    const std::string word = call.attrs.word("ord");
    if (word == "inf" || word == "-inf") return word == "inf" ? endless : -endless;
    return word;
  }
  return call.attrs.number("ord");
}

Results matrix_norm(FunctionCall& call) {
  const ValueId x = asked_numbers(call, call.tensor("input"));
  const Sizes dims = call.attrs.list("dim", Sizes{-2, -1});
  if (dims.size() != 2) call.refuse(Fault::Format, "argument 'dim' is not two axes");
  if (call.failed()) return {};
  return {matrix_length(call, x, order_of(call, "fro"), dims[0], dims[1], truth_or_default(call, "keepdim"))};
}

// Of a matrix, or along two axes, its norm where an order is said; else the length of all that the axes hold.
Results norm(FunctionCall& call) {
  const ValueId x = asked_numbers(call, call.tensor("input"));
  const Json order = order_of(call, Json());
  const bool keeps = truth_or_default(call, "keepdim");
  if (call.failed()) return {};
  const Sizes dims = call.attrs.has("dim") ? call.attrs.list("dim") : Sizes{};
  const Sizes over = reduced_axes(call, x);
  if (order.is_null()) return {length_of(call, x, 2, over, keeps)};
  if (dims.size() == 2) return {matrix_length(call, x, order, dims[0], dims[1], keeps)};
  if (dims.empty() && call.rank(x) == 2) return {matrix_length(call, x, order, 0, 1, keeps)};
  if (!order.is_number() || over.size() > 1) call.refuse(Fault::Format, "a matrix's norm of what is no matrix");
  return {length_of(call, x, order.is_number() ? order.get<double>() : 2, over, keeps)};
}

Results distance(FunctionCall& call) {
  const ValueId a = real_tensor(call, "input"), b = real_tensor(call, "other");
  const ValueId between = call.add(Binary{Subtract}, {a, b});
  return {length_of(call, between, number_or_default(call, "p"), all_axes(call, between), false)};
}

Results pairwise_distance(FunctionCall& call) {
  const ValueId a = call.tensor("x1"), b = call.tensor("x2");
  const double p = number_or_default(call, "p"), added = number_or_default(call, "eps");
  const ValueId between = call.add(Affine{1, added}, {call.add(Binary{Subtract}, {a, b})});
  if (call.failed()) return {};
  return {length_of(call, between, p, {call.rank(between) - 1}, truth_or_default(call, "keepdim"))};
}

// x1 / max(|x1|, eps) times x2 / max(|x2|, eps), added up along an axis of what both stretch to.
// Source: ATen/native/Distance.cpp, cosine_similarity.
Results cosine_similarity(FunctionCall& call) {
  ValueId a = call.tensor("x1"), b = call.tensor("x2");
  const double least = number_or_default(call, "eps");
  if (call.failed()) return {};
  const Size rank = std::max(call.rank(a), call.rank(b));
  const Size axis = axis_of(call, integer_or_default(call, "dim"), rank);
  a = with_axes_in_front(call, a, rank);
  b = with_axes_in_front(call, b, rank);
  const auto stretched = [&](ValueId x, ValueId other) {
    return call.dim(x, axis) == Dim(1) ? call.add(Tile{axis, known_size(call, other, axis)}, {x}) : x;
  };
  if (call.failed()) return {};
  if (call.dim(a, axis) != call.dim(b, axis)) {
    a = stretched(a, b);
    b = stretched(b, a);
  }
  const auto of_length_one = [&](ValueId x) {
    return call.add(Binary{Divide}, {x, call.add(Clip{least, std::nullopt}, {length_of(call, x, 2, {axis}, true)})});
  };
  const ValueId products = call.add(Binary{Multiply}, {of_length_one(a), of_length_one(b)});
  return {call.add(Reduce{Reduction::Sum, {axis}, false}, {products})};
}

// How far every row of one is from every row of the other.
Results distances(FunctionCall& call) {
  const ValueId a = real_tensor(call, "x1"), b = real_tensor(call, "x2");
  const double p = call.attrs.number("p", 2.0);
  call.attrs.ignore({"compute_mode"});
  if (call.rank(a) < 2 || call.rank(b) < 2) call.refuse(Fault::Format, "takes rows of matrices alone");
  if (p < 0) call.refuse(Fault::Format, "argument 'p' is below 0");
  if (call.failed()) return {};
  const ValueId rows_of_a = call.add(Unsqueeze{{call.rank(a) - 1}}, {a});
  const ValueId rows_of_b = call.add(Unsqueeze{{call.rank(b) - 2}}, {b});
  const ValueId between = call.add(Binary{Subtract}, {rows_of_a, rows_of_b});
  return {length_of(call, between, p, {call.rank(between) - 1}, false)};
}

// How far every row is from every one behind it.
Results distances_of_pairs(FunctionCall& call) {
  const ValueId x = real_tensor(call, "input");
  const double p = number_or_default(call, "p");
  if (call.rank(x) != 2) call.refuse(Fault::Format, "takes rows of a matrix alone");
  const Size rows = known_size(call, x, 0);
  if (rows < 2) call.refuse(Fault::Unsupported, "pairs of fewer than two rows");
  if (rows > 1024) call.refuse(Fault::Limit, "pairs of more than 1024 rows");
  if (call.failed()) return {};
  Take first{0, {}}, second{0, {}};
  for (Size i = 0; i < rows; ++i)
    for (Size k = i + 1; k < rows; ++k) first.indices.push_back(i), second.indices.push_back(k);
  const ValueId between = call.add(Binary{Subtract}, {call.add(first, {x}), call.add(second, {x})});
  return {length_of(call, between, p, {1}, false)};
}

// What is longer than `maxnorm` is brought to it. Source: ATen/native/Normalization.cpp, renorm.
Results renorm(FunctionCall& call) {
  const ValueId x = real_tensor(call, "input");
  const double p = call.attrs.number("p"), most = call.attrs.number("maxnorm");
  const Size axis = axis_of(call, call.attrs.integer("dim"), call.rank(x));
  if (call.rank(x) < 2) call.refuse(Fault::Format, "takes tensors of two axes at least");
  if (call.failed()) return {};
  Sizes over = all_axes(call, x);
  std::erase(over, axis);
  const ValueId length = length_of(call, x, p, over, true);
  Arithmetic apply(call, x);
  const ValueId share = apply(Divide, most, apply.scaled(length, 1, 1e-7));
  return {apply(Multiply, x, apply.choose(apply(Greater, length, most), share, apply.number(1)))};
}

constexpr std::array rows_of_lengths{
    CatalogueRow{"aten.linalg_vector_norm", "input:T ord:n=2 dim:I?= keepdim:b=False * dtype:t?=", vector_norm},
    CatalogueRow{"as.linalg_vector_norm torch.norm",
                 "Scalar(input:T p:n=2) ScalarOpt_dim(input:T p:n? dim:I keepdim:b=False) "
                 "ScalarOpt_dim_dtype(input:T p:n? dim:I keepdim:b * dtype:t) ScalarOpt_dtype(input:T p:n? * dtype:t)",
                 vector_norm},
    CatalogueRow{"aten.linalg_norm",
                 "default(input:T ord:n?= dim:I?= keepdim:b=False * dtype:t?=) "
                 "ord_str(input:T ord:s dim:I?= keepdim:b=False * dtype:t?=)",
                 norm},
    CatalogueRow{"aten.linalg_matrix_norm",
                 "default(input:T ord:n dim:I= keepdim:b=False * dtype:t?=) "
                 "str_ord(input:T ord:s='fro' dim:I= keepdim:b=False * dtype:t?=)",
                 matrix_norm},
    CatalogueRow{"torch.dist", "input:T other:T p:n=2", distance},
    CatalogueRow{"aten.pairwise_distance", "x1:T x2:T p:f=2 eps:f=1e-06 keepdim:b=False", pairwise_distance},
    CatalogueRow{"aten.cosine_similarity", "x1:T x2:T dim:i=1 eps:f=1e-08", cosine_similarity},
    CatalogueRow{"torch.cdist", "x1:T x2:T p:f=2.0 compute_mode:i?=None", distances},
    CatalogueRow{"aten._cdist_forward", "x1:T x2:T p:f compute_mode:i?", distances},
    CatalogueRow{"pdist aten._pdist_forward", "input:T p:f=2.0", distances_of_pairs},
    CatalogueRow{"torch.renorm", "input:T p:n dim:i maxnorm:n", renorm},
};

}  // namespace

std::span<const CatalogueRow> length_operators() { return rows_of_lengths; }

}  // namespace convoy::torch
