// The weights of aligned stretches as tensors: what is equal to the last bit, what lies in another order, what was folded,
// and the first number that is another.
#include "diagnose/affine_form.h"
#include "diagnose/changed_number.h"
#include "diagnose/compare.h"
#include "diagnose/fingerprint.h"
#include "diagnose/hypothesis.h"
#include "ops/expect.h"
#include "prove/bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace convoy::diagnose {

namespace {

// Two biases of a recurrent cell are added, and the vectors of a norm make one factor and one term: two models may say the
// same in two ways. Whether each sum is the same but for rounding.
bool say_the_same(const Graph& a, const Node& x, const Graph& b, const Node& y) {
  constexpr double most = 32 * unit_rounding;
  const auto numbers = [](const Graph& graph, const Node& node, std::size_t input) {
    const bool is_there = input < node.inputs.size() && node.inputs[input] && graph[node.inputs[input]].constant;
    return is_there ? graph[node.inputs[input]].constant->doubles() : std::vector<double>{};
  };
  const auto agree = [](double p, double q, double size) { return std::abs(p - q) <= most * size; };
  if (const auto* norm = get_if<BatchNorm>(&x.op)) {
    std::vector<double> of_a[4], of_b[4];
    for (std::size_t i = 0; i < 4; ++i) of_a[i] = numbers(a, x, i + 1), of_b[i] = numbers(b, y, i + 1);
    const auto at = [](const std::vector<double>& all, std::size_t c, double otherwise) {
      return c < all.size() ? all[c] : otherwise;
    };
    for (std::size_t c = 0; c < of_a[2].size(); ++c) {
      const double p = at(of_a[0], c, 1) / std::sqrt(at(of_a[3], c, 1) + norm->epsilon);
      const double q = at(of_b[0], c, 1) / std::sqrt(at(of_b[3], c, 1) + norm->epsilon);
      const double r = at(of_a[1], c, 0), s = at(of_b[1], c, 0), m = at(of_a[2], c, 0), n = at(of_b[2], c, 0);
      if (!agree(p, q, std::abs(p)) || !agree(r - p * m, s - q * n, std::abs(r) + std::abs(p * m) + std::abs(s)))
        return false;
    }
    return true;
  }
  const auto first = numbers(a, x, 3), second = numbers(a, x, 4), third = numbers(b, y, 3), fourth = numbers(b, y, 4);
  const bool walks = traits_of(x.op).kind == LayerKind::Recurrence;
  if (!walks || first.size() != second.size() || third.size() != fourth.size() || first.size() != third.size())
    return false;
  for (std::size_t i = 0; i < first.size(); ++i)
    if (!agree(first[i] + second[i], third[i] + fourth[i], std::abs(first[i]) + std::abs(second[i]))) return false;
  return true;
}

bool is_said_by_several(const Op& op, std::size_t input) {
  return holds_alternative<BatchNorm>(op) || input == 3 || input == 4;
}

}  // namespace

// The pieces without numbers for their inputs.
std::optional<Alike> Comparison::alike_at(std::size_t i, const Piece& a, const Piece& b) const {
  const Match& match = alignment_.matches[i];
  if (!is_identity(match.permutation) || sized_.a[match.a].type.shape != sized_.b[match.b].type.shape)
    return std::nullopt;
  Alike alike = built_alike(a.graph, b.graph, [&](std::size_t of_a, std::size_t of_b) {
    const Match* from = alignment_.of_a(a.from[of_a]);
    return from && from->b == b.from[of_b] && is_identity(from->permutation) &&
           sized_.a[from->a].type.shape == sized_.b[from->b].type.shape;
  });
  if (!alike.same_operators) return std::nullopt;
  return alike;
}

// One computation written down twice, with the same numbers to the last bit: nothing to be computed.
bool Comparison::is_identical(std::size_t i) const {
  const Match& match = alignment_.matches[i];
  const Piece a = cut(sized_.a, match.a, boundary_of(sized_.a, match.a, matched_a_));
  const Piece b = cut(sized_.b, match.b, boundary_of(sized_.b, match.b, matched_b_));
  const auto alike = alike_at(i, a, b);
  return alike && std::ranges::all_of(alike->constants, [&](const ConstantPair& pair) {
           return difference_of(*a.graph[pair.a].constant, *b.graph[pair.b].constant).equal();
         });
}

// What stands in the same place of both and is not the same.
Comparison::Weights Comparison::weights_of(const Piece& a, const Piece& b, const Alike& alike) {
  Weights weights;
  weights.by_tensor = true;
  std::map<NodeId, int> unlike;
  std::map<NodeId, bool> rounded;
  std::vector<std::pair<const ConstantPair*, TensorDifference>> found;
  for (const ConstantPair& pair : alike.constants) {
    const Tensor &x = *a.graph[pair.a].constant, &y = *b.graph[pair.b].constant;
    TensorDifference difference = difference_of(x, y);
    if (holds_weights(x)) ++weights.tensors;
    if (difference.equal()) {
      if (holds_weights(x)) ++weights.equal;
      continue;
    }
    ++unlike[pair.node_a];
    rounded[pair.node_a] = rounded[pair.node_a] || difference.is_rounding();
    found.emplace_back(&pair, difference);
  }
  weights.all_equal = found.empty();
  // In another order they may still say the same, where another layer of the stretch takes them so.
  const bool is_of_one = unlike.size() == 1;
  for (const auto& [pair, difference] : found) {
    const Node& node = a.graph[pair->node_a];
    if (difference.same_numbers && difference.numbers > 1 && !is_of_one) {
      ++weights.moved;
      continue;
    }
    const bool is_said_together = unlike[pair->node_a] > 1 && is_said_by_several(node.op, pair->input) &&
                                  say_the_same(a.graph, node, b.graph, b.graph[pair->node_b]);
    if (rounded[pair->node_a] || is_said_together || !is_floating(a.graph[pair->a].constant->dtype())) {
      ++weights.rounded;
      continue;
    }
    ++weights.different;
    if (!weights.says.empty()) continue;
    weights.layer = node.layer;
    weights.kind = node.kind;
    weights.says = fmt::format("'{}' {}", a.graph[pair->a].name,
                               text_of(difference, *a.graph[pair->a].constant, *b.graph[pair->b].constant));
    weights.exchanged = weights.says.ends_with("changed places");
    weights.largest = difference.largest;
    weights.steps = difference.steps;
    weights.share = static_cast<double>(difference.differing) / static_cast<double>(difference.numbers);
  }
  return weights;
}

// Stretches that are written otherwise: which of a's tensors b holds too, in whatever order.
Comparison::Weights Comparison::weights_in(const Piece& a, const Piece& b) {
  std::vector<std::pair<std::uint64_t, const Tensor*>> theirs;
  for (const Value& value : b.graph.values)
    if (value.constant && holds_weights(*value.constant))
      theirs.emplace_back(fingerprint(*value.constant), &*value.constant);
  Weights weights;
  for (const Value& value : a.graph.values) {
    if (!value.constant || !holds_weights(*value.constant)) continue;
    ++weights.tensors;
    const auto at = std::ranges::find(theirs, fingerprint(*value.constant), [](const auto& one) { return one.first; });
    if (at == theirs.end()) {
      ++weights.rounded;
      continue;
    }
    ++(same_bytes(*value.constant, *at->second) ? weights.equal : weights.moved);
    theirs.erase(at);
  }
  if (weights.rounded == 0) return weights;  // b holds every tensor of a
  const auto changed = changed_number(a.graph, b.graph);
  if (!changed) return weights;
  ++weights.different;
  weights.says = changed->says;
  weights.largest = std::abs(changed->a - changed->b);
  weights.steps = weights.largest / (unit_rounding * std::max(std::abs(changed->a), std::abs(changed->b)));
  for (const Node& node : a.graph.nodes)
    if (std::ranges::any_of(node.inputs, [&](ValueId v) { return v && &a.graph[v] == changed->value; }))
      weights.layer = node.layer, weights.kind = node.kind;
  return weights;
}

// A difference that the tensors tell, where no numbers show it or no known mistake explains them.
void Comparison::blame_weights(std::size_t i) {
  State& state = states_[i];
  if (state.gap.same) state.gap = {std::max(state.weights.steps, 1.0), 0, state.weights.largest, state.weights.share};
  state.gap.same = false;
  Explained cause;
  cause.edits.push_back({"weights_differ", state.weights.layer, state.weights.kind, state.weights.says});
  cause.before = state.gap;
  cause.r_next = std::numeric_limits<double>::infinity();
  state.cause = std::move(cause);
}

// What a layer adds and what the norm behind it takes off, or adds, are one sum: two tensors or more may differ, and it stays.
void Comparison::settle_moved_biases(std::size_t i, const Piece& a, const Piece& b) {
  Weights& weights = states_[i].weights;
  if (weights.different < 2) return;
  const auto first = affine_form_of(a.graph), second = affine_form_of(b.graph);
  if (!first || !second || !adds_the_same(*first, *second)) return;
  weights.rounded += weights.different;
  weights.different = 0;
}

// Of the epsilons that frameworks use, the one with which a's norms, or b's, make the other's numbers.
std::optional<Edit> Comparison::epsilon_between(const Piece& a, const Piece& b) {
  for (const bool is_in_a : {true, false}) {
    const Graph& own = is_in_a ? a.graph : b.graph;
    const auto other = affine_form_of(is_in_a ? b.graph : a.graph);
    for (std::size_t n = 0; n < own.nodes.size() && other; ++n) {
      const auto* norm = get_if<BatchNorm>(&own.nodes[n].op);
      if (!norm) continue;
      for (const double epsilon : usual_epsilons) {
        BatchNorm now = *norm;
        now.epsilon = epsilon;
        const auto form = epsilon == norm->epsilon ? std::nullopt : affine_form_of(with_op(own, n, now));
        if (!form || !unexplained_in(*form, *other).empty() || !unexplained_factors_in(*form, *other).empty()) continue;
        const auto [theirs, ours] = is_in_a ? std::pair(epsilon, norm->epsilon) : std::pair(norm->epsilon, epsilon);
        const Node& about = is_in_a ? own.nodes[n] : a.graph.nodes.back();
        return Edit{"bn_eps", about.layer, about.kind,
                    "epsilon " + number_text(theirs) + " in place of " + number_text(ours)};
      }
    }
  }
  return std::nullopt;
}

// Where a norm was taken into a kernel, each number of the kernel by itself: what one of very many moves, rounding covers.
void Comparison::compare_affine(std::size_t i, const Piece& a, const Piece& b) {
  const auto first = affine_form_of(a.graph), second = affine_form_of(b.graph);
  if (!first || !second) return;
  State& state = states_[i];
  state.is_one_map = alignment_.of_a(a.from[0]) == alignment_.of_b(b.from[0]) && are_one_map(*first, *second);
  if (state.is_one_map) return;
  Weights& weights = state.weights;
  const bool is_settled = weights.by_tensor && weights.moved == 0;  // number by number
  std::string says = is_settled ? std::string() : unexplained_in(*first, *second);
  if (says.empty()) says = unexplained_factors_in(*first, *second);
  if (says.empty()) return;
  weights.layer = first->layer;
  weights.says = says;
  blame_weights(i);
  if (auto epsilon = epsilon_between(a, b)) states_[i].cause->edits = {*std::move(epsilon)};
}

}  // namespace convoy::diagnose
