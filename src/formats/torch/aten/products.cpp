// Products of matrices, and tables.
#include "formats/torch/aten/aten.h"

#include <nlohmann/json.hpp>

#include <array>

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

constexpr std::array rows{
    FunctionRow{"addmm", "input mat1 mat2", addmm},
    FunctionRow{"baddbmm", "input batch1 batch2", baddbmm},
    FunctionRow{"mm", "input mat2", product<mat2>},
    FunctionRow{"bmm", "input mat2", product<mat2>},
    FunctionRow{"matmul", "input other", product<other>},
    FunctionRow{"einsum", "equation tensors...", einsum},
    FunctionRow{"embedding", "weight indices padding_idx", embedding},
};

}  // namespace

std::span<const FunctionRow> aten_products() { return rows; }

}  // namespace convoy::torch
