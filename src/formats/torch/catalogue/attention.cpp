// Attention in one operator: softmax(q k^T * scale + mask) v.
#include "formats/torch/catalogue/arguments.h"
#include "formats/torch/catalogue/aten.h"
#include "formats/torch/catalogue/catalogue.h"
#include "formats/triangle.h"
#include "ops/expect.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

namespace convoy::torch {
namespace {

using Results = std::vector<ValueId>;

// Whether every query of a known mask sees something.
bool sees_something(const Tensor* mask) {
  if (!mask || mask->shape().empty() || mask->shape().back() == 0) return false;
  const double unseen = is_floating(mask->dtype()) ? -std::numeric_limits<double>::infinity() : 0;
  const auto cells = mask->doubles();
  const auto keys = static_cast<std::size_t>(mask->shape().back());
  for (std::size_t row = 0; row + keys <= cells.size(); row += keys)
    if (std::ranges::all_of(std::span(cells).subspan(row, keys), [&](double cell) { return cell == unseen; }))
      return false;
  return true;
}

// Grouped heads: each head of k and v serves several neighbouring ones of q.
ValueId spread_heads(FunctionCall& call, ValueId q, ValueId x) {
  const Size axis = call.rank(x) - 3;
  if (axis < 0 || call.rank(q) != call.rank(x)) {
    call.refuse(Fault::Unsupported, "grouped heads of tensors without an axis of heads");
    return {};
  }
  const Dim wanted = call.dim(q, axis), held = call.dim(x, axis);
  if (!wanted.known() || !held.known() || *held < 1 || *wanted % *held != 0) {
    call.refuse(Fault::Unsupported, "grouped heads whose number is free or does not come out even");
    return {};
  }
  if (*wanted == *held) return x;
  Take take{axis, {}};
  for (Size head = 0; head < *wanted; ++head) take.indices.push_back(head / (*wanted / *held));
  return call.add(take, {x});
}

// Source: torch.nn.functional.scaled_dot_product_attention of PyTorch 2.13. Truths keep what they are true for, numbers are
// added to the scores; a query that sees nothing, for all is false or negative infinity, gives zeros.
Results attention(FunctionCall& call) {
  const ValueId q = call.tensor("query");
  ValueId k = call.tensor("key"), v = call.tensor("value"), mask = call.optional("attn_mask");
  const bool causal = truth_or_default(call, "is_causal");
  if (number_or_default(call, "dropout_p") != 0) call.refuse(Fault::Unsupported, "attention with dropout");
  if (truth_or_default(call, "enable_gqa") && !call.failed()) {
    k = spread_heads(call, q, k);
    v = spread_heads(call, q, v);
  }
  const Size rank = call.rank(q);
  const Dim depth = call.dim(q, rank - 1);
  if (!depth.known()) call.refuse(Fault::Unsupported, "attention over a depth that is free");
  if (!call.failed() && (rank < 2 || call.rank(k) != rank || call.rank(v) != rank))
    call.refuse(Fault::Unsupported, "attention over tensors of unlike ranks");
  if (call.failed()) return {};
  if (causal && mask) call.refuse(Fault::Format, "argument 'is_causal' beside a mask");
  const double scale = call.attrs.number("scale", 1 / std::sqrt(static_cast<double>(*depth)));
  Sizes swap(static_cast<std::size_t>(rank));
  for (Size i = 0; i < rank; ++i) swap[static_cast<std::size_t>(i)] = i;
  std::swap(swap[swap.size() - 1], swap[swap.size() - 2]);
  ValueId scores = call.add(MatMul{}, {q, call.add(Transpose{swap}, {k})});
  scores = call.add(Affine{scale, 0}, {scores});
  if (causal && !call.failed())
    mask = triangle_mask(call, scores, 0, false);  // a query sees itself and what lies before it
  if (call.failed()) return {};
  const DType dtype = call.type(scores).dtype;
  const bool chooses = mask && call.type(mask).dtype == DType::Bool;
  if (chooses) {
    const ValueId nothing = number_constant(call, "unseen", -std::numeric_limits<double>::infinity(), dtype);
    scores = call.add(Where{}, {mask, scores, nothing});
  } else if (mask) {
    scores = call.add(Binary{BinaryFunction::Add}, {scores, mask});
  }
  ValueId weights = call.add(Softmax{{rank - 1}}, {scores});
  if (mask && !causal && !sees_something(call.constant(mask))) {
    const auto lowest = [&] {
      return number_constant(call, "hidden", -std::numeric_limits<double>::infinity(), call.type(mask).dtype);
    };
    const ValueId seen = chooses ? mask : call.add(Binary{BinaryFunction::Greater}, {mask, lowest()});
    weights = call.add(Where{}, {seen, weights, number_constant(call, "none", 0, dtype)});
  }
  return {call.add(MatMul{}, {weights, v})};
}

// What a mask of self-attention is laid over: [queries, keys], [batch, keys], or whole.
enum class MaskOver : std::uint8_t { Pairs, Keys, Scores };

// Self-attention with its projections over x [N, T, E]; the mask hides what it is not zero for.
struct Projected {
  ValueId weight, bias, last_weight, last_bias;
  Size heads = 1;
  ValueId mask;
  MaskOver over = MaskOver::Scores;
};
struct Attended {
  ValueId answer, weights;
};

Attended self_attention(FunctionCall& call, ValueId x, const Projected& by) {
  const Dim argument = call.failed() ? Dim::unknown() : call.dim(x, 2);
  const Size width = argument.known() ? *argument : 0;
  if (width < 1 || by.heads < 1 || width % by.heads != 0 || call.rank(x) != 3)
    call.refuse(Fault::Format, "heads that do not divide the width of the input");
  if (call.failed()) return {};
  const Results parts =
      call.add_all(Split{2, {width, width, width}}, {call.add(Linear{LinearOrder::OutIn}, {x, by.weight, by.bias})});
  if (call.failed()) return {};
  const auto apart = [&](ValueId part, const Sizes& order) {
    return call.add(Transpose{order}, {call.add(Reshape{{0, 0, by.heads, width / by.heads}}, {part})});
  };
  const ValueId q = apart(parts[0], {0, 2, 1, 3}), k = apart(parts[1], {0, 2, 3, 1}), v = apart(parts[2], {0, 2, 1, 3});
  const double scale = 1 / std::sqrt(static_cast<double>(width / by.heads));
  ValueId scores = call.add(Affine{scale, 0}, {call.add(MatMul{}, {q, k})});
  if (call.failed()) return {};
  if (by.mask) {
    ValueId mask = by.mask;
    if (call.type(mask).dtype != DType::Bool) mask = call.add(Cast{DType::Bool}, {mask});
    if (by.over == MaskOver::Keys) mask = call.add(Unsqueeze{{1, 2}}, {mask});
    const DType dtype = call.type(scores).dtype;
    const ValueId nothing = number_constant(call, "unseen", -std::numeric_limits<double>::infinity(), dtype);
    scores = call.add(Where{}, {mask, nothing, scores});
  }
  const ValueId weights = call.add(Softmax{{3}}, {scores});
  const ValueId summed = call.add(Transpose{{0, 2, 1, 3}}, {call.add(MatMul{}, {weights, v})});
  const ValueId joined = call.add(Reshape{{0, 0, width}}, {summed});
  return {call.add(Linear{LinearOrder::OutIn}, {joined, by.last_weight, by.last_bias}), weights};
}

Projected projected(FunctionCall& call, std::string_view heads) {
  return {call.tensor("qkv_weight"),
          call.tensor("qkv_bias"),
          call.tensor("proj_weight"),
          call.tensor("proj_bias"),
          call.attrs.integer(heads),
          call.optional("mask"),
          static_cast<MaskOver>(call.attrs.integer("mask_type", 2))};
}

// nn.MultiheadAttention in eval mode. Source: native_multi_head_attention_cpu of PyTorch 2.13.
Results native_attention(FunctionCall& call) {
  const ValueId x = call.tensor("query");
  const bool alike = call.tensor("key") == x && call.tensor("value") == x;
  if (!alike) call.refuse(Fault::Unsupported, "attention of one tensor over another in one operator");
  const bool average = truth_or_default(call, "average_attn_weights");
  call.attrs.ignore({"need_weights", "embed_dim"});
  const Attended made = self_attention(call, x, projected(call, "num_head"));
  return {made.answer, average ? call.add(Reduce{Reduction::Mean, {1}, false}, {made.weights}) : made.weights};
}

// nn.TransformerEncoderLayer in eval mode. Source: transformer_encoder_layer_forward of PyTorch 2.13.
Results encoder_layer(FunctionCall& call) {
  const ValueId x = call.tensor("src");
  const bool gelu = call.attrs.truth("use_gelu"), first = call.attrs.truth("norm_first");
  const double epsilon = call.attrs.number("eps");
  call.attrs.ignore({"embed_dim"});
  const auto normed = [&](ValueId of, const char* weight, const char* bias) {
    return call.add(LayerNorm{{2}, epsilon, false}, {of, call.tensor(weight), call.tensor(bias)});
  };
  const auto sum = [&](ValueId a, ValueId b) { return call.add(Binary{BinaryFunction::Add}, {a, b}); };
  const ValueId looked_at = first ? normed(x, "norm_weight_1", "norm_bias_1") : x;
  ValueId y = sum(self_attention(call, looked_at, projected(call, "num_heads")).answer, x);
  if (!first) y = normed(y, "norm_weight_1", "norm_bias_1");
  ValueId z = first ? normed(y, "norm_weight_2", "norm_bias_2") : y;
  z = call.add(Linear{LinearOrder::OutIn}, {z, call.tensor("ffn_weight_1"), call.tensor("ffn_bias_1")});
  z = gelu ? call.add(Unary{Function::Gelu}, {z}) : call.add(Relu{}, {z});
  z = call.add(Linear{LinearOrder::OutIn}, {z, call.tensor("ffn_weight_2"), call.tensor("ffn_bias_2")});
  z = sum(z, y);
  return {first ? z : normed(z, "norm_weight_2", "norm_bias_2")};
}

constexpr std::array rows_of_attention{
    CatalogueRow{"aten._transformer_encoder_layer_fwd",
                 "src:T embed_dim:i num_heads:i qkv_weight:T qkv_bias:T proj_weight:T proj_bias:T use_gelu:b "
                 "norm_first:b eps:f norm_weight_1:T norm_bias_1:T norm_weight_2:T norm_bias_2:T ffn_weight_1:T "
                 "ffn_bias_1:T ffn_weight_2:T ffn_bias_2:T mask:T?=None mask_type:i?=None",
                 encoder_layer},
    CatalogueRow{"aten._native_multi_head_attention",
                 "query:T key:T value:T embed_dim:i num_head:i qkv_weight:T qkv_bias:T proj_weight:T proj_bias:T "
                 "mask:T?=None need_weights:b=True average_attn_weights:b=True mask_type:i?=None -> TT",
                 native_attention},
    CatalogueRow{"torch.scaled_dot_product_attention",
                 "query:T key:T value:T attn_mask:T?=None dropout_p:f=0.0 is_causal:b=False * scale:f?=None "
                 "enable_gqa:b=False",
                 attention},
};

}  // namespace

std::span<const CatalogueRow> attention_operators() { return rows_of_attention; }

}  // namespace convoy::torch
