// What the bound of float32 would cover: stretches that agree within it are compared once more, their weights as tensors,
// and their numbers in float64, with numbers that reach the far sides of limits, channels that never fire, and all rows.
#include "diagnose/compare.h"
#include "prove/bound.h"
#include "prove/meeting.h"
#include "run/run.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <utility>

namespace convoy::diagnose {

namespace {

// What is made of weights alone may be rounded some times more in one model than in the other. Rounding it all by as much
// moves the numbers by some share of float32's bound; this many times that share is explained by it.
constexpr double shaken_by = 8 * unit_rounding, slack = 4;
// Float64 rounds by 2^-29 of what float32 does; eight times that.
constexpr double exact_share = 0x1p-26;
constexpr std::size_t most_runs_of_rows = 256;

std::size_t slot_of(ValueId v) { return static_cast<std::size_t>(v.index); }

bool is_of_floats(DType dtype) { return dtype <= DType::F64; }

bool all_finite(const Tensor& tensor) {
  return std::ranges::all_of(tensor.doubles(), [](double x) { return std::isfinite(x); });
}

// The largest difference as a share of what float32's rounding may make.
double share_of(const Tensor& got, const Tensor& wanted, const Tensor& error) {
  if (got.shape() != wanted.shape()) return std::numeric_limits<double>::infinity();
  const auto x = got.doubles(), y = wanted.doubles();
  const auto bound = error.floats();
  double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double apart = std::abs(x[i] - y[i]);
    if (apart > 0 && std::isfinite(apart)) most = std::max(most, apart / (static_cast<double>(bound[i]) + 1e-37));
  }
  return most;
}

}  // namespace

// How the numbers of this stretch compare with what it is fed now; nothing: it cannot be run so, or gives no numbers.
std::optional<Comparison::Sharp> Comparison::in_float64(std::size_t i, const Stretch& at, std::vector<Limits>& limits_a,
                                                        std::vector<Limits>& limits_b) const {
  const auto of_a = values_of(at.a.graph, at.inputs_a, threads_), of_b = values_of(at.b.graph, at.inputs_b, threads_);
  if (!of_a || !of_b) return std::nullopt;
  const Sizes& order = alignment_.matches[i].permutation;
  const Tensor& got = (*of_b)[slot_of(at.b.graph.outputs[0])];
  const auto brought = [&](const std::vector<Tensor>& values) {
    return arranged(values[slot_of(at.a.graph.outputs[0])], order, got.shape());
  };
  const Tensor wanted = brought(*of_a);
  if (!all_finite(got) || !all_finite(wanted) || wanted.shape() != got.shape()) return std::nullopt;
  auto rounded = evaluate_rounded(at.b.graph, at.inputs_b, threads_);
  if (!rounded || !all_finite(rounded->value)) return std::nullopt;
  if (!allow_for_known(*rounded, at.a.graph, at.inputs_a, order, threads_)) return std::nullopt;
  Sharp sharp;
  sharp.gap = gap_between(*rounded, wanted, {});
  note(limits_a, *of_a);
  note(limits_b, *of_b);
  for (auto& [limits, values] : {std::pair(&limits_a, &*of_a), std::pair(&limits_b, &*of_b)})
    for (const Limits& one : *limits)
      for (const double factor : factors_toward(one, *values)) sharp.factors.push_back(factor);
  if (!rounded->error) return sharp;
  sharp.share = share_of(got, wanted, *rounded->error);
  if (sharp.share <= exact_share) return sharp;
  double shaken = 0;
  for (const std::uint64_t seed : {1, 2}) {
    const auto other = shaken_values_of(at.b.graph, at.inputs_b, shaken_by, seed, threads_);
    if (other) shaken = std::max(shaken, share_of((*other)[slot_of(at.b.graph.outputs[0])], got, *rounded->error));
  }
  const auto other = shaken_values_of(at.a.graph, at.inputs_a, shaken_by, 3, threads_);
  if (other) shaken = std::max(shaken, share_of(brought(*other), wanted, *rounded->error));
  sharp.allowed = std::clamp(slack * shaken, exact_share, 1.0);
  return sharp;
}

// Numbers for the one input of a stretch: of both signs where it may have both, and at least as large as a's own.
std::optional<Tensor> Comparison::reaching(const Match& from, double factor, bool negated) const {
  const Tensor own = forced(from, State{});
  if (own.dtype() != DType::F32 || own.count() == 0 || !all_finite(own)) return std::nullopt;
  const auto values = own.floats();
  const auto [least, most] = std::ranges::minmax(values);
  const Bounds& bounds = bounds_[slot_of(from.a)];
  const auto scale = static_cast<double>(std::max(std::abs(least), std::abs(most)));
  double low = least, high = most;
  if (bounds.known) {
    const double size = scale > 0 ? scale : 1;
    low = std::max(-size, bounds.least), high = std::min(size, bounds.most);
  }
  low *= factor, high *= factor;
  if (bounds.known) low = std::max(low, bounds.least), high = std::min(high, bounds.most);
  if (!(low <= high) || !std::isfinite(low) || !std::isfinite(high)) return std::nullopt;
  std::mt19937_64 random(static_cast<std::uint64_t>(from.a.index) + (negated ? 2 : 1));
  std::vector<float> made(values.size());
  for (float& value : made) {
    const double share = static_cast<double>(random() >> 40) * 0x1p-24;
    value = static_cast<float>(low * (1 - share) + high * share);
  }
  keep_whole(own, made);
  return Tensor::of(own.shape(), std::move(made));
}

// The rows of tables, in turn, as many as one input asks for at once.
std::vector<std::map<std::size_t, Tensor>> Comparison::all_rows(const Stretch& at) const {
  const auto rows_a = index_ranges(at.a.graph), rows_b = index_ranges(at.b.graph);
  std::vector<std::map<std::size_t, Tensor>> runs;
  for (std::size_t k = 0; k < at.a.from.size(); ++k) {
    const Match* from = alignment_.of_a(at.a.from[k]);
    Size rows = rows_a[slot_of(at.a.graph.inputs[k])];
    for (std::size_t j = 0; j < at.b.from.size(); ++j)
      if (from && at.b.from[j] == from->b) rows = std::max(rows, rows_b[slot_of(at.b.graph.inputs[j])]);
    const Size count = at.inputs_a[k].count();
    if (rows == 0 || count == 0) continue;
    for (Size first = 0; first < rows && runs.size() < most_runs_of_rows; first += count) {
      std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
      for (Size n = 0; n < count; ++n) numbers[static_cast<std::size_t>(n)] = (first + n) % rows;
      Tensor made = Tensor::of(at.inputs_a[k].shape(), std::move(numbers));
      if (is_of_floats(at.inputs_a[k].dtype())) made = Tensor::of(made.shape(), made.floats());
      runs.push_back({{at.reads[k], std::move(made)}});
    }
  }
  return runs;
}

// Whole numbers and those halfway between them, where a stretch rounds: what is done with a half shows at no other number.
std::optional<std::map<std::size_t, Tensor>> Comparison::halves(const Stretch& at) const {
  constexpr std::int64_t period = 37;  // halves from -9 to 9
  const auto rounds = [](const Node& node) {
    const auto* unary = std::get_if<Unary>(&node.op);
    const auto* binary = std::get_if<Binary>(&node.op);
    return (unary && (unary->function == Function::Round || unary->function == Function::Floor ||
                      unary->function == Function::Ceil)) ||
           (binary && (binary->function == BinaryFunction::FloorDivide || binary->function == BinaryFunction::Modulo ||
                       binary->function == BinaryFunction::TruncateDivide));
  };
  if (std::ranges::none_of(at.a.graph.nodes, rounds) && std::ranges::none_of(at.b.graph.nodes, rounds))
    return std::nullopt;
  std::map<std::size_t, Tensor> fed;
  for (std::size_t k = 0; k < at.a.from.size(); ++k) {
    const Bounds& bounds = bounds_[slot_of(at.a.from[k])];
    const Tensor& own = at.inputs_a[k];
    if (!bounds.known || own.dtype() != DType::F32) continue;
    std::vector<float> made = own.floats();
    for (std::size_t n = 0; n < made.size(); ++n) {
      const auto half = static_cast<double>(static_cast<std::int64_t>(n) % period - period / 2) / 2;
      made[n] = static_cast<float>(std::clamp(half, bounds.least, bounds.most));
    }
    keep_whole(own, made);
    fed[at.reads[k]] = Tensor::of(own.shape(), std::move(made));
  }
  return fed.empty() ? std::nullopt : std::optional(std::move(fed));
}

// A's own numbers made small, where a stretch divides by what it measures of them: the number added there shows at no other.
std::vector<std::map<std::size_t, Tensor>> Comparison::quiet(const Stretch& at) const {
  const auto measures = [](const Node& node) {
    return traits_of(node.op).kind == LayerKind::Normalization && !std::holds_alternative<BatchNorm>(node.op);
  };
  if (std::ranges::none_of(at.a.graph.nodes, measures) && std::ranges::none_of(at.b.graph.nodes, measures)) return {};
  std::vector<std::map<std::size_t, Tensor>> runs;
  for (const float largest : {0x1p-6F, 0x1p-10F}) {
    std::map<std::size_t, Tensor> fed;
    for (std::size_t k = 0; k < at.a.from.size(); ++k) {
      const Tensor& own = at.inputs_a[k];
      if (!bounds_[slot_of(at.a.from[k])].known || own.dtype() != DType::F32 || own.count() == 0) continue;
      std::vector<float> made = own.floats();
      float most = 0;
      for (const float x : made) most = std::max(most, std::abs(x));
      if (most <= largest) continue;
      for (float& x : made) x *= largest / most;
      fed[at.reads[k]] = Tensor::of(own.shape(), std::move(made));
    }
    if (!fed.empty()) runs.push_back(std::move(fed));
  }
  return runs;
}

// Whether the stretch agrees with these numbers too; where it does not, it keeps them.
bool Comparison::agrees_when_fed(std::size_t i, std::map<std::size_t, Tensor> fed, std::vector<Limits>& limits_a,
                                 std::vector<Limits>& limits_b, std::vector<double>* factors) {
  State& state = states_[i];
  const auto before = std::exchange(state.fed, std::move(fed));
  const auto at = stretch(i);
  const auto sharp = at ? in_float64(i, *at, limits_a, limits_b) : std::nullopt;
  if (factors) *factors = sharp ? sharp->factors : std::vector<double>{};
  if (!sharp) {
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

// The numbers that a's own layers make of inputs so many times as large.
std::optional<std::map<std::size_t, Tensor>> Comparison::fed_from_scaled(const Stretch& at, double factor) const {
  const auto rows = index_ranges(sized_.a);
  std::vector<Tensor> inputs;
  for (const ValueId v : sized_.a.inputs) {
    Tensor input = values_a_[slot_of(v)];
    if (input.dtype() == DType::F32 && rows[slot_of(v)] == 0) {
      auto numbers = input.floats();
      for (float& x : numbers) x *= static_cast<float>(factor);
      input = Tensor::of(input.shape(), std::move(numbers));
    }
    inputs.push_back(std::move(input));
  }
  RunOptions options;
  options.precision = Precision::Double;
  options.threads = threads_;
  options.keeps_all = true;
  const auto values = run(sized_.a, inputs, options);
  if (!values) return std::nullopt;
  std::map<std::size_t, Tensor> fed;
  for (const std::size_t from : at.reads) {
    const Match& match = alignment_.matches[from];
    const auto own = std::ranges::find(sized_.a.inputs, match.a);
    const Tensor& made = own == sized_.a.inputs.end() ? values->at(match.a)
                                                      : inputs[static_cast<std::size_t>(own - sized_.a.inputs.begin())];
    if (!all_finite(made)) return std::nullopt;
    fed[from] = rounded(made);
  }
  return fed;
}

// Numbers that grow, or shrink, until every limit has been met from both sides: for a stretch with one input made up, for
// others as a's own layers make them.
bool Comparison::agrees_everywhere(std::size_t i) {
  const auto at = stretch(i);
  if (!at) return true;
  std::vector<Limits> limits_a = limits_in(at->a.graph), limits_b = limits_in(at->b.graph);
  std::vector<double> factors;
  if (!agrees_when_fed(i, {}, limits_a, limits_b, &factors)) return false;
  auto runs = all_rows(*at);
  if (runs.size() == most_runs_of_rows)
    states_[i].not_reached.push_back("the last rows of the table at '" + layer_of_a(alignment_.matches[i]) + "'");
  for (auto& rows : runs)
    if (!agrees_when_fed(i, std::move(rows), limits_a, limits_b, nullptr)) return false;
  if (auto fed = halves(*at); fed && !agrees_when_fed(i, *std::move(fed), limits_a, limits_b, nullptr)) return false;
  for (auto& numbers : quiet(*at))
    if (!agrees_when_fed(i, std::move(numbers), limits_a, limits_b, nullptr)) return false;
  const bool is_single = at->a.from.size() == 1 && at->b.from.size() == 1;
  const bool takes_rows = is_single && index_ranges(at->a.graph)[slot_of(at->a.graph.inputs[0])] > 0;
  const int most_tries = is_single ? 12 : 6;
  double factor = 1;
  for (int n = 0; n < most_tries && !takes_rows; ++n) {
    if (!is_single && factors.empty()) break;
    if (!factors.empty()) factor *= std::clamp(factors[static_cast<std::size_t>(n) % factors.size()], 0x1p-40, 0x1p40);
    std::optional<std::map<std::size_t, Tensor>> fed;
    if (!is_single) fed = fed_from_scaled(*at, factor);
    else if (auto numbers = reaching(*alignment_.of_a(at->a.from[0]), n == 0 ? 1 : factor, n % 2 == 1))
      fed = std::map<std::size_t, Tensor>{{at->reads[0], *std::move(numbers)}};
    if (!fed) break;
    if (n == 0 && is_single) factor = 1;
    if (!agrees_when_fed(i, *std::move(fed), limits_a, limits_b, &factors)) return false;
    if (factors.empty()) break;
  }
  for (const auto* limits : {&limits_a, &limits_b})
    for (const Limits& one : *limits)
      for (const std::string& side : not_met(one))
        if (std::ranges::find(states_[i].not_reached, side) == states_[i].not_reached.end())
          states_[i].not_reached.push_back(side);
  return true;
}

// By the numbers that a makes, in float64: the bound behind many steps is wide.
bool Comparison::agrees_to_the_last(std::size_t i) const {
  const auto at = stretch(i);
  std::vector<Limits> none;
  const auto sharp = at ? in_float64(i, *at, none, none) : std::nullopt;
  return !sharp || sharp->share <= std::max(sharp->allowed, exact_share);
}

// Where the operators are the same and weights are not, what explains the numbers must do so to the last digits: within
// float32's rounding, which recurrent cells make much of, other mistakes would too.
void Comparison::sharpen(std::size_t i) {
  State& state = states_[i];
  const auto at = stretch(i);
  std::vector<Limits> none;
  const auto sharp = at ? in_float64(i, *at, none, none) : std::nullopt;
  if (!sharp || sharp->allowed >= 1) return;
  state.sharpness = sharp->allowed;
  const auto again = gap(i);
  if (again && !again->same) state.gap = *again;
  else state.sharpness = 1;
}

void Comparison::compare_exactly() {
  bounds_ = bounds_of(sized_.a);
  for (std::size_t i = 0; i < states_.size(); ++i) {
    State& state = states_[i];
    if (!state.compared || state.dropped) continue;
    const Match& match = alignment_.matches[i];
    const Piece a = cut(sized_.a, match.a, boundary_of(sized_.a, match.a, matched_a_));
    const Piece b = cut(sized_.b, match.b, boundary_of(sized_.b, match.b, matched_b_));
    const auto alike = alike_at(i, a, b);
    state.weights = alike ? weights_of(a, b, *alike) : weights_in(a, b);
    state.is_identical = alike && state.weights.all_equal;
    if (alike) settle_moved_biases(i, a, b);
    if (!state.gap.same && state.weights.different > 0) sharpen(i);
    if (!state.gap.same || state.is_identical) continue;
    if (!agrees_everywhere(i)) continue;
    if (state.weights.different > 0) blame_weights(i);
    else if (state.is_rounded) compare_affine(i, a, b);
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
  }
}

}  // namespace convoy::diagnose
