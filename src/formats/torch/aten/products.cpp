// Products of matrices, and tables.
#include "formats/torch/aten/aten.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace convoy::torch {
namespace {

using Results = std::vector<ValueId>;

// beta * input + alpha * (a @ b). A known matrix with a known vector is a layer.
Results add_product(FunctionCall& call, std::string_view first, std::string_view second) {
  const ValueId bias = call.tensor("input"), a = call.tensor(first), b = call.tensor(second);
  const double beta = call.attrs.number("beta", 1.0), alpha = call.attrs.number("alpha", 1.0);
  if (beta == 1 && alpha == 1 && call.constant(b) && call.constant(bias) && call.rank(bias) == 1)
    return {call.add(Linear{LinearOrder::InOut}, {a, b, bias})};
  ValueId product = call.add(MatMul{}, {a, b}), rest = bias;
  if (alpha != 1) product = call.add(Affine{alpha, 0}, {product});
  if (beta != 1) rest = call.add(Affine{beta, 0}, {rest});
  return {call.add(Binary{BinaryFunction::Add}, {rest, product})};
}
Results addmm(FunctionCall& call) { return add_product(call, "mat1", "mat2"); }
Results baddbmm(FunctionCall& call) { return add_product(call, "batch1", "batch2"); }

// A vector is a row on the left and a column on the right; its axis goes again.
ValueId product_with_vector(FunctionCall& call, ValueId a, ValueId b) {
  const bool row = call.rank(a) == 1, column = call.rank(b) == 1;
  if (call.rank(a) < 1 || call.rank(b) < 1) call.refuse(Fault::Format, "a product with a single number");
  if (row) a = call.add(Unsqueeze{{0}}, {a});
  if (column) b = call.add(Unsqueeze{{1}}, {b});
  ValueId y = call.add(MatMul{}, {a, b});
  if (call.failed()) return {};
  const Size rank = call.rank(y);
  Sizes gone;
  if (row) gone.push_back(rank - 2);
  if (column) gone.push_back(rank - 1);
  return call.add(Squeeze{gone}, {y});
}

Results matrix_vector(FunctionCall& call) {
  const ValueId matrix = call.tensor("input"), vector = call.tensor("vec");
  if (call.failed()) return {};
  return {product_with_vector(call, matrix, vector)};
}
Results dot(FunctionCall& call) {
  const ValueId a = call.tensor("input"), b = call.optional("tensor");
  const ValueId other = b ? b : call.tensor("other");
  if (call.failed()) return {};
  return {product_with_vector(call, a, other)};
}
Results outer(FunctionCall& call) {
  const ValueId a = call.tensor("input"), b = call.tensor("vec2");
  return {call.add(Binary{BinaryFunction::Multiply}, {call.add(Unsqueeze{{1}}, {a}), b})};
}

template <char const* second>
Results product(FunctionCall& call) {
  const ValueId a = call.tensor("input"), b = call.tensor(second);
  if (call.failed()) return {};
  if (call.rank(a) < 2 || call.rank(b) < 2) return {product_with_vector(call, a, b)};
  if (call.constant(b) && call.rank(b) == 2) return {call.add(Linear{LinearOrder::InOut}, {a, b})};
  return {call.add(MatMul{}, {a, b})};
}
constexpr char other[] = "other", mat2[] = "mat2";

Results einsum(FunctionCall& call) {
  std::string equation;
  for (const char c : call.attrs.word("equation"))
    if (c != ' ') equation += c;
  call.attrs.ignore({"path"});
  const auto operands = call.several("tensors");
  if (operands.size() != 2) {
    call.refuse(Fault::Unsupported, "an einsum of " + std::to_string(operands.size()) + " tensors");
    return {};
  }
  return {call.add(Einsum{equation}, operands)};
}

Results embedding(FunctionCall& call) {
  const ValueId table = call.tensor("weight"), rows_wanted = call.tensor("indices");
  call.attrs.ignore({"padding_idx", "scale_grad_by_freq", "sparse"});  // of the gradient
  return {call.add(Embedding{}, {rows_wanted, table})};
}

// y[o] = sum over i, j of x1[i] W[o, i, j] x2[j]: a layer that makes [O, J] of x1, and its product with x2.
Results bilinear(FunctionCall& call) {
  const ValueId a = call.tensor("input1"), b = call.tensor("input2"), weight = call.tensor("weight");
  const ValueId bias = call.optional("bias");
  if (call.failed()) return {};
  const Tensor* known = call.constant(weight);
  const Size rank = call.rank(a);
  if (!known || call.rank(weight) != 3 || rank < 1 || call.rank(b) != rank) {
    call.refuse(Fault::Unsupported, "a bilinear product whose weight is computed, or of inputs of unlike rank");
    return {};
  }
  const Size out = *call.dim(weight, 0), in = *call.dim(weight, 1), other_in = *call.dim(weight, 2);
  const ValueId matrix = call.make_constant("weight", known->permuted(Sizes{1, 0, 2}).reshaped({in, out * other_in}));
  Sizes to(static_cast<std::size_t>(rank - 1), 0);
  to.insert(to.end(), {out, other_in});
  const ValueId made = call.add(Reshape{to}, {call.add(Linear{LinearOrder::InOut}, {a, matrix})});
  const ValueId product = call.add(Binary{BinaryFunction::Multiply}, {made, call.add(Unsqueeze{{rank - 1}}, {b})});
  const ValueId y = call.add(Reduce{Reduction::Sum, {rank}, false}, {product});
  return {bias ? call.add(Binary{BinaryFunction::Add}, {y, bias}) : y};
}

// What bilinear is decomposed into: three tensors with axes put in, multiplied, and summed.
Results trilinear(FunctionCall& call) {
  ValueId y{};
  for (const char* place : {"1", "2", "3"}) {
    ValueId x = call.tensor(std::string("i") + place);
    Sizes put_in = call.attrs.list(std::string("expand") + place);
    std::ranges::sort(put_in);
    if (!put_in.empty()) x = call.add(Unsqueeze{put_in}, {x});
    y = y ? call.add(Binary{BinaryFunction::Multiply}, {y, x}) : x;
  }
  Sizes over = call.attrs.list("sumdim");
  std::ranges::sort(over);
  call.attrs.ignore({"unroll_dim"});
  return {over.empty() ? y : call.add(Reduce{Reduction::Sum, over, false}, {y})};
}

// How far every row of one is from every row of the other.
Results distances(FunctionCall& call) {
  const ValueId a = call.tensor("x1"), b = call.tensor("x2");
  const double p = call.attrs.number("p", 2.0);
  call.attrs.ignore({"compute_mode"});
  if (call.rank(a) < 2 || call.rank(b) < 2) call.refuse(Fault::Format, "takes rows of matrices alone");
  if (p != 1 && p != 2 && !std::isinf(p)) call.refuse(Fault::Unsupported, "distances of another norm than 1, 2 or inf");
  if (call.failed()) return {};
  const ValueId rows_of_a = call.add(Unsqueeze{{call.rank(a) - 1}}, {a});
  const ValueId rows_of_b = call.add(Unsqueeze{{call.rank(b) - 2}}, {b});
  const ValueId between = call.add(Binary{BinaryFunction::Subtract}, {rows_of_a, rows_of_b});
  if (call.failed()) return {};
  const Size last = call.rank(between) - 1;
  const auto folded = [&](Reduction reduction, Function function) {
    return call.add(Reduce{reduction, {last}, false}, {call.add(Unary{function}, {between})});
  };
  if (p == 2) return {call.add(Unary{Function::Sqrt}, {folded(Reduction::Sum, Function::Square)})};
  return {folded(p == 1 ? Reduction::Sum : Reduction::Maximum, Function::Abs)};
}

constexpr std::array products_table{
    FunctionRow{"addmm", "input mat1 mat2", addmm},
    FunctionRow{"baddbmm", "input batch1 batch2", baddbmm},
    FunctionRow{"mm", "input mat2", product<mat2>},
    FunctionRow{"bmm", "input mat2", product<mat2>},
    FunctionRow{"matmul", "input other", product<other>},
    FunctionRow{"mv", "input vec", matrix_vector},
    FunctionRow{"dot", "input tensor", dot},
    FunctionRow{"vdot", "input other", dot},
    FunctionRow{"outer", "input vec2", outer},
    FunctionRow{"ger", "input vec2", outer},
    FunctionRow{"bilinear", "input1 input2 weight bias", bilinear},
    FunctionRow{"_trilinear", "i1 i2 i3 expand1 expand2 expand3 sumdim unroll_dim", trilinear},
    FunctionRow{"cdist", "x1 x2 p compute_mode", distances},
    FunctionRow{"_cdist_forward", "x1 x2 p compute_mode", distances},
    FunctionRow{"einsum", "equation tensors...", einsum},
    FunctionRow{"embedding", "weight indices padding_idx", embedding},
};

}  // namespace

std::span<const FunctionRow> aten_products() { return products_table; }

}  // namespace convoy::torch
