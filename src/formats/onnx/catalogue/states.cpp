// States that are carried along a sequence: LinearAttention and CausalConvWithState. The steps stand one behind the other, so
// how many there are must be known.
// Source: onnx/defs/nn/defs.cc and onnx/reference/ops, opset 27.
#include "formats/onnx/composed.h"
#include "ops/expect.h"

#include <array>
#include <cmath>

namespace convoy::onnx {
namespace {

using enum BinaryFunction;
constexpr Size most_steps = 4096;

// [N, T, heads * size] -> [N, heads, T, size], in float32, in which the state is added up.
ValueId by_heads(FunctionCall& call, ValueId x, Size heads, std::string_view word) {
  if (!x || call.failed()) return x;
  const Dim all = call.dim(x, 2);
  if (call.rank(x) != 3 || heads < 1 || !all.known() || *all % heads != 0) {
    call.refuse(Fault::Format, "input '" + std::string(word) + "' has shape " + text_of(call.shape(x)) + " for " +
                                   std::to_string(heads) + " heads");
    return x;
  }
  const ValueId single = as_type(call, x, DType::F32);
  return call.add(Transpose{{0, 2, 1, 3}}, {call.add(Reshape{{0, 0, heads, *all / heads}}, {single})});
}

struct Heads {
  ValueId query, key, value, decay, beta;  // [N, heads, T, size]
  Size queries = 1, keys = 1;
  double scale = 1;
};

ValueId step_of(FunctionCall& call, ValueId x, Size step) { return call.add(Slice{2, step, step + 1}, {x}); }
ValueId turned(FunctionCall& call, ValueId x) { return call.add(Transpose{{0, 1, 3, 2}}, {x}); }

// The state after one step; `state` refers to nothing where it is all zeros.
ValueId next_state(FunctionCall& call, const Heads& heads, ValueId state, Size step) {
  const ValueId key = step_of(call, heads.key, step);
  ValueId value = step_of(call, heads.value, step);
  if (state && heads.decay) {
    const ValueId factor = each(call, Function::Exp, turned(call, step_of(call, heads.decay, step)));
    state = both(call, Multiply, state, factor);
  }
  if (heads.beta) {
    if (state) value = both(call, Subtract, value, call.add(MatMul{}, {key, state}));
    value = both(call, Multiply, value, step_of(call, heads.beta, step));
  }
  const ValueId written = both(call, Multiply, turned(call, key), value);
  return state ? both(call, Add, state, written) : written;
}

// [N, queries, 1, size]: what the queries of one step read.
ValueId read_state(FunctionCall& call, const Heads& heads, ValueId state, Size step) {
  if (heads.queries != heads.keys) {
    Take take{1, {}};
    for (Size i = 0; i < heads.queries; ++i) take.indices.push_back(i / (heads.queries / heads.keys));
    state = call.add(take, {state});
  }
  return call.add(Affine{heads.scale, 0}, {call.add(MatMul{}, {step_of(call, heads.query, step), state})});
}

Heads heads_of(FunctionCall& call) {
  Heads heads;
  heads.queries = call.attrs.integer("q_num_heads", 0), heads.keys = call.attrs.integer("kv_num_heads", 0);
  const std::string rule = call.attrs.word("update_rule", "gated_delta");
  const bool gated = rule == "gated" || rule == "gated_delta", corrected = rule == "delta" || rule == "gated_delta";
  if (!gated && !corrected && rule != "linear") call.refuse(Fault::Format, "attribute 'update_rule' is '" + rule + "'");
  if (heads.queries < 1 || heads.keys < 1 || heads.queries % heads.keys != 0)
    call.refuse(Fault::Format, "has " + std::to_string(heads.queries) + " heads of queries for " +
                                   std::to_string(heads.keys) + " of keys");
  const ValueId decay = call.optional("decay"), beta = call.optional("beta");
  if (bool(decay) != gated || bool(beta) != corrected)
    call.refuse(Fault::Format, "attribute 'update_rule' is '" + rule + "', with " + (decay ? "" : "no ") +
                                   "input 'decay' and " + (beta ? "" : "no ") + "input 'beta'");
  if (call.failed()) return heads;
  heads.query = by_heads(call, call.tensor("query"), heads.queries, "query");
  heads.key = by_heads(call, call.tensor("key"), heads.keys, "key");
  heads.value = by_heads(call, call.tensor("value"), heads.keys, "value");
  heads.decay = by_heads(call, decay, heads.keys, "decay");
  const bool shared = beta && call.rank(beta) == 3 && call.dim(beta, 2) == Dim(1);
  heads.beta = by_heads(call, beta, shared ? 1 : heads.keys, "beta");
  const double scale = call.attrs.number("scale", 0);
  if (call.failed()) return heads;
  heads.scale = scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(*call.dim(heads.query, 3)));
  return heads;
}

std::vector<ValueId> linear_attention(FunctionCall& call) {
  call.attrs.integer("chunk_size", 64);  // how it may be computed
  const Heads heads = heads_of(call);
  const ValueId past = call.optional("past_state");
  if (call.failed()) return {};
  const Dim steps = call.dim(heads.query, 2);
  if (!steps.known() || *steps < 1 || *steps > most_steps) {
    call.refuse(Fault::Unsupported, "goes along a sequence of shape " + text_of(call.shape(call.tensor("query"))) +
                                        ", whose length must be known and at most " + std::to_string(most_steps));
    return {};
  }
  const DType dtype = call.type(call.tensor("query")).dtype, state_type = past ? call.type(past).dtype : dtype;
  ValueId state = past ? as_type(call, past, DType::F32) : past;
  std::vector<ValueId> read;
  for (Size step = 0; step < *steps; ++step) {
    state = next_state(call, heads, state, step);
    read.push_back(read_state(call, heads, state, step));
  }
  if (call.failed()) return {};
  const ValueId all = read.size() == 1 ? read.front() : call.add(Concat{2}, read);
  const Size size = call.dim(all, 3).size().value_or(1);
  const ValueId packed = call.add(Reshape{{0, 0, heads.queries * size}}, {call.add(Transpose{{0, 2, 1, 3}}, {all})});
  return {as_type(call, packed, dtype), as_type(call, state, state_type)};
}

// Each channel by itself, behind what came before.
std::vector<ValueId> causal_conv(FunctionCall& call) {
  const ValueId x = call.tensor("input"), weight = call.tensor("weight"), past = call.optional("past_state");
  const std::string activation = call.attrs.word("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish")
    call.refuse(Fault::Format, "attribute 'activation' is '" + activation + "'");
  if (call.failed()) return {};
  const Dim channels = call.dim(weight, 0), width = call.dim(weight, 2);
  if (call.rank(x) != 3 || call.rank(weight) != 3 || !channels.known() || !width.known() || *width < 1)
    call.refuse(Fault::Unsupported, "has inputs of shapes " + text_of(call.shape(x)) + " and " +
                                        text_of(call.shape(weight)) + ", expected [N, C, L] and [C, 1, K]");
  if (call.failed()) return {};
  const Size before = *width - 1;
  ValueId whole = x;
  if (past) whole = call.add(Concat{2}, {past, x});
  else if (before > 0) whole = call.add(Pad{{0, 0, before}, {0, 0, 0}}, {x});
  const Conv conv{channels_first(1), KernelOrder::OutInSpace, {{*width, 1, 1}}, {{Spelling::Valid}}, *channels};
  ValueId y = call.add(conv, {whole, weight, call.optional("bias")});
  if (activation != "none") y = each(call, Function::Silu, y);
  if (call.results < 2) return {y};
  const Dim length = call.dim(whole, 2);
  if (before == 0 && !length.known())
    call.refuse(Fault::Unsupported, "gives a state without steps, of a sequence whose length is not known");
  if (call.failed()) return {};
  const Size from = before > 0 ? -before : *length;
  return {y, call.add(Slice{2, from, std::nullopt}, {whole})};
}

// clang-format off
constexpr std::array state_table{
    Operator{"CausalConvWithState", {27}, "input weight bias? past_state?", "activation:s", causal_conv, {}, {2, 2}},
    Operator{"LinearAttention", {27}, "query key value past_state? decay? beta?", "chunk_size:i kv_num_heads:i q_num_heads:i scale:f update_rule:s", linear_attention, {}, {2, 2}}};
// clang-format on

}  // namespace

std::span<const Operator> state_operators() { return state_table; }

}  // namespace convoy::onnx
