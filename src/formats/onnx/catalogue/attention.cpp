// Attention and what stands around it: Attention, RotaryEmbedding, SwiGLU. They become the products, sums and softmaxes that
// they are defined by.
#include "formats/onnx/composed.h"
#include "formats/onnx/types.h"
#include "ops/expect.h"

#include <array>
#include <cmath>
#include <limits>

namespace convoy::onnx {
namespace {

using enum BinaryFunction;
constexpr Size most_cells = Size{1} << 22;  // of a mask that is known beforehand

// [N, L, heads * size] -> [N, heads, L, size]; of rank 4 as it is.
ValueId with_heads(FunctionCall& call, ValueId x, Size heads, std::string_view word) {
  if (call.failed() || call.rank(x) == 4) return x;
  const Dim all = call.dim(x, 2);
  if (call.rank(x) != 3 || heads < 1 || !all.known() || *all % heads != 0) {
    call.refuse(Fault::Format, "input '" + std::string(word) + "' has shape " + text_of(call.shape(x)) + " for " +
                                   std::to_string(heads) + " heads");
    return x;
  }
  return call.add(Transpose{{0, 2, 1, 3}}, {call.add(Reshape{{0, 0, heads, *all / heads}}, {x})});
}

// Each head of keys and values for as many heads of queries as there are, side by side.
ValueId for_queries(FunctionCall& call, ValueId x, Dim queries) {
  const Dim heads = call.dim(x, 1);
  if (call.failed() || heads == queries) return x;
  if (!heads.known() || !queries.known() || *heads < 1 || *queries % *heads != 0) {
    call.refuse(Fault::Unsupported,
                "heads of keys " + text_of(call.shape(x)) + " for " + text_of(Shape{queries}) + " heads of queries");
    return x;
  }
  Take take{1, {}};
  for (Size i = 0; i < *queries; ++i) take.indices.push_back(i / (*queries / *heads));
  return call.add(take, {x});
}

// Who may look where, in two parts: truths, and numbers that are added.
struct Mask {
  ValueId allowed, added;
  bool full_rows = true;  // known beforehand: each query looks at one key at least
};

struct Look {
  bool causal = false;
  Size left = -1, right = -1;  // how far, where not negative
  bool any() const { return causal || left >= 0 || right >= 0; }
  bool at(Size distance) const {  // of the key behind the query
    return (!causal || distance <= 0) && (left < 0 || -distance <= left) && (right < 0 || distance <= right);
  }
};

void also(FunctionCall& call, Mask& mask, ValueId truths) {
  mask.allowed = mask.allowed ? both(call, And, mask.allowed, truths) : truths;
}

// A mask that is shorter than there are keys lets nobody look at the last ones.
ValueId as_long_as(FunctionCall& call, ValueId mask, Dim keys) {
  const Size last = call.rank(mask) - 1;
  const Dim own = call.dim(mask, last);
  if (call.failed() || own == keys || last < 0) return mask;
  if (!own.known() || !keys.known() || *own > *keys) {
    if (own.known() && keys.known())
      call.refuse(Fault::Format, "input 'attn_mask' has shape " + text_of(call.shape(mask)));
    return mask;
  }
  const bool truths = call.type(mask).dtype == DType::Bool;
  Pad pad{Sizes(static_cast<std::size_t>(last) + 1, 0), Sizes(static_cast<std::size_t>(last) + 1, 0)};
  pad.after.back() = *keys - *own;
  if (!truths) pad.value = -std::numeric_limits<double>::infinity();
  if (!truths) return call.add(pad, {mask});
  return as_type(call, call.add(pad, {as_type(call, mask, DType::F32)}), DType::Bool);
}

// Distances i + `behind` - j of queries and keys, as truths or, with lengths that come when the model runs, as numbers.
void look(FunctionCall& call, Mask& mask, const Look& rule, Dim queries, Dim keys, Dim past, ValueId lengths) {
  if (call.failed() || !rule.any()) return;
  if (!queries.known() || !keys.known() || !past.known() || *queries > most_cells || *keys > most_cells ||
      *queries * *keys > most_cells)
    return call.refuse(Fault::Unsupported, "a causal mask needs known lengths, but they are " +
                                               text_of(Shape{queries, keys}) + "; give them with --shape");
  std::vector<double> cells;
  for (Size i = 0; i < *queries; ++i) {
    bool any = false;
    for (Size j = 0; j < *keys; ++j) {
      const Size distance = j - i - *past;
      cells.push_back(lengths ? static_cast<double>(distance + *queries) : rule.at(distance));
      any = any || rule.at(distance);
    }
    mask.full_rows = mask.full_rows && any && !lengths;
  }
  const Sizes shape{*queries, *keys};
  if (!lengths) return also(call, mask, table(call, "may_look", shape, std::move(cells), DType::Bool));
  // The last query is at the last key that is meant: distance = j - i + queries - length.
  const ValueId places = table(call, "distance", shape, std::move(cells), DType::I64);
  const ValueId length = call.add(Reshape{{-1, 1, 1, 1}}, {as_type(call, lengths, DType::I64)});
  const ValueId distance = both(call, Subtract, places, length);
  const auto bound = [&](std::string_view word, BinaryFunction function, Size value) {
    also(call, mask, both(call, function, distance, number(call, word, static_cast<double>(value), DType::I64)));
  };
  if (rule.causal) bound("now", LessOrEqual, 0);
  if (rule.left >= 0) bound("left", GreaterOrEqual, -rule.left);
  if (rule.right >= 0) bound("right", LessOrEqual, rule.right);
}

Mask mask_of(FunctionCall& call, Dim queries, Dim keys, Dim past) {
  Mask mask;
  const ValueId given = call.optional("attn_mask"), lengths = call.optional("nonpad_kv_seqlen");
  Look rule{call.attrs.truth("is_causal", false), -1, -1};
  if (takes(call, "left_window_size")) rule.left = call.attrs.integer("left_window_size", -1);
  if (takes(call, "right_window_size")) rule.right = call.attrs.integer("right_window_size", -1);
  if (given) {
    const ValueId whole = as_long_as(call, given, keys);
    if (call.type(given).dtype == DType::Bool) mask.allowed = whole;
    else mask.added = whole;
    mask.full_rows = false;
  }
  look(call, mask, rule, queries, keys, past, lengths);
  if (!lengths || call.failed()) return mask;
  if (!keys.known() || *keys > most_cells) {
    call.refuse(Fault::Unsupported, "input 'nonpad_kv_seqlen' needs a known number of keys");
    return mask;
  }
  std::vector<double> places;
  for (Size j = 0; j < *keys; ++j) places.push_back(static_cast<double>(j));
  const ValueId length = call.add(Reshape{{-1, 1, 1, 1}}, {as_type(call, lengths, DType::I64)});
  also(call, mask, both(call, Less, table(call, "place", {*keys}, std::move(places), DType::I64), length));
  mask.full_rows = false;
  return mask;
}

ValueId below_all(FunctionCall& call, DType dtype) {
  return number(call, "never", -std::numeric_limits<double>::infinity(), dtype);
}

ValueId masked(FunctionCall& call, const Mask& mask, ValueId scores) {
  if (mask.added) scores = both(call, Add, scores, mask.added);
  if (!mask.allowed) return scores;
  return call.add(Where{}, {mask.allowed, scores, below_all(call, call.type(scores).dtype)});
}

// A query that may look nowhere finds nothing: zeros.
ValueId without_blind(FunctionCall& call, const Mask& mask, ValueId shares) {
  if (mask.full_rows || call.failed()) return shares;
  const DType dtype = call.type(shares).dtype;
  ValueId bias = mask.added ? mask.added : number(call, "no_bias", 0, dtype);
  if (mask.allowed) bias = call.add(Where{}, {mask.allowed, bias, below_all(call, call.type(bias).dtype)});
  const ValueId best = call.add(Reduce{Reduction::Maximum, {call.rank(bias) - 1}, true}, {bias});
  const ValueId blind = both(call, Equal, best, below_all(call, call.type(bias).dtype));
  return call.add(Where{}, {blind, number(call, "nothing", 0, dtype), shares});
}

ValueId behind_past(FunctionCall& call, std::string_view past, ValueId x) {
  const ValueId before = call.optional(past);
  return before ? call.add(Concat{2}, {before, x}) : x;
}

std::vector<ValueId> attention(FunctionCall& call) {
  const ValueId given = call.tensor("Q");
  const Size heads = call.attrs.integer("q_num_heads", 0), key_heads = call.attrs.integer("kv_num_heads", 0);
  const ValueId q = with_heads(call, given, heads, "Q");
  const ValueId new_keys = with_heads(call, call.tensor("K"), key_heads, "K");
  const ValueId new_values = with_heads(call, call.tensor("V"), key_heads, "V");
  const ValueId past = call.optional("past_key");
  const ValueId keys = behind_past(call, "past_key", new_keys), values = behind_past(call, "past_value", new_values);
  const Size mode = call.attrs.integer("qk_matmul_output_mode", 0);
  const double cap = call.attrs.number("softcap", 0);
  const Size precision = call.attrs.integer("softmax_precision", 0);
  const Dim size = call.dim(q, 3);
  if (!call.attrs.has("scale") && !size.known()) call.refuse(Fault::Unsupported, "the size of a head is not known");
  if (call.failed()) return {};
  const double scale = call.attrs.number("scale", size.known() ? 1 / std::sqrt(static_cast<double>(*size)) : 1);
  const Mask mask = mask_of(call, call.dim(q, 2), call.dim(keys, 2), past ? call.dim(past, 2) : Dim(0));
  const DType dtype = call.type(q).dtype;
  const ValueId turned = call.add(Transpose{{0, 1, 3, 2}}, {for_queries(call, keys, call.dim(q, 1))});
  const ValueId scaled = scale == 1 ? q : call.add(Affine{scale, 0}, {q});
  const ValueId raw = call.add(MatMul{}, {scaled, turned});
  ValueId capped = raw;
  if (cap > 0) capped = call.add(Affine{cap, 0}, {each(call, Function::Tanh, call.add(Affine{1 / cap, 0}, {raw}))});
  const ValueId scores = masked(call, mask, capped);
  const auto wide = dtype_of(precision);
  if (precision != 0 && (!wide || !is_floating(*wide)))
    call.refuse(Fault::Unsupported, "attribute 'softmax_precision' is " + std::to_string(precision));
  if (call.failed()) return {};
  const ValueId soft = call.add(Softmax{{3}, false}, {precision == 0 ? scores : as_type(call, scores, *wide)});
  const ValueId shares = as_type(call, without_blind(call, mask, soft), dtype);
  ValueId y = call.add(MatMul{}, {shares, for_queries(call, values, call.dim(q, 1))});
  if (call.rank(given) == 3) {
    const Dim out = call.dim(y, 3);
    y = call.add(Transpose{{0, 2, 1, 3}}, {y});
    y = call.add(Reshape{{0, 0, out.known() ? *out * heads : -1}}, {y});
  }
  if (call.results == 1) return {y};
  const ValueId seen = mode == 0 ? raw : mode == 1 ? capped : mode == 2 ? scores : shares;
  const auto kept = [&](ValueId x) { return call.add(Identity{}, {x}); };
  return {y, kept(keys), kept(values), kept(seen)};
}

// [N, L, heads, size], or [N, heads, L, size] where it comes so: pairs of numbers turned by an angle of their place.
std::vector<ValueId> rotary_embedding(FunctionCall& call) {
  const ValueId given = call.tensor("X"), places = call.optional("position_ids");
  ValueId cosine = call.tensor("cos_cache"), sine = call.tensor("sin_cache");
  const Size heads = call.attrs.integer("num_heads", 0);
  const bool interleaved = call.attrs.truth("interleaved", false);
  const bool flat = call.rank(given) == 3;
  const Dim all = call.dim(given, 2);
  if (flat && (heads < 1 || !all.known() || *all % heads != 0))
    call.refuse(Fault::Format,
                "input 'X' has shape " + text_of(call.shape(given)) + " for " + std::to_string(heads) + " heads");
  if (!flat && call.rank(given) != 4)
    call.refuse(Fault::Format, "input 'X' has shape " + text_of(call.shape(given)) + ", expected rank 3 or 4");
  if (call.failed()) return {};
  const ValueId x = flat ? call.add(Reshape{{0, 0, heads, *all / heads}}, {given}) : given;
  const Dim size = call.dim(x, 3);
  const Size turned = call.attrs.integer("rotary_embedding_dim", 0);
  if (!size.known()) call.refuse(Fault::Unsupported, "the size of a head is not known");
  if (call.failed()) return {};
  const Size width = turned == 0 ? *size : turned;
  if (width < 0 || width > *size || width % 2 != 0)
    call.refuse(Fault::Format, "attribute 'rotary_embedding_dim' is " + std::to_string(turned));
  for (ValueId* cache : {&cosine, &sine}) {
    if (places) *cache = call.add(Gather{0}, {*cache, places});
    *cache = call.add(Unsqueeze{{flat ? Size{2} : Size{1}}}, {*cache});
  }
  const ValueId front = width == *size ? x : call.add(Slice{3, 0, width}, {x});
  const ValueId a = call.add(interleaved ? Slice{3, 0, {}, 2} : Slice{3, 0, width / 2}, {front});
  const ValueId b = call.add(interleaved ? Slice{3, 1, {}, 2} : Slice{3, width / 2, width}, {front});
  const ValueId real = both(call, Subtract, both(call, Multiply, cosine, a), both(call, Multiply, sine, b));
  const ValueId other = both(call, Add, both(call, Multiply, sine, a), both(call, Multiply, cosine, b));
  ValueId y;
  if (interleaved) {
    const auto last = [&](ValueId v) { return call.add(Unsqueeze{{4}}, {v}); };
    y = call.add(Reshape{{0, 0, 0, width}}, {call.add(Concat{4}, {last(real), last(other)})});
  } else {
    y = call.add(Concat{3}, {real, other});
  }
  if (width != *size) y = call.add(Concat{3}, {y, call.add(Slice{3, width, {}}, {x})});
  return {flat ? call.add(Reshape{{0, 0, *all}}, {y}) : y};
}

// a * sigmoid(alpha * a) * b
std::vector<ValueId> swiglu(FunctionCall& call) {
  const ValueId a = call.tensor("A"), b = call.tensor("B");
  const double alpha = call.attrs.number("alpha", 1);
  if (alpha == 1) return {both(call, Multiply, each(call, Function::Silu, a), b)};
  const ValueId gate = each(call, Function::Sigmoid, call.add(Affine{alpha, 0}, {a}));
  return {both(call, Multiply, both(call, Multiply, a, gate), b)};
}

// clang-format off
constexpr std::array attention_table{
    Operator{"Attention", {23}, "Q K V attn_mask? past_key? past_value? nonpad_kv_seqlen?@24", "is_causal:i kv_num_heads:i left_window_size:i@25 q_num_heads:i qk_matmul_output_mode:i right_window_size:i@25 scale:f softcap:f softmax_precision:i", attention, {}, {1, 4}},
    Operator{"RotaryEmbedding", {23}, "X cos_cache sin_cache position_ids?", "interleaved:i num_heads:i rotary_embedding_dim:i", rotary_embedding},
    Operator{"SwiGLU", {28}, "A B", "alpha:f", swiglu}};
// clang-format on

}  // namespace

std::span<const Operator> attention_operators() { return attention_table; }

}  // namespace convoy::onnx
