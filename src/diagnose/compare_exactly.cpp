// What the bound of float32 would cover: stretches that agree within it are compared once more, their weights as tensors,
// and their numbers in float64, with numbers that reach the far sides of limits, channels that never fire, and all rows.
#include "diagnose/compare.h"
#include "prove/bound.h"
#include "prove/meeting.h"
#include "run/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace convoy::diagnose {

namespace {

// What is made of weights alone may be rounded some times more in one model than in the other. Rounding it all by as much
// moves the numbers by some share of float32's bound; this many times that share is explained by it.
constexpr double shaken_by = 8 * unit_rounding, slack = 4;

// The largest difference as a share of what float32's rounding may make. `own`: what `wanted` may be off by in float64.
double share_of(const Tensor& got, const Tensor& wanted, const Tensor& error, const std::optional<Tensor>& own = {}) {
  if (got.shape() != wanted.shape()) return std::numeric_limits<double>::infinity();
  const auto x = got.doubles(), y = wanted.doubles();
  const auto bound = telling(error, wanted), off = own ? own->floats() : std::vector<float>(x.size(), 0.0F);
  double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double apart = std::abs(x[i] - y[i]) - static_cast<double>(off[i]);
    if (apart > 0 && std::isfinite(apart)) most = std::max(most, apart / (static_cast<double>(bound[i]) + 1e-37));
  }
  return most;
}

// Whether the same ones are numbers, infinite, or none.
bool are_finite_alike(const Tensor& x, const Tensor& y) {
  return std::ranges::equal(x.doubles(), y.doubles(), [](double p, double q) {
    return std::isnan(p) == std::isnan(q) && (!std::isinf(p) || p == q) && std::isinf(p) == std::isinf(q);
  });
}

}  // namespace

// How the numbers of this stretch compare with what it is fed now; nothing: it cannot be run so, or gives no numbers.
std::optional<Comparison::Sharp> Comparison::in_float64(std::size_t i, const Stretch& at, Asked asked,
                                                        Reached& reached_a, Reached& reached_b) const {
  const auto of_a = values_of(at.a.graph, at.inputs_a, threads_), of_b = values_of(at.b.graph, at.inputs_b, threads_);
  if (!of_a || !of_b) return std::nullopt;
  const Sizes& order = alignment_.matches[i].permutation;
  const Tensor& got = (*of_b)[at.b.graph.outputs[0].slot()];
  const auto brought = [&](const std::vector<Tensor>& values) {
    return arranged(values[at.a.graph.outputs[0].slot()], order, got.shape());
  };
  const Tensor wanted = brought(*of_a);
  if (all_finite(got) != all_finite(wanted))
    return Sharp{.overflows = all_finite(wanted) ? Overflow::OfB : Overflow::OfA};
  // What is no number in both says nothing; what stands beside it does.
  if (wanted.shape() != got.shape() || !are_finite_alike(wanted, got)) return std::nullopt;
  auto rounded = evaluate_rounded(at.b.graph, at.inputs_b, threads_);
  if (!rounded || !are_finite_alike(rounded->value, got)) return std::nullopt;
  if (!allow_for_known(*rounded, at.a.graph, at.inputs_a, order, threads_) ||
      !allow_for_folded(*rounded, at.a.graph, at.b.graph, at.inputs_a, order, threads_))
    return std::nullopt;
  Sharp sharp;
  sharp.gap = gap_between(*rounded, wanted, {});
  note(reached_a, *of_a);
  note(reached_b, *of_b);
  for (auto& [reached, values] : {std::pair(&reached_a, &*of_a), std::pair(&reached_b, &*of_b)})
    for (const Limits& one : reached->limits)
      for (const double factor : factors_toward(one, *values)) sharp.factors.push_back(factor);
  if (!rounded->error) return sharp;
  sharp.share = share_of(got, wanted, *rounded->error);
  if (sharp.share <= exact_share) return sharp;
  double shaken = 0;
  const auto is_explained = [&] { return sharp.share <= slack * shaken; };
  const auto shake = [&] {
    const Graph &a = at.a.graph, &b = at.b.graph;
    for (const std::uint64_t seed : {1, 2, 3}) {
      const bool is_b = seed < 3;
      const auto other = is_b ? shaken_values_of(b, at.inputs_b, shaken_by, seed, threads_)
                              : shaken_values_of(a, at.inputs_a, shaken_by, seed, threads_);
      if (other && is_b) shaken = std::max(shaken, share_of((*other)[b.outputs[0].slot()], got, *rounded->error));
      if (other && !is_b) shaken = std::max(shaken, share_of(brought(*other), wanted, *rounded->error));
      if (asked == Asked::Whether && is_explained()) return;
    }
  };
  // What float64 itself may be off by takes something off the share, and matters only to what is not explained without it.
  const bool is_known_rounded = asked == Asked::Whether && states_[i].is_rounded;
  if (is_known_rounded) shake();
  if (!is_known_rounded || !is_explained()) {
    Rounded own{got, {}};
    if (!allow_for_float64(own, at.a.graph, at.inputs_a, order, threads_)) return std::nullopt;
    sharp.share = share_of(got, wanted, *rounded->error, own.error);
    if (sharp.share <= exact_share) return sharp;
    if (!is_known_rounded) shake();
  }
  sharp.allowed = std::clamp(slack * shaken, exact_share, 1.0);
  // A folded constant is rounded by what it was made of, which may be far more than itself.
  if (is_explained()) sharp.gap.same = true;
  return sharp;
}

// Whether the stretch agrees with these numbers too; where it does not, it keeps them.
bool Comparison::agrees_when_fed(std::size_t i, Fed fed, Reached& reached_a, Reached& reached_b,
                                 std::vector<double>* factors) {
  State& state = states_[i];
  const auto before = std::exchange(state.fed, std::move(fed));
  const auto at = stretch(i);
  const auto sharp = at ? in_float64(i, *at, Asked::Whether, reached_a, reached_b) : std::nullopt;
  if (factors) *factors = sharp ? sharp->factors : std::vector<double>{};
  if (sharp && sharp->overflows != Overflow::None) note_overflow(i, *at, sharp->overflows);
  if (!sharp || sharp->overflows != Overflow::None) {
    state.fed = before;
    return true;
  }
  if (!sharp->gap.same) {
    state.gap = sharp->gap;
    return false;
  }
  if (sharp->share > sharp->allowed && sharp->share > exact_share) {
    state.sharpness = sharp->allowed;
    if (const auto again = gap(i); again && !again->same) {
      state.gap = *again;
      return false;
    }
    state.sharpness = 1;
  }
  state.is_rounded = state.is_rounded || sharp->share > exact_share;
  state.fed = before;
  return true;
}

// Finite numbers of which only one of both makes infinity, or no number at all.
void Comparison::note_overflow(std::size_t i, const Stretch& at, Overflow which) {
  double largest = 0;
  for (const Tensor& fed : at.inputs_a)
    for (const double x : fed.doubles()) largest = std::max(largest, std::abs(x));
  const Match& match = alignment_.matches[i];
  auto& said = states_[i].not_finite;
  if (said.empty())
    said = fmt::format("'{}' of {} with numbers up to {:.3g}",
                       which == Overflow::OfA ? layer_of_a(match) : layer_of_b(match),
                       which == Overflow::OfA ? "a" : "b", largest);
}

// Whether both make numbers, infinity, and no numbers in the same places of what the stretch is fed.
bool Comparison::is_finite_alike(std::size_t i, Fed fed) {
  State& state = states_[i];
  const auto before = std::exchange(state.fed, std::move(fed));
  const auto at = stretch(i);
  state.fed = before;
  if (!at) return true;
  const auto of_a = evaluate(at->a.graph, at->inputs_a, threads_);
  const auto of_b = evaluate(at->b.graph, at->inputs_b, threads_);
  if (!of_a || !of_b || of_a->count() != of_b->count()) return true;
  return are_finite_alike(arranged(*of_a, alignment_.matches[i].permutation, of_b->shape()), *of_b);
}

// Infinity, or no number at all, among what is read: told where only one of both passes it on as it is. Likewise numbers whose
// exponential no type holds.
void Comparison::ask_not_finite(std::size_t i, const Stretch& at) {
  constexpr float infinite = std::numeric_limits<float>::infinity(), beyond_exponential = 1024;
  for (const auto& [read, own] : reads_of(at)) {
    if (own.dtype() != DType::F32 || own.count() == 0 || !all_finite(own)) continue;
    for (const float special :
         {beyond_exponential, -beyond_exponential, std::numeric_limits<float>::quiet_NaN(), infinite, -infinite}) {
      if (!states_[i].not_finite.empty()) return;
      auto numbers = own.floats();
      numbers[numbers.size() / 2] = special;
      if (is_finite_alike(i, {{read, Tensor::of(own.shape(), std::move(numbers))}})) continue;
      states_[i].not_finite = fmt::format("'{}' of b where it reads {}", layer_of_b(alignment_.matches[i]),
                                          std::isnan(special)   ? "what is no number"
                                          : std::isinf(special) ? "infinity"
                                                                : fmt::format("{:g}", special));
    }
  }
}

namespace {

// Two computed numbers against each other, of which one is taken or which tell something.
bool holds_two(const Reached& reached) {
  return !reached.choices.empty() || std::ranges::any_of(reached.ties, [](const Ties& one) { return bool(one.other); });
}

}  // namespace

// What both multiply by and add has been compared, number by number: other numbers say only how it lies over them, which shows
// wherever a's own are not zero, and here.
bool Comparison::agrees_when_fresh(std::size_t i, const Stretch& at, Reached& reached_a, Reached& reached_b) {
  auto numbers = reaching(*alignment_.of_a(at.a.from[0]), 1, false);
  return !numbers || agrees_when_fed(i, {{at.reads[0], *std::move(numbers)}}, reached_a, reached_b, nullptr);
}

// Numbers that grow, or shrink, until every limit has been met from both sides: for a stretch with one input made up, for
// others as a's own layers make them.
bool Comparison::agrees_everywhere(std::size_t i) {
  const auto at = stretch(i);
  if (!at) return true;
  Reached reached_a = nothing_reached(at->a.graph), reached_b = nothing_reached(at->b.graph);
  std::vector<double> factors;
  const bool agrees = agrees_when_fed(i, {}, reached_a, reached_b, &factors);
  if ((states_[i].is_rounded || !agrees) && states_[i].weights.different == 0) {  // folded numbers say which is another
    compare_affine(i, at->a, at->b);
    if (states_[i].cause) return false;
  }
  if (!agrees) return false;
  if (states_[i].is_one_map) return agrees_when_fresh(i, *at, reached_a, reached_b);
  auto rows = all_rows(*at);
  if (std::ssize(rows) == most_runs_of_rows)
    states_[i].not_reached.push_back("the last rows of the table at '" + layer_of_a(alignment_.matches[i]) + "'");
  auto probes = probes_of(*at, reached_a, reached_b);
  for (auto* runs : {&rows, &probes})
    for (auto& numbers : *runs)
      if (!agrees_when_fed(i, std::move(numbers), reached_a, reached_b, nullptr)) return false;
  const bool chooses = holds_two(reached_a) || holds_two(reached_b);
  if (chooses && !agrees_when_spread(i, *at, reached_a, reached_b)) return false;
  if (!agrees_at_crossings(i, *at, reached_a, reached_b)) return false;
  const bool is_single = at->a.from.size() == 1 && at->b.from.size() == 1;
  const bool takes_rows = is_single && rows_of(*alignment_.of_a(at->a.from[0])) > 0;
  const int most_tries = is_single ? 12 : 6;
  double factor = 1;
  for (int n = 0; n < most_tries && !takes_rows; ++n) {
    if (!is_single && factors.empty()) break;
    if (!factors.empty()) factor *= std::clamp(factors[static_cast<std::size_t>(n) % factors.size()], 0x1p-40, 0x1p40);
    std::optional<Fed> fed;
    if (!is_single) fed = fed_from_scaled(*at, factor);
    else if (auto numbers = reaching(*alignment_.of_a(at->a.from[0]), n == 0 ? 1 : factor, n % 2 == 1))
      fed = Fed{{at->reads[0], *std::move(numbers)}};
    if (!fed) break;
    if (n == 0 && is_single) factor = 1;
    if (!agrees_when_fed(i, *std::move(fed), reached_a, reached_b, &factors)) return false;
    if (factors.empty()) break;
  }
  const bool is_left = is_one_sided(reached_a) || is_one_sided(reached_b);
  if (!chooses && is_left && !agrees_when_spread(i, *at, reached_a, reached_b)) return false;
  for (const auto* reached : {&reached_a, &reached_b})
    for (const std::string& side : not_met(*reached))
      if (std::ranges::find(states_[i].not_reached, side) == states_[i].not_reached.end())
        states_[i].not_reached.push_back(side);
  ask_not_finite(i, *at);
  return true;
}

// By the numbers that a makes, in float64: the bound behind many steps is wide.
bool Comparison::agrees_to_the_last(std::size_t i) const {
  const auto at = stretch(i);
  Reached none;
  const auto sharp = at ? in_float64(i, *at, Asked::Whether, none, none) : std::nullopt;
  return !sharp || sharp->overflows != Overflow::None || sharp->share <= std::max(sharp->allowed, exact_share);
}

// Where the operators are the same and weights are not, what explains the numbers must do so to the last digits: within
// float32's rounding, which recurrent cells make much of, other mistakes would too.
void Comparison::sharpen(std::size_t i) {
  State& state = states_[i];
  const auto at = stretch(i);
  Reached none;
  const auto sharp = at ? in_float64(i, *at, Asked::HowMuch, none, none) : std::nullopt;
  if (!sharp || sharp->overflows != Overflow::None || sharp->allowed >= 1) return;
  state.sharpness = sharp->allowed;
  const auto again = gap(i);
  if (again && !again->same) state.gap = *again;
  else state.sharpness = 1;
}

void Comparison::look_up_bounds() {
  bounds_ = bounds_of(sized_.a);
  made_of_inputs_ = made_of_inputs(sized_.a);
  rows_a_ = index_ranges(sized_.a), rows_b_ = index_ranges(sized_.b);
}

// The weights of the stretch as tensors.
void Comparison::compare_weights(std::size_t i) {
  State& state = states_[i];
  const Match& match = alignment_.matches[i];
  const Piece a = cut(sized_.a, match.a, boundary_of(sized_.a, match.a, matched_a_));
  const Piece b = cut(sized_.b, match.b, boundary_of(sized_.b, match.b, matched_b_));
  const auto alike = alike_at(i, a, b);
  state.weights = alike ? weights_of(a, b, *alike) : weights_in(a, b);
  state.is_identical = alike && state.weights.all_equal;
  if (alike) settle_moved_biases(i, a, b);
  if (state.is_transformed && state.gap.same) state.weights.rounded += std::exchange(state.weights.different, 0);
}

// What agrees within float32's rounding, and more than that; where it does not, it keeps the numbers that tell.
bool Comparison::is_exactly_same(std::size_t i) {
  State& state = states_[i];
  if (state.is_identical) return true;
  compare_whole_numbers(i);
  if (!state.gap.same || !agrees_everywhere(i)) return false;
  const Match& match = alignment_.matches[i];
  if (state.weights.different > 0) blame_weights(i);
  else if (state.is_rounded && !state.is_one_map)
    compare_affine(i, cut(sized_.a, match.a, boundary_of(sized_.a, match.a, matched_a_)),
                   cut(sized_.b, match.b, boundary_of(sized_.b, match.b, matched_b_)));
  return state.gap.same;
}

void Comparison::compare_exactly() {
  look_up_bounds();
  for (std::size_t i = 0; i < states_.size(); ++i) {
    State& state = states_[i];
    if (!state.compared || state.dropped) continue;
    compare_weights(i);
    if (!state.gap.same && state.weights.different > 0) sharpen(i);
    if (state.gap.same && !is_exactly_same(i) && !state.cause) only_seems_when_fed(i);
  }
}

void Comparison::tell_scope(Scope& scope) const {
  for (const State& state : states_) {
    if (!state.compared || state.dropped) continue;
    ++scope.stretches;
    if (state.is_identical) ++scope.identical;
    scope.tensors += state.weights.tensors;
    scope.equal += state.weights.equal;
    scope.moved += state.weights.moved;
    for (const std::string& side : state.not_reached)
      if (std::ranges::find(scope.not_reached, side) == scope.not_reached.end()) scope.not_reached.push_back(side);
    if (!state.not_finite.empty()) scope.not_finite.push_back(state.not_finite);
  }
}

}  // namespace convoy::diagnose
