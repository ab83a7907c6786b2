// Products of matrices, tables, and attention.
#include "formats/torch/aten/aten.h"

#include <nlohmann/json.hpp>

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

template <char const* second>
Results product(FunctionCall& call) {
  const ValueId a = call.tensor("input"), b = call.tensor(second);
  if (call.rank(a) < 2 || call.rank(b) < 2) {
    call.refuse(Fault::Unsupported, "a product with a vector");
    return {};
  }
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

// softmax(q k^T * scale + mask) v
Results attention(FunctionCall& call) {
  const ValueId q = call.tensor("query"), k = call.tensor("key"), v = call.tensor("value");
  if (call.optional("attn_mask") || call.attrs.truth("is_causal", false) || call.attrs.number("dropout_p", 0.0) != 0 ||
      call.attrs.truth("enable_gqa", false)) {
    call.refuse(Fault::Unsupported, "attention with a mask, dropout or grouped heads");
    return {};
  }
  const Size rank = call.rank(q);
  const Dim depth = call.dim(q, rank - 1);
  if (!depth.known()) call.refuse(Fault::Unsupported, "attention over a depth that is free");
  if (call.failed() || rank < 2 || call.rank(k) != rank) return {};
  const double scale = call.attrs.number("scale", 1 / std::sqrt(static_cast<double>(*depth)));
  Sizes swap(static_cast<std::size_t>(rank));
  for (Size i = 0; i < rank; ++i) swap[static_cast<std::size_t>(i)] = i;
  std::swap(swap[swap.size() - 1], swap[swap.size() - 2]);
  const ValueId scores = call.add(MatMul{}, {q, call.add(Transpose{swap}, {k})});
  const ValueId scaled = call.add(Affine{scale, 0}, {scores});
  return {call.add(MatMul{}, {call.add(Softmax{{rank - 1}}, {scaled}), v})};
}

constexpr std::array rows{
    FunctionRow{"addmm", "input mat1 mat2", addmm},
    FunctionRow{"baddbmm", "input batch1 batch2", baddbmm},
    FunctionRow{"mm", "input mat2", product<mat2>},
    FunctionRow{"bmm", "input mat2", product<mat2>},
    FunctionRow{"matmul", "input other", product<other>},
    FunctionRow{"einsum", "equation tensors...", einsum},
    FunctionRow{"embedding", "weight indices padding_idx", embedding},
    FunctionRow{"scaled_dot_product_attention", "query key value attn_mask dropout_p is_causal scale", attention},
};

}  // namespace

std::span<const FunctionRow> aten_products() { return rows; }

}  // namespace convoy::torch
