// Functions with one bend at zero, however they are written out, as leaky ReLUs: max(x, a x), x where x > 0 and else a x,
// relu(x) - a relu(-x), b x + c |x|; and what is cut off at one number or two, as limits.
#include "diagnose/recognise.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace convoy::diagnose {

namespace {

constexpr std::size_t most_bends = 12;

// up * x where x > 0, down * x where x < 0, 0 at 0.
struct Bend {
  double up = 1, down = 1;
};

class Bends {
 public:
  Bends(const Graph& graph, ValueId x) : graph_(graph), x_(x) {}

  std::optional<Bend> at(ValueId v) {
    if (v == x_) return Bend{};
    const Node* node = v && graph_[v].producer ? &graph_[graph_[v].producer] : nullptr;
    if (!node || ++steps_ > most_bends) return std::nullopt;
    if (const auto* affine = get_if<Affine>(&node->op))
      return affine->offset == 0 ? scaled(at(node->inputs[0]), affine->scale) : std::nullopt;
    if (const auto* relu = get_if<Relu>(&node->op)) return under(*relu, at(node->inputs[0]));
    if (const auto* clip = get_if<Clip>(&node->op))
      return clip->least == 0.0 && !clip->most ? under(Relu{}, at(node->inputs[0])) : std::nullopt;
    if (const auto* unary = get_if<Unary>(&node->op)) return under(unary->function, at(node->inputs[0]));
    if (holds_alternative<Where>(node->op)) return chosen(*node);
    const auto* binary = get_if<Binary>(&node->op);
    return binary ? of_two(binary->function, node->inputs[0], node->inputs[1]) : std::nullopt;
  }

  // Whether a condition holds above zero: of x itself, against 0.
  std::optional<bool> holds_above(ValueId condition) const {
    const NodeId maker = graph_[condition].producer;
    const auto* compared = maker ? get_if<Binary>(&graph_[maker].op) : nullptr;
    if (!compared) return std::nullopt;
    const ValueId p = graph_[maker].inputs[0], q = graph_[maker].inputs[1];
    const bool is_first = p == x_ && number(q) == 0.0, is_second = q == x_ && number(p) == 0.0;
    if (!is_first && !is_second) return std::nullopt;
    const auto f = compared->function;
    if (f == BinaryFunction::Greater || f == BinaryFunction::GreaterOrEqual) return is_first;
    if (f == BinaryFunction::Less || f == BinaryFunction::LessOrEqual) return is_second;
    return std::nullopt;
  }

 private:
  std::optional<double> number(ValueId v) const {
    const auto& constant = graph_[v].constant;
    return constant && constant->count() == 1 ? std::optional(constant->doubles()[0]) : std::nullopt;
  }

  static std::optional<Bend> scaled(std::optional<Bend> bend, double by) {
    if (bend) bend->up *= by, bend->down *= by;
    return bend;
  }
  // What is below zero is what one side of x gives with the other sign.
  static std::optional<Bend> under(const Relu& relu, std::optional<Bend> bend) {
    if (!bend || relu.max_value || relu.threshold != 0) return std::nullopt;
    if (bend->up < 0) bend->up *= relu.negative_slope;
    if (bend->down > 0) bend->down *= relu.negative_slope;
    return bend;
  }
  static std::optional<Bend> under(Function function, std::optional<Bend> bend) {
    if (!bend) return std::nullopt;
    if (function == Function::Negate) return Bend{-bend->up, -bend->down};
    if (function == Function::Abs) return Bend{std::abs(bend->up), -std::abs(bend->down)};
    return std::nullopt;
  }

  std::optional<Bend> of_two(BinaryFunction function, ValueId p, ValueId q) {
    const auto first = number(p), second = number(q);
    if (function == BinaryFunction::Multiply && (first || second))
      return scaled(at(first ? q : p), first ? *first : *second);
    if (function == BinaryFunction::Divide && second && *second != 0) return scaled(at(p), 1 / *second);
    const bool is_max = function == BinaryFunction::Maximum, is_min = function == BinaryFunction::Minimum;
    // Against zero alone.
    if ((is_max || is_min) && (first == 0.0 || second == 0.0)) {
      const auto bend = scaled(at(first ? q : p), is_max ? 1 : -1);
      return scaled(under(Relu{}, bend), is_max ? 1 : -1);
    }
    if (first || second) return std::nullopt;
    const bool adds = function == BinaryFunction::Add, takes = function == BinaryFunction::Subtract;
    if (!is_max && !is_min && !adds && !takes) return std::nullopt;
    const auto a = at(p), b = at(q);
    if (!a || !b) return std::nullopt;
    if (is_max) return Bend{std::max(a->up, b->up), std::min(a->down, b->down)};
    if (is_min) return Bend{std::min(a->up, b->up), std::max(a->down, b->down)};
    return adds ? Bend{a->up + b->up, a->down + b->down} : Bend{a->up - b->up, a->down - b->down};
  }

  std::optional<Bend> chosen(const Node& where) {
    const auto above = holds_above(where.inputs[0]);
    const auto side = [&](ValueId v) { return number(v) == 0.0 ? std::optional(Bend{0, 0}) : at(v); };
    const auto a = above ? side(where.inputs[1]) : std::nullopt, b = a ? side(where.inputs[2]) : std::nullopt;
    if (!b) return std::nullopt;
    return *above ? Bend{a->up, b->down} : Bend{b->up, a->down};
  }

  const Graph& graph_;
  ValueId x_;
  std::size_t steps_ = 0;
};

bool may_bend(const Op& op) {
  if (holds_alternative<Where>(op)) return true;
  const auto* binary = get_if<Binary>(&op);
  return binary && (binary->function == BinaryFunction::Maximum || binary->function == BinaryFunction::Minimum ||
                    binary->function == BinaryFunction::Add || binary->function == BinaryFunction::Subtract);
}

// What the value is computed from, the nearest first.
std::vector<ValueId> computed_from(const Graph& graph, const Node& node) {
  std::vector<ValueId> all;
  for (const ValueId v : node.inputs)
    if (v && !graph[v].constant) all.push_back(v);
  for (std::size_t i = 0; i < all.size() && all.size() < most_bends; ++i) {
    const NodeId maker = graph[all[i]].producer;
    if (!maker) continue;
    for (const ValueId v : graph[maker].inputs)
      if (v && !graph[v].constant && std::ranges::find(all, v) == all.end()) all.push_back(v);
  }
  return all;
}

struct Cut {
  ValueId x;
  Clip clip;
  bool is_written = false;  // as a maximum or a minimum
};

std::optional<Cut> cut_at(const Graph& graph, const Node& node) {
  if (const auto* clip = get_if<Clip>(&node.op)) return Cut{node.inputs[0], *clip, false};
  const auto* binary = get_if<Binary>(&node.op);
  const bool is_least = binary && binary->function == BinaryFunction::Maximum;
  if (!is_least && !(binary && binary->function == BinaryFunction::Minimum)) return std::nullopt;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const auto& number = graph[node.inputs[1 - i]].constant;
    const bool is_one = number && number->count() == 1 && number->dtype() <= DType::F64;
    if (!is_one || graph[node.inputs[i]].constant || std::isnan(number->doubles()[0])) continue;
    Cut cut{node.inputs[i], {}, true};
    (is_least ? cut.clip.least : cut.clip.most) = number->doubles()[0];
    return cut;
  }
  return std::nullopt;
}

}  // namespace

std::optional<LeakyRelu> leaky_relu_at(const Graph& graph, const Node& node) {
  if (!may_bend(node.op)) return std::nullopt;
  for (const ValueId x : computed_from(graph, node)) {
    const auto bend = Bends(graph, x).at(node.outputs[0]);
    if (!bend) continue;
    constexpr double rounding = 0x1p-22;  // of the sum of two numbers in float32
    if (std::abs(bend->up - 1) > rounding || std::abs(bend->down - 1) <= rounding) continue;
    return LeakyRelu{x, std::abs(bend->down) <= rounding ? 0 : bend->down};
  }
  return std::nullopt;
}

namespace {

// A product with more than one number.
struct Scaled {
  ValueId value, slopes;
};
std::optional<Scaled> scaled_at(const Graph& graph, ValueId v) {
  const NodeId maker = v ? graph[v].producer : NodeId{};
  const auto* binary = maker ? get_if<Binary>(&graph[maker].op) : nullptr;
  if (!binary || binary->function != BinaryFunction::Multiply) return std::nullopt;
  const auto& in = graph[maker].inputs;
  const auto is_many = [&](ValueId one) { return graph[one].constant && graph[one].constant->count() > 1; };
  if (is_many(in[1]) && !graph[in[0]].constant) return Scaled{in[0], in[1]};
  return is_many(in[0]) && !graph[in[1]].constant ? std::optional(Scaled{in[1], in[0]}) : std::nullopt;
}

// The shape of slopes as PRelu takes them: what is broadcast against x, without the axis of the batch.
std::optional<PReluWritten> with_slopes(const Graph& graph, ValueId x, ValueId slopes) {
  const Shape& of_x = graph[x].type.shape;
  Sizes own = graph[slopes].constant->shape();
  if (own.size() > of_x.size() || (own.size() == of_x.size() && (own.empty() || own.front() != 1))) return std::nullopt;
  own.insert(own.begin(), of_x.size() - own.size(), 1);
  own.erase(own.begin());
  for (std::size_t i = 0; i < own.size(); ++i)
    if (own[i] != 1 && of_x[i + 1] != Dim(own[i])) return std::nullopt;
  return PReluWritten{x, slopes, std::move(own)};
}

bool is_bend(const std::optional<Bend>& bend, double up, double down) {
  return bend && bend->up == up && bend->down == down;
}

}  // namespace

// x where x > 0, else a x; relu(x) + a min(x, 0).
std::optional<PReluWritten> prelu_at(const Graph& graph, const Node& node) {
  if (holds_alternative<Where>(node.op)) {
    for (const bool is_above : {true, false}) {
      const ValueId x = node.inputs[is_above ? 1 : 2];
      if (!x || graph[x].constant) continue;
      const auto other = scaled_at(graph, node.inputs[is_above ? 2 : 1]);
      if (other && other->value == x && Bends(graph, x).holds_above(node.inputs[0]) == is_above)
        return with_slopes(graph, x, other->slopes);
    }
    return std::nullopt;
  }
  const auto* binary = get_if<Binary>(&node.op);
  if (!binary || binary->function != BinaryFunction::Add) return std::nullopt;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const auto below = scaled_at(graph, node.inputs[i]);
    if (!below) continue;
    for (const ValueId x : computed_from(graph, node))
      if (is_bend(Bends(graph, x).at(node.inputs[1 - i]), 1, 0) && is_bend(Bends(graph, x).at(below->value), 0, 1))
        return with_slopes(graph, x, below->slopes);
  }
  return std::nullopt;
}

std::optional<Limit> limit_at(const Graph& graph, const Node& node) {
  std::optional<Cut> cut = cut_at(graph, node);
  const NodeId maker = cut ? graph[cut->x].producer : NodeId{};
  if (!maker) return cut && cut->is_written ? std::optional(Limit{cut->x, cut->clip}) : std::nullopt;
  // Cut off at the other side right in front, where no number is cut off by both.
  if (const auto inner = cut_at(graph, graph[maker])) {
    const Clip both{cut->clip.least ? cut->clip.least : inner->clip.least,
                    cut->clip.most ? cut->clip.most : inner->clip.most};
    const bool is_one_sided = !(cut->clip.least && cut->clip.most) && !(inner->clip.least && inner->clip.most);
    if (is_one_sided && both.least && both.most && *both.least <= *both.most) return Limit{inner->x, both};
  }
  const auto* relu = get_if<Relu>(&graph[maker].op);
  const bool is_plain = relu && !relu->max_value && relu->negative_slope == 0 && relu->threshold == 0;
  if (is_plain && !cut->clip.least && cut->clip.most.value_or(-1) >= 0)
    return Limit{graph[maker].inputs[0], Relu{cut->clip.most, 0, 0, relu->strict}};
  return cut->is_written ? std::optional(Limit{cut->x, cut->clip}) : std::nullopt;
}

}  // namespace convoy::diagnose
