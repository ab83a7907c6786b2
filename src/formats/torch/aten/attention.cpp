// Attention in one operator: softmax(q k^T * scale + mask) v.
#include "formats/torch/aten/aten.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

namespace convoy::torch {
namespace {

using Results = std::vector<ValueId>;

// The two last axes of q and k as one table: what a query may look at, itself and what lies before it.
ValueId causal_mask(FunctionCall& call, ValueId q, ValueId k) {
  const Dim queries = call.dim(q, call.rank(q) - 2), keys = call.dim(k, call.rank(k) - 2);
  constexpr Size most = Size{1} << 24;
  if (!queries.known() || !keys.known() || checked_multiply(*queries, *keys).value_or(most + 1) > most) {
    call.refuse(Fault::Unsupported, "a causal mask over a free or very large number of steps; give the input a size");
    return {};
  }
  std::vector<std::byte> sees;
  for (Size row = 0; row < *queries; ++row)
    for (Size column = 0; column < *keys; ++column) sees.push_back(static_cast<std::byte>(column <= row));
  return call.make_constant("causal_mask", *Tensor::owning(DType::Bool, {*queries, *keys}, std::move(sees)));
}

// Whether every query of a known mask sees something.
bool sees_something(const Tensor* mask) {
  if (!mask || mask->shape().empty() || mask->shape().back() == 0) return false;
  const auto cells = mask->integers();
  const auto keys = static_cast<std::size_t>(mask->shape().back());
  for (std::size_t row = 0; row + keys <= cells.size(); row += keys)
    if (std::ranges::all_of(std::span(cells).subspan(row, keys), [](auto cell) { return cell == 0; })) return false;
  return true;
}

// Grouped heads: each head of k and v serves several neighbouring ones of q.
ValueId spread_heads(FunctionCall& call, ValueId q, ValueId x) {
  const Size axis = call.rank(x) - 3;
  const Dim wanted = call.dim(q, axis), held = call.dim(x, axis);
  if (axis < 0 || !wanted.known() || !held.known() || *held < 1 || *wanted % *held != 0) {
    call.refuse(Fault::Unsupported, "grouped heads whose number is free or does not come out even");
    return {};
  }
  if (*wanted == *held) return x;
  Take take{axis, {}};
  for (Size head = 0; head < *wanted; ++head) take.indices.push_back(head / (*wanted / *held));
  return call.add(take, {x});
}

// Source: torch.nn.functional.scaled_dot_product_attention of PyTorch 2.13. Truths keep what they are true for, and a
// query that sees nothing gives zeros; numbers are added to the scores.
Results attention(FunctionCall& call) {
  const ValueId q = call.tensor("query");
  ValueId k = call.tensor("key"), v = call.tensor("value"), mask = call.optional("attn_mask");
  const bool causal = call.attrs.truth("is_causal", false);
  if (call.attrs.number("dropout_p", 0.0) != 0) call.refuse(Fault::Unsupported, "attention with dropout");
  if (call.attrs.truth("enable_gqa", false) && !call.failed()) {
    k = spread_heads(call, q, k);
    v = spread_heads(call, q, v);
  }
  const Size rank = call.rank(q);
  const Dim depth = call.dim(q, rank - 1);
  if (!depth.known()) call.refuse(Fault::Unsupported, "attention over a depth that is free");
  if (call.failed() || rank < 2 || call.rank(k) != rank) return {};
  if (causal && mask) call.refuse(Fault::Format, "argument 'is_causal' beside a mask");
  if (causal) mask = causal_mask(call, q, k);
  const double scale = call.attrs.number("scale", 1 / std::sqrt(static_cast<double>(*depth)));
  Sizes swap(static_cast<std::size_t>(rank));
  for (Size i = 0; i < rank; ++i) swap[static_cast<std::size_t>(i)] = i;
  std::swap(swap[swap.size() - 1], swap[swap.size() - 2]);
  ValueId scores = call.add(MatMul{}, {q, call.add(Transpose{swap}, {k})});
  scores = call.add(Affine{scale, 0}, {scores});
  if (call.failed()) return {};
  const DType dtype = call.fact(scores).dtype;
  const bool chooses = mask && call.fact(mask).dtype == DType::Bool;
  if (chooses) {
    const ValueId nothing = number_constant(call, "unseen", -std::numeric_limits<double>::infinity(), dtype);
    scores = call.add(Where{}, {mask, scores, nothing});
  } else if (mask) {
    scores = call.add(Binary{BinaryFunction::Add}, {scores, mask});
  }
  ValueId weights = call.add(Softmax{{rank - 1}}, {scores});
  if (chooses && !sees_something(call.constant(mask)))
    weights = call.add(Where{}, {mask, weights, number_constant(call, "none", 0, dtype)});
  return {call.add(MatMul{}, {weights, v})};
}

constexpr std::array rows{
    FunctionRow{"scaled_dot_product_attention", "query key value attn_mask dropout_p is_causal scale", attention},
};

}  // namespace

std::span<const FunctionRow> aten_attention() { return rows; }

}  // namespace convoy::torch
