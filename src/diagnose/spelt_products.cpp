#include "diagnose/spelt_products.h"

#include "diagnose/idle_steps.h"
#include "diagnose/merge_calls.h"
#include "diagnose/piece.h"
#include "graph/patch.h"
#include "graph/quantized_steps.h"
#include "ops/expect.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace convoy::diagnose {

namespace {

// cast((clip(round(sums * factor) + zero)), where sums = product(cast(x) - zero, weight - zero) + bias.
struct WholeProduct {
  NodeId last, product;
  ValueId bias, zero;  // of the result; may be none
  DType held = DType::U8;
};

// What lies in front of a product: whole numbers and their zero, which may be none.
struct WholeOperand {
  ValueId whole, zero;
};

class ProductSpeller {
 public:
  ProductSpeller(const Graph& graph, int threads) : graph_(graph), patch_(graph), threads_(threads) {}

  Result<std::size_t> spell() {
    std::size_t count = 0;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const NodeId last{static_cast<std::int32_t>(i)};
      const auto scales = graph_.product_scales.find(graph_[last].layer);
      if (scales == graph_.product_scales.end()) continue;
      const auto product = product_at(last);
      if (!product) continue;
      auto done = spell_one(*product, scales->second);
      if (!done) return pass(done);
      if (*done) ++count;
    }
    return count;
  }
  Patch take() { return std::move(patch_); }

 private:
  NodeId maker(ValueId v) const { return v ? graph_[v].producer : NodeId{}; }
  NodeId before(NodeId node) const { return node ? maker(graph_[node].inputs[0]) : NodeId{}; }
  template <class O>
  const O* as(NodeId node) const {
    return node ? get_if<O>(&graph_[node].op) : nullptr;
  }
  bool is(NodeId node, BinaryFunction function) const {
    const auto* binary = as<Binary>(node);
    return binary && binary->function == function;
  }
  NodeId behind_cast(NodeId node) const { return as<Cast>(node) ? before(node) : node; }

  std::optional<WholeProduct> product_at(NodeId last) const {
    const auto* cast = as<Cast>(last);
    if (!cast || !whole_bounds(cast->to)) return std::nullopt;
    WholeProduct found{last, {}, {}, {}, cast->to};
    NodeId node = before(last);
    if (!as<Clip>(node)) return std::nullopt;
    node = before(node);
    if (is(node, BinaryFunction::Add)) found.zero = graph_[node].inputs[1], node = before(node);
    const auto* round = as<Unary>(node);
    if (!round || round->function != Function::Round) return std::nullopt;
    node = before(node);
    if (is(node, BinaryFunction::Divide)) node = before(node);  // by one
    if (!is(node, BinaryFunction::Multiply)) return std::nullopt;
    node = behind_cast(before(node));
    if (is(node, BinaryFunction::Add)) found.bias = graph_[node].inputs[1], node = before(node);
    node = behind_cast(node);
    if (!as<Conv>(node) && !as<MatMul>(node) && !as<Linear>(node)) return std::nullopt;
    found.product = node;
    return found;
  }

  std::optional<WholeOperand> operand_at(ValueId v) const {
    WholeOperand found;
    NodeId node = maker(v);
    if (is(node, BinaryFunction::Subtract)) found.zero = graph_[node].inputs[1], node = before(node);
    const ValueId whole = as<Cast>(node) ? graph_[node].inputs[0] : ValueId{};
    if (!whole || !whole_bounds(graph_[whole].type.dtype)) return std::nullopt;
    found.whole = whole;
    return found;
  }

  // By a cast, a difference and what turns a matrix: no more stands between the numbers of the file and a product.
  bool is_known(ValueId v, int steps = 4) const {
    if (graph_[v].constant) return true;
    const NodeId node = maker(v);
    return node && steps > 0 &&
           std::ranges::all_of(graph_[node].inputs, [&](ValueId input) { return input && is_known(input, steps - 1); });
  }
  std::optional<Tensor> known(ValueId v) const {
    if (graph_[v].constant) return graph_[v].constant;
    if (!is_known(v)) return std::nullopt;
    const auto made = evaluate(cut(graph_, v, {}).graph, {}, threads_);
    return made ? std::optional(*made) : std::nullopt;
  }
  // One whole number.
  std::optional<float> zero(ValueId v) const {
    if (!v) return 0.0F;
    const auto tensor = known(v);
    if (!tensor || tensor->count() != 1) return std::nullopt;
    return static_cast<float>(tensor->doubles().front());
  }

  ValueId number(const Node& like, std::string_view word, float value) {
    return patch_.constant(like.layer + "/" + std::string(word), Tensor::of({}, std::vector{value}), false);
  }

  // Whole numbers times their scale, or one scale for each place along `axis`; nothing: another number of scales.
  static std::optional<Tensor> times(const Tensor& whole, const std::vector<float>& scales, std::size_t axis,
                                     float by) {
    const Sizes& shape = whole.shape();
    if (scales.size() != 1 && (axis >= shape.size() || shape[axis] != static_cast<Size>(scales.size())))
      return std::nullopt;
    std::size_t inner = 1;
    for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= static_cast<std::size_t>(shape[i]);
    const auto numbers = whole.doubles();
    std::vector<float> real;
    for (std::size_t i = 0; i < numbers.size(); ++i)
      real.push_back(static_cast<float>(numbers[i]) *
                     (scales[scales.size() == 1 ? 0 : i / inner % scales.size()] * by));
    return Tensor::of(shape, std::move(real));
  }

  Result<ValueId> widened(const Node& like, const WholeOperand& from, float at, float scale) {
    auto made = patch_.one(like, Cast{DType::F32}, {from.whole});
    if (made && at != 0) made = patch_.one(like, Binary{BinaryFunction::Subtract}, {*made, number(like, "zero", at)});
    if (!made) return made;
    return patch_.one(like, Binary{BinaryFunction::Multiply}, {*made, number(like, "scale", scale)});
  }

  // False: it stays as it is.
  Result<bool> spell_one(const WholeProduct& from, const ProductScales& scales) {
    const Node& last = graph_[from.last];
    const Node& product = graph_[from.product];
    const auto x = operand_at(product.inputs[0]);
    const auto x_zero = x ? zero(x->zero) : std::nullopt, result_zero = zero(from.zero);
    if (!x_zero || !result_zero) return false;
    Node like = product;
    like.layer = last.layer + "/real";
    const bool is_conv = holds_alternative<Conv>(product.op);
    std::vector<ValueId> inputs(2);
    Op op = product.op;
    const std::size_t result_rank = graph_[product.outputs[0]].type.shape.size();
    std::optional<Tensor> bias = from.bias ? known(from.bias) : std::nullopt;
    if (from.bias && !bias) return false;
    if (bias) {
      if (bias->count() != static_cast<Size>(scales.weight.size()) && scales.weight.size() != 1) return false;
      bias = times(bias->reshaped({bias->count()}), scales.weight, 0, scales.x);
    }
    if (const auto weight = known(product.inputs[1])) {
      const bool is_table = !is_conv && weight->rank() == 2;
      const bool is_turned = holds_alternative<Linear>(op) && get<Linear>(op).order == LinearOrder::OutIn;
      const std::size_t axis = is_conv || is_turned ? 0 : static_cast<std::size_t>(weight->rank()) - 1;
      const auto real = weight->rank() > 1 ? times(*weight, scales.weight, axis, 1) : std::nullopt;
      if (!real) return false;
      if (is_table && result_rank >= 2 && !holds_alternative<Linear>(op)) op = Linear{LinearOrder::InOut};
      inputs[1] = patch_.constant(last.layer + "/weight", *real, true);
    } else {
      const auto other = operand_at(product.inputs[1]);
      const auto at = other ? zero(other->zero) : std::nullopt;
      if (!at || scales.weight.size() != 1) return false;
      Node second = last;
      second.layer = last.layer + "/real_1", second.kind = "DequantizeLinear";
      auto made = widened(second, *other, *at, scales.weight.front());
      if (!made) return pass(made);
      inputs[1] = *made;
    }
    Node first = last;
    first.layer = last.layer + "/real_0", first.kind = "DequantizeLinear";
    auto y = widened(first, *x, *x_zero, scales.x);
    if (!y) return pass(y);
    inputs[0] = *y;
    const bool takes_bias = bias && !holds_alternative<MatMul>(op);
    if (takes_bias) inputs.push_back(patch_.constant(last.layer + "/bias", *bias, true));
    y = patch_.one(like, std::move(op), std::move(inputs));
    if (y && bias && !takes_bias)
      y = patch_.one(like, Binary{BinaryFunction::Add}, {*y, patch_.constant(last.layer + "/bias", *bias, true)});
    return y ? rounded(from, *y, scales.result, *result_zero) : Result<bool>(pass(y));
  }

  Result<bool> rounded(const WholeProduct& from, ValueId x, float scale, float at) {
    const WholeBounds bounds = *whole_bounds(from.held);
    Node like = graph_[from.last];
    like.kind = "QuantizeLinear";
    auto y = patch_.one(like, Binary{BinaryFunction::Divide}, {x, number(like, "scale", scale)});
    if (y) y = patch_.one(like, Unary{Function::Round}, {*y});
    if (y && at != 0) y = patch_.one(like, Binary{BinaryFunction::Add}, {*y, number(like, "zero", at)});
    if (y) y = patch_.one(like, Clip{bounds.least, bounds.most}, {*y});
    if (y) y = patch_.one(like, Cast{from.held}, {*y});
    if (auto done = patch_.become(from.last, std::move(y)); !done) return pass(done);
    return true;
  }

  const Graph& graph_;
  Patch patch_;
  int threads_;
};

// What hands whole numbers of this type on, by itself or as real ones between two casts, as a resize does. `from`: what it reads.
struct Mover {
  NodeId node;
  ValueId from;
};
std::optional<Mover> mover_at(const Graph& graph, ValueId v, DType held) {
  const auto made_by = [&](ValueId value) { return value ? graph[value].producer : NodeId{}; };
  NodeId node = made_by(v);
  const bool is_cast = node && holds_alternative<Cast>(graph[node].op);
  if (is_cast) node = made_by(graph[node].inputs[0]);
  if (!node || !hands_numbers_on(graph[node].op) || holds_alternative<Cast>(graph[node].op)) return std::nullopt;
  if (graph[node].inputs.size() != 1 || graph[node].outputs.size() != 1) return std::nullopt;
  ValueId from = graph[node].inputs[0];
  if (is_cast) {
    const NodeId wide = made_by(from);
    if (!wide || !holds_alternative<Cast>(graph[wide].op)) return std::nullopt;
    from = graph[wide].inputs[0];
  }
  if (graph[from].type.dtype != held) return std::nullopt;
  return Mover{node, from};
}

// Whole numbers that are moved or ranked before they are widened are as well moved behind that: the rounding in front and the widening
// are side by side then. One step for each that can; whether there was any.
Result<bool> widen_before_moves(Graph& graph) {
  Patch patch(graph);
  std::set<NodeId> moved;
  for (const auto& [last, stretch] : quantized_stretches(graph).by_last) {
    if (stretch.rounds || stretch.axis) continue;
    const auto mover = mover_at(graph, stretch.x, stretch.held);
    if (!mover || moved.contains(mover->node)) continue;
    const Node& node = graph[mover->node];
    Result<ValueId> y = mover->from;
    for (const NodeId step : stretch.nodes) {
      std::vector<ValueId> inputs = graph[step].inputs;
      inputs[0] = *y;
      y = patch.one(graph[step], graph[step].op, std::move(inputs));
      if (!y) return pass(y);
    }
    y = patch.one(node, node.op, {*y});
    if (auto done = patch.become(last, std::move(y)); !done) return pass(done);
    moved.insert(mover->node);
  }
  if (moved.empty()) return false;
  if (auto done = apply(graph, std::move(patch)); !done) return pass(done);
  return true;
}

}  // namespace

Result<std::size_t> spell_out_products(Graph& graph, int threads) {
  if (graph.product_scales.empty()) return std::size_t{0};
  ProductSpeller speller(graph, threads);
  const auto count = speller.spell();
  if (!count || *count == 0) return count;
  if (auto done = apply(graph, speller.take()); !done) return pass(done);
  constexpr int most_moves = 16;
  for (int i = 0; i < most_moves; ++i) {
    const auto moved = widen_before_moves(graph);
    if (!moved) return std::unexpected(moved.error());
    if (!*moved) break;
  }
  // Every reader has a widening of its own.
  if (auto merged = merge_repeats(graph); !merged) return pass(merged);
  return count;
}

}  // namespace convoy::diagnose
