// Attention in files: MultiHeadAttention, GroupQueryAttention, Attention and AdditiveAttention, with masks of steps, masks of
// pairs, causal ones and windows. Code has these layers in words of its own (source/composed.cpp). Sources: keras/src/layers/
// attention and activations/softmax.py, backend/tensorflow/nn.py of Keras 3.15; tf_keras/src/layers/attention of 2.21.
#include "formats/keras/catalogue/catalogue.h"
#include "formats/keras/operation.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <tuple>

namespace convoy::keras {
namespace {

// What is put in place of scores in float32 where nobody may look.
constexpr float lowest = -0.7F * 3.38953e38F;

// The arguments of a call of MultiHeadAttention or GroupQueryAttention.
struct Asked {
  ValueId query, value, key;
  bool own_key = false, causal = false, scores = false;
  Size window = 0;  // 0: none
};

struct Heads {
  Size query = 1, pairs = 1, key_dim = 1, value_dim = 1;
  bool bias = true, gate = false, dropout = false;
};

bool flag(Call& call, std::string_view name, std::size_t place) {
  call.understands(name, place);
  const Json* argument = option(call, name, place);
  return argument && argument->is_boolean() && argument->get<bool>();
}

// Places of the arguments behind the key, which Keras 3 has more of.
std::size_t behind_key(const Call& call, std::size_t place) { return place + (call.version.major < 3 ? 0 : 3); }

Asked asked(Use& use) {
  Call& call = use.call;
  for (const auto& [name, place] : {std::pair{"query", 0}, std::pair{"value", 1}, std::pair{"key", 2}})
    call.understands(name, static_cast<std::size_t>(place));
  Asked all{.query = operand(call, "query", 0), .value = operand(call, "value", 1)};
  all.own_key = option(call, "key", 2) != nullptr;
  all.key = all.own_key ? operand(call, "key", 2) : all.value;
  all.scores = flag(call, "return_attention_scores", behind_key(call, 4));
  all.causal = flag(call, "use_causal_mask", behind_key(call, 6));
  if (const Json* window = use.option("sliding_window"))
    all.window = call.attrs.integer_of(window, "sliding_window", 0);
  return all;
}

// "ab" and so on: letters of axes, from one of them on.
std::string letters(Size count, Size from = 0) {
  std::string all;
  for (Size i = 0; i < count; ++i) all += static_cast<char>('a' + from + i);
  return all;
}

// x [..., in...] times a kernel [in..., out...], whose arrays lie in a part of the layer.
ValueId projected(Call& call, ValueId x, Size bound, const Shape& out, const std::string& part, bool bias) {
  if (call.failed()) return {};
  const Size free = call.rank(x) - bound, made = static_cast<Size>(out.size());
  const std::string kept = letters(free), summed = letters(bound, free), given = letters(made, free + bound);
  Shape shape;
  for (Size i = 0; i < bound; ++i) shape.push_back(call.dim(x, free + i));
  shape.insert(shape.end(), out.begin(), out.end());
  call.enter(part + "_dense", "_" + part + "_dense");
  const ValueId kernel = call.weight(part + "_kernel", shape);
  const ValueId offset = bias ? call.weight(part + "_bias", out) : ValueId{};
  call.leave();
  const std::string equation = kept + summed + "," + summed + given + "->" + kept + given;
  const ValueId y = call.add(Einsum{equation}, {x, kernel}, bias ? part + "/einsum" : part);
  return bias ? call.add(Binary{BinaryFunction::Add}, {y, offset}, part) : y;
}

// 1, 2, ... along an axis of x, whose size is free: a column [n, 1] or a row [1, n].
ValueId counted(Call& call, ValueId x, Size axis, bool column) {
  const Size along = column ? 0 : 1;
  const std::string name = column ? "rows" : "columns";
  const ValueId one = call.literal("one", Tensor::of(Sizes{1, 1}, std::vector<std::int64_t>{1}));
  const ValueId ones = call.add(ExpandLike{along, axis}, {one, x}, name + "/ones");
  return call.add(Accumulate{Reduction::Sum, along, false, false}, {ones}, name);
}

ValueId both(Call& call, ValueId a, ValueId b, std::string_view step) {
  return a && b ? call.add(Binary{BinaryFunction::And}, {a, b}, step) : a ? a : b;
}

// The pairs that a causal mask and a window allow, where both lengths are known.
ValueId known_order(Call& call, const Asked& all, Size rows, Size columns) {
  constexpr Size most = Size{1} << 26;
  if (checked_multiply(rows, columns).value_or(most + 1) > most)
    call.refuse(Fault::Limit, "masks " + std::to_string(rows) + " by " + std::to_string(columns) + " pairs");
  if (call.failed()) return {};
  std::vector<std::byte> seen;
  for (Size i = 0; i < rows; ++i)
    for (Size k = 0; k < columns; ++k)
      seen.push_back(std::byte{(!all.causal || k <= i) && (all.window == 0 || std::abs(i - k) < all.window)});
  return call.literal("order", *Tensor::owning(DType::Bool, {rows, columns}, std::move(seen)));
}

// Which pairs [T, S] the order of the steps allows. Refers to nothing: all.
ValueId allowed_by_order(Call& call, const Asked& all) {
  if (call.failed() || (!all.causal && all.window == 0)) return {};
  const Dim rows = call.dim(all.query, 1), columns = call.dim(all.value, 1);
  if (rows.known() && columns.known()) return known_order(call, all, *rows, *columns);
  if (rows.known() || columns.known())
    call.refuse(Fault::Unsupported, "masks by order where only one of two lengths is free");
  const ValueId row = counted(call, all.query, 1, true), column = counted(call, all.value, 1, false);
  ValueId allowed;
  if (all.causal) allowed = call.add(Binary{BinaryFunction::GreaterOrEqual}, {row, column}, "causal");
  if (all.window == 0) return allowed;
  const ValueId window = whole_constant(call, "window", all.window, DType::I64);
  for (const auto& [a, b, name] : {std::tuple{row, column, "behind"}, std::tuple{column, row, "ahead"}}) {
    const ValueId apart = call.add(Binary{BinaryFunction::Subtract}, {a, b}, std::string(name) + "/distance");
    const ValueId near = call.add(Binary{BinaryFunction::Less}, {apart, window}, name);
    allowed = both(call, allowed, near, std::string(name) + "/in_window");
  }
  return allowed;
}

ValueId as_truths(Call& call, ValueId mask, std::string_view step) {
  if (call.failed() || call.type(mask).dtype == DType::Bool) return mask;
  const DType dtype = call.type(mask).dtype;
  const ValueId zero = is_floating(dtype)
                           ? call.literal("nothing", Tensor::of(Sizes{}, std::vector<float>{0}).converted(dtype))
                           : whole_constant(call, "nothing", 0, dtype);
  return call.add(Binary{BinaryFunction::NotEqual}, {mask, zero}, step);
}

// Which pairs [N, T, S] the steps' own masks and their order allow. Refers to nothing: all.
ValueId allowed_by_steps(Call& call, const Asked& all, Size axes) {
  struct Step {
    const char* word;
    ValueId of;
    Size axis;
  };
  ValueId allowed;
  std::size_t place = 3;
  for (const auto& [word, of, axis] : {Step{"query_mask", all.query, 2}, Step{"value_mask", all.value, 1},
                                       Step{"key_mask", all.own_key ? all.key : ValueId{}, 1}}) {
    std::optional<ValueId> steps;
    if (call.version.major >= 3) {
      call.understands(word, place);
      // What the call says of the queries Keras puts aside for the mask that they carry.
      const bool of_queries = place == 3;
      if (!of_queries && option(call, word, place)) steps = as_truths(call, operand(call, word, place), word);
      ++place;
    }
    if (!steps && of) steps = call.mask_of(of);
    if (steps)
      allowed = both(call, allowed, call.add(Unsqueeze{{axis}}, {*steps}, std::string(word) + "/of_pairs"), word);
  }
  const ValueId ordered = allowed_by_order(call, all);
  if ((allowed || ordered) && axes != 1)
    call.refuse(Fault::Unsupported, "masks steps or their order while it attends along other axes than the first");
  if (!ordered) return allowed;
  const ValueId of_pairs = call.add(Unsqueeze{{0}}, {ordered}, "order/of_pairs");
  return both(call, allowed, of_pairs, "allowed");
}

// A mask of pairs with axes for the heads and what lies before the attended ones.
ValueId over_heads(Call& call, ValueId mask, Size rank, Size axes) {
  const Size missing = rank - call.rank(mask);
  if (call.failed() || missing <= 0) return mask;
  Sizes added(static_cast<std::size_t>(missing));
  std::iota(added.begin(), added.end(), std::max<Size>(call.rank(mask) - 2 * axes, 0));
  return call.add(Unsqueeze{added}, {mask}, "over_heads");
}

// The softmax of scores of which some may not be seen, as each version words it.
ValueId masked_softmax(Call& call, ValueId scores, ValueId mask, const Sizes& axes, bool fused) {
  const auto softmax = [&](ValueId x) { return call.add(Softmax{axes, false}, {x}, "weights"); };
  if (!mask) return softmax(scores);
  if (call.version.major < 3) {
    const DType dtype = call.type(scores).dtype;
    const ValueId kept = call.type(mask).dtype == dtype ? mask : call.add(Cast{dtype}, {mask}, "kept");
    const ValueId added = call.add(Affine{1e9, -1e9}, {kept}, "far_below");  // (1 - mask) * -1e9
    return softmax(call.add(Binary{BinaryFunction::Add}, {scores, added}, "masked"));
  }
  const DType computes = call.type(scores).dtype;
  const float number = fused ? lowest : static_cast<float>(far_below(computes));
  const ValueId below = call.literal("below", Tensor::of(Sizes{}, std::vector<float>{number}).converted(computes));
  const ValueId weights = softmax(call.add(Where{}, {mask, scores, below}, "masked"));
  return fused ? weights : call.add(Where{}, {mask, weights, call.scalar("zero", 0)}, "seen");
}

// Letters of query, key, scores and the whole, as Keras builds its equations.
struct Letters {
  std::string query, key, scores;
};
Letters attention_letters(Size rank, const Sizes& axes) {
  Letters all{letters(rank), letters(rank), {}};
  Size next = rank;
  std::string batch, of_query, of_key;
  for (Size i = 0; i < rank; ++i) {
    const bool attended = std::ranges::find(axes, i) != axes.end();
    if (attended) all.key[static_cast<std::size_t>(i)] = static_cast<char>('a' + next++);
    else if (i != rank - 1) batch += all.query[static_cast<std::size_t>(i)];
  }
  for (const Size axis : axes) {
    of_query += all.query[static_cast<std::size_t>(axis)];
    of_key += all.key[static_cast<std::size_t>(axis)];
  }
  all.scores = batch + of_query + of_key;
  return all;
}

// Numbers of heads and axes that no equation has letters for, or that no layer of Keras has.
bool is_sound(Call& call, const Asked& all, const Heads& heads) {
  if (call.failed()) return false;
  const Size rank = call.rank(all.query);
  constexpr Size most = Size{1} << 16;
  for (const Size n : {heads.query, heads.pairs, heads.key_dim, heads.value_dim})
    if (n < 1 || n > most) call.refuse(Fault::Format, "counts " + std::to_string(n) + " heads or cells of a head");
  if (rank < 3 || rank > 8 || call.rank(all.value) != rank || call.rank(all.key) != rank)
    call.refuse(Fault::Format,
                "input has rank " + std::to_string(rank) + ", and query, key and value must have one, 3 to 8");
  if (!call.failed() && heads.query % heads.pairs != 0)
    call.refuse(Fault::Format, std::to_string(heads.query) + " heads share " + std::to_string(heads.pairs));
  return !call.failed();
}

Values attended(Use& use, const Asked& all, const Heads& heads, Sizes axes, Shape out) {
  Call& call = use.call;
  if (!is_sound(call, all, heads)) return {};
  const Size rank = call.rank(all.query) + 1, count = static_cast<Size>(axes.size());
  ValueId q = projected(call, all.query, 1, {heads.query, heads.key_dim}, "query", heads.bias);
  ValueId k = projected(call, all.key, 1, {heads.pairs, heads.key_dim}, "key", heads.bias);
  const ValueId gate =
      heads.gate ? projected(call, all.query, 1, {heads.query, heads.value_dim}, "gate", heads.bias) : ValueId{};
  ValueId v = projected(call, all.value, 1, {heads.pairs, heads.value_dim}, "value", heads.bias);
  if (heads.pairs != heads.query) {
    Take again{rank - 2, {}};
    for (Size i = 0; i < heads.query; ++i) again.indices.push_back(i / (heads.query / heads.pairs));
    k = call.add(again, {k}, "keys_again");
    v = call.add(again, {v}, "values_again");
  }
  const bool fused = call.version.major >= 3 && !heads.dropout && !all.scores && rank == 4;
  ValueId mask = allowed_by_steps(call, all, axes == Sizes{1} ? 1 : 0);
  const std::size_t place = behind_key(call, 3);
  call.understands("attention_mask", place);
  if (option(call, "attention_mask", place)) {
    const ValueId given = operand(call, "attention_mask", place);
    const bool as_numbers = !call.failed() && call.version.major < 3 && !mask;
    const bool half = !call.failed() && !fused && !mask && is_floating(call.type(given).dtype) && !as_numbers;
    const ValueId truths =
        as_numbers ? given
        : half
            ? call.add(
                  Binary{BinaryFunction::Greater},
                  {given, call.literal(
                              "half", Tensor::of(Sizes{}, std::vector<float>{0.5F}).converted(call.type(given).dtype))},
                  "attention_mask")
            : as_truths(call, given, "attention_mask");
    mask = both(call, truths, mask, "attention_mask/allowed");
  }
  const Letters words = attention_letters(rank, axes);
  const double scale = 1 / std::sqrt(static_cast<double>(heads.key_dim));
  const bool in_halves = is_half(call.computes());
  if (!fused && in_halves)  // the scale is rounded as well
    q = call.add(Binary{BinaryFunction::Multiply}, {q, call.scalar("scale", static_cast<float>(scale))}, "scaled");
  else if (!fused) q = call.add(Affine{scale, 0}, {q}, "scaled");
  ValueId scores = call.add(Einsum{words.key + "," + words.query + "->" + words.scores}, {k, q}, "scores");
  if (fused && in_halves) scores = call.add(Cast{DType::F32}, {scores}, "scores/float32");
  if (fused) scores = call.add(Affine{scale, 0}, {scores}, "scaled");
  if (call.failed()) return {};
  const Size score_rank = call.rank(scores);
  if (mask) mask = over_heads(call, mask, score_rank, count);
  Sizes last(axes.size());
  std::iota(last.begin(), last.end(), score_rank - count);
  ValueId weights = masked_softmax(call, scores, mask, last, fused);
  if (fused && in_halves) weights = call.add(Cast{call.computes()}, {weights}, "weights/rounded");
  ValueId y = call.add(Einsum{words.scores + "," + words.key + "->" + words.query}, {weights, v}, "attended");
  if (gate)
    y = call.add(Binary{BinaryFunction::Multiply}, {y, call.add(Unary{Function::Sigmoid}, {gate}, "gate/sigmoid")},
                 "gated");
  if (out.empty()) out = {call.dim(all.query, rank - 2)};
  y = projected(call, y, 2, out, "output", heads.bias);
  return all.scores ? Values{y, weights} : Values{y};
}

// The layer's own axes, from the front.
Sizes attention_axes(Use& use, Size rank) {
  const Json* said = use.option("attention_axes");
  Sizes axes;
  if (said) axes = use.list("attention_axes");
  else
    for (Size i = 1; i + 1 < rank; ++i) axes.push_back(i);
  for (Size& axis : axes) {
    axis = axis < 0 ? axis + rank : axis;
    if (axis < 1 || axis + 1 >= rank) use.call.refuse(Fault::Format, "attends along axis " + std::to_string(axis));
  }
  if (axes.empty()) use.call.refuse(Fault::Format, "attends along no axis");
  return axes;
}

Values multi_head(Use& use) {
  Call& call = use.call;
  call.attrs.ignore({"seed", "query_shape", "key_shape", "value_shape"});
  if (call.attrs.truth("softmax_robust_masking", false))
    call.refuse(Fault::Unsupported, "masks robustly, which this version does not carry");
  const Asked all = asked(use);
  Heads heads{.query = use.whole("num_heads"), .key_dim = use.whole("key_dim")};
  heads.pairs = heads.query;
  heads.value_dim = use.option("value_dim") ? use.whole("value_dim") : heads.key_dim;
  heads.bias = use.truth("use_bias");
  heads.gate = use.truth("use_gate");
  heads.dropout = use.number("dropout") > 0;
  if (call.failed()) return {};
  Shape out;
  if (use.option("output_shape"))
    for (const Size n : use.list("output_shape")) out.emplace_back(n);
  return attended(use, all, heads, attention_axes(use, call.rank(all.query)), std::move(out));
}

Values group_query(Use& use) {
  Call& call = use.call;
  call.attrs.ignore({"seed"});
  const Asked all = asked(use);
  Heads heads{.query = use.whole("num_query_heads"),
              .pairs = use.whole("num_key_value_heads"),
              .key_dim = use.whole("head_dim")};
  heads.value_dim = heads.key_dim;
  heads.bias = use.truth("use_bias");
  heads.gate = use.truth("use_gate");
  heads.dropout = use.number("dropout") > 0;
  if (!call.failed() && call.rank(all.query) != 3) call.refuse(Fault::Format, "input has other than three axes");
  return attended(use, all, heads, {1}, {});
}

// What is attended to, beside the masks that the call may name.
Values attention_inputs(Call& call) {
  if (!call.call || call.call->args.empty()) return call.inputs;
  if (call.call->args[0].is_array()) return operands(call, "inputs", 0);
  Values all;
  for (const Json& one : call.call->args)
    if (one.is_object() && one.contains("$tensor")) all.push_back(call.inputs.at(one["$tensor"].get<std::size_t>()));
  return all;
}

struct StepMasks {
  ValueId query, value;  // refers to nothing: none
};

// Which steps count: as the call says, else as the inputs carry it.
StepMasks step_masks(Call& call, const Asked& all) {
  call.understands("mask", 1);
  const Json* said = option(call, "mask", 1);
  if (said && (!said->is_array() || said->size() < 2)) said = nullptr;
  const auto named = [&](std::size_t i) -> ValueId {
    if ((*said)[i].is_null()) return {};
    const auto place = (*said)[i].is_object() ? (*said)[i].value("$tensor", call.inputs.size()) : call.inputs.size();
    if (place < call.inputs.size()) return as_truths(call, call.inputs[place], i == 0 ? "query_mask" : "value_mask");
    call.refuse(Fault::Format, "has a mask that is no tensor");
    return {};
  };
  if (said) return {named(0), named(1)};
  return {call.mask_of(all.query).value_or(ValueId{}), call.mask_of(all.value).value_or(ValueId{})};
}

// [query, value] or [query, value, key]: softmax(scores) of the values; `scores_of` gives [N, T, S].
template <class Scores>
Values dense_attention(Use& use, Scores scores_of) {
  Call& call = use.call;
  call.attrs.ignore({"dropout", "seed"});
  const Values inputs = attention_inputs(call);
  if (inputs.size() < 2 || inputs.size() > 3)
    call.refuse(Fault::Format, "has " + std::to_string(inputs.size()) + " inputs, expected 2 or 3");
  if (call.failed()) return {};
  Asked all{.query = inputs[0], .value = inputs[1], .key = inputs.back()};
  all.scores = flag(call, "return_attention_scores", call.version.major < 3 ? 3 : 3);
  all.causal = flag(call, "use_causal_mask", 4) || call.attrs.truth("causal", false);
  for (const ValueId x : {all.query, all.value, all.key})
    if (!call.expect_rank(x, 3)) return {};
  ValueId scores = scores_of(all);
  const StepMasks masks = step_masks(call, all);
  ValueId seen = allowed_by_order(call, all);
  if (masks.value) seen = both(call, call.add(Unsqueeze{{1}}, {masks.value}, "value_mask/of_pairs"), seen, "seen");
  if (seen) {
    const double below = call.computes() == DType::F16 ? -65504 : -1e9;
    const ValueId lower = call.add(Affine{1, below}, {scores}, "far_below");
    scores = call.add(Where{}, {seen, scores, lower}, "masked");
  }
  const ValueId weights = call.add(Softmax{{2}, false}, {scores}, "weights");
  ValueId y = call.add(MatMul{}, {weights, all.value}, masks.query ? "attended" : "");
  if (masks.query) {
    const ValueId of_cells = call.add(Unsqueeze{{2}}, {masks.query}, "query_mask/of_cells");
    y = call.add(Where{}, {of_cells, y, call.scalar("zero", 0)});
    if (y) call.builder().masks.insert_or_assign(y.index, Mask{{}, masks.query});
  }
  return all.scores ? Values{y, weights} : Values{y};
}

// tanh(query + key), of every pair: [N, T, S, C].
ValueId bent_sums(Call& call, const Asked& all, ValueId scale) {
  const ValueId q = call.add(Unsqueeze{{2}}, {all.query}, "queries"), k = call.add(Unsqueeze{{1}}, {all.key}, "keys");
  ValueId sums = call.add(Binary{BinaryFunction::Add}, {q, k}, "sums");
  if (scale) sums = call.add(Binary{BinaryFunction::Multiply}, {scale, sums}, "scaled");
  return call.add(Unary{Function::Tanh}, {sums}, "tanh");
}

Values attention(Use& use) {
  Call& call = use.call;
  const bool scales = use.truth("use_scale");
  const std::string mode = use.word("score_mode");
  if (mode != "dot" && mode != "concat") call.refuse(Fault::Format, "attribute 'score_mode' is '" + mode + "'");
  return dense_attention(use, [&](const Asked& all) {
    const ValueId scale = scales ? call.weight("scale", Shape{}) : ValueId{};
    if (mode == "concat") {
      const ValueId weight = call.weight("concat_score_weight", Shape{});
      const ValueId sum = call.add(Reduce{Reduction::Sum, {3}, false}, {bent_sums(call, all, scale)}, "sum");
      return call.add(Binary{BinaryFunction::Multiply}, {weight, sum}, "scores");
    }
    const ValueId k = call.add(Transpose{{0, 2, 1}}, {all.key}, "keys");
    const ValueId products = call.add(MatMul{}, {all.query, k}, scale ? "products" : "scores");
    return scale ? call.add(Binary{BinaryFunction::Multiply}, {products, scale}, "scores") : products;
  });
}

Values additive_attention(Use& use) {
  Call& call = use.call;
  call.attrs.ignore({"score_mode"});
  const bool scales = use.truth("use_scale");
  return dense_attention(use, [&](const Asked& all) {
    ValueId bent = bent_sums(call, all, {});
    if (scales) {
      const ValueId scale = call.weight("scale", {call.dim(all.query, 2)});
      bent = call.add(Binary{BinaryFunction::Multiply}, {scale, bent}, "weighted");
    }
    return call.add(Reduce{Reduction::Sum, {3}, false}, {bent}, "scores");
  });
}

// Steps whose cells all have one number do not count, and become 0.
Values masking(Use& use) {
  Call& call = use.call;
  const ValueId x = call.x();
  const double masked = use.number("mask_value");
  if (call.failed()) return {};
  const DType dtype = call.type(x).dtype;
  // Whole numbers meet a fraction in float32, and truths a number in int32.
  const DType whole = dtype == DType::Bool ? DType::I32 : dtype;
  const double beyond = std::ldexp(1.0, static_cast<int>(8 * bytes_of(whole)) - (is_unsigned(whole) ? 0 : 1));
  const bool is_whole = masked == std::floor(masked) && masked >= least_of(whole) && masked < beyond;
  const DType compared = is_floating(dtype) ? dtype : is_whole ? whole : DType::F32;
  const auto number = [&](std::string_view name, double value, DType type) {
    return is_floating(type) ? call.literal(name, Tensor::of(Sizes{}, std::vector<double>{value}).converted(type))
                             : whole_constant(call, name, static_cast<std::int64_t>(value), type);
  };
  const Size last = call.rank(x) - 1;
  const ValueId other =
      call.add(Binary{BinaryFunction::NotEqual}, {x, number("mask_value", masked, compared)}, "differs");
  const ValueId counted = call.add(Cast{DType::F32}, {other}, "differs/number");
  const ValueId most = call.add(Reduce{Reduction::Maximum, {last}, true}, {counted}, "differs/most");
  const ValueId truths = call.add(Cast{DType::Bool}, {most}, "counts");
  const ValueId y = call.add(Where{}, {truths, x, number("zero", 0, whole)});
  const ValueId steps = call.add(Squeeze{{last}}, {truths}, "mask");
  if (y) call.builder().masks.insert_or_assign(y.index, Mask{{}, steps});
  return {y};
}

constexpr std::array rows_of_attention{
    CatalogueRow{"layers.Masking", "mask_value=0", masking},
    CatalogueRow{"layers.MultiHeadAttention",
                 "num_heads key_dim value_dim= dropout=0 use_bias=True output_shape= attention_axes= use_gate=False "
                 "sliding_window=",
                 multi_head},
    CatalogueRow{"layers.GroupedQueryAttention|GroupQueryAttention",
                 "head_dim num_query_heads num_key_value_heads dropout=0 use_bias=True use_gate=False sliding_window=",
                 group_query},
    CatalogueRow{"layers.Attention", "use_scale=False score_mode=dot dropout=0 seed=", attention},
    CatalogueRow{"layers.AdditiveAttention", "use_scale=True dropout=0 seed=", additive_attention},
};

}  // namespace

std::span<const CatalogueRow> attention_operators() { return rows_of_attention; }

}  // namespace convoy::keras
