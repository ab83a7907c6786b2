#include "diagnose/compare.h"

#include "base/long_work.h"
#include "diagnose/axis_order.h"
#include "diagnose/error_map.h"
#include "diagnose/fingerprint.h"
#include "diagnose/hypothesis.h"
#include "prove/compare.h"
#include "prove/drawn_numbers.h"
#include "run/run.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <utility>

namespace convoy::diagnose {

Comparison::Comparison(const Sized& sized, const Alignment& alignment, int threads, bool maps)
    : sized_(sized),
      alignment_(alignment),
      threads_(threads),
      maps_(maps),
      matched_a_(sized.a.values.size(), false),
      matched_b_(sized.b.values.size(), false),
      readers_a_(readers_of(sized.a)),
      readers_b_(readers_of(sized.b)),
      states_(alignment.matches.size()) {
  for (std::size_t i = 0; i < alignment_.matches.size(); ++i) set(i, true);
  for (Match& match : alignment_.matches) {
    if (!match.permutation.empty()) continue;
    match.permutation.resize(sized.a[match.a].type.shape.size());
    std::iota(match.permutation.begin(), match.permutation.end(), Size{0});
  }
}

const std::map<std::uint64_t, std::string>& Comparison::kernels() const {
  if (!kernels_.empty()) return kernels_;
  for (const Node& node : sized_.a.nodes)
    for (const std::size_t input : {std::size_t{1}, std::size_t{2}})
      if (const Tensor* tensor = constant_of(sized_.a, node, input)) kernels_.emplace(fingerprint(*tensor), node.layer);
  return kernels_;
}

void Comparison::set(std::size_t match, bool is_matched) {
  matched_a_[alignment_.matches[match].a.slot()] = is_matched;
  matched_b_[alignment_.matches[match].b.slot()] = is_matched;
}

Status Comparison::start(const std::vector<Tensor>& inputs, Values known) {
  if (known.empty()) {
    RunOptions options;
    options.precision = Precision::Double;
    options.threads = threads_;
    options.keeps_all = true;
    auto values = run(sized_.a, inputs, options);
    if (!values) return pass(values);
    known = *std::move(values);
  }
  values_a_.resize(sized_.a.values.size());
  for (auto& [v, tensor] : known) values_a_[v.slot()] = std::move(tensor);
  for (std::size_t i = 0; i < inputs.size(); ++i) values_a_[sized_.a.inputs[i].slot()] = inputs[i];
  return {};
}

// Where a makes whole numbers alone, behind a rounding, no others come to stand.
void Comparison::keep_whole(const Tensor& own, std::vector<float>& made) {
  const auto numbers = own.floats();
  if (std::ranges::any_of(numbers, [](float x) { return x != std::nearbyint(x); })) return;
  if (std::ranges::all_of(numbers, [](float x) { return x == 0; })) return;  // which says nothing
  for (float& x : made) x = std::nearbyint(x);
}

// Numbers of this shape between the least and the largest of `own`; nothing where those are not numbers.
std::optional<Tensor> Comparison::fresh_like(const Tensor& own, const Sizes& shape, std::uint64_t seed) {
  if (own.dtype() != DType::F32 || own.count() == 0) return std::nullopt;
  const auto values = own.floats();
  const auto [least, most] = std::ranges::minmax(values);
  if (!std::isfinite(least) || !std::isfinite(most)) return std::nullopt;
  std::mt19937_64 random(seed);
  std::vector<float> made(static_cast<std::size_t>(checked_count(shape).value_or(0)));
  for (float& value : made) {
    const float share = drawn_share(random());
    value = least * (1 - share) + most * share;
  }
  keep_whole(own, made);
  return Tensor::of(shape, std::move(made));
}

// A's own numbers, or others between their least and largest: those that the model might have met. What a value of 16 bits can
// hold of others is for the stretch that reads them: the other model may round further on.
Tensor Comparison::forced(const Match& match, const State& state) const {
  const auto fed = state.fed.find(static_cast<std::size_t>(&match - alignment_.matches.data()));
  if (fed != state.fed.end()) return fed->second;
  const DType dtype = sized_.a[match.a].type.dtype;  // of 16 bits where the model rounds to them
  Tensor own = rounded(values_a_[match.a.slot()], dtype);
  if (!state.fresh) return own;
  return rounded(fresh_like(own, own.shape(), static_cast<std::uint64_t>(match.a.index) + 1).value_or(own), dtype);
}

Result<Comparison::Stretch> Comparison::stretch(std::size_t i) const {
  const Match& match = alignment_.matches[i];
  Stretch result;
  result.a = cut(sized_.a, match.a, boundary_of(sized_.a, match.a, matched_a_));
  result.b = cut(sized_.b, match.b, boundary_of(sized_.b, match.b, matched_b_));
  if (result.a.graph.nodes.empty() || result.b.graph.nodes.empty()) return fail(Fault::Internal, "an empty stretch");
  for (const ValueId v : result.a.from) {
    const Match* from = alignment_.of_a(v);
    if (!from) return fail(Fault::Unsupported, "input '" + sized_.a[v].name + "' has no counterpart");
    result.inputs_a.push_back(rounded(forced(*from, states_[i]), sized_.a[v].type.dtype));
    result.reads.push_back(static_cast<std::size_t>(from - alignment_.matches.data()));
  }
  if (states_[i].own_sizes) {
    if (auto fed = feed_at_own_sizes(result); !fed) return pass(fed);
    return result;
  }
  bool other_sizes = false;
  for (const ValueId v : result.b.from) {
    const Match* from = alignment_.of_b(v);
    if (!from) return fail(Fault::Unsupported, "input '" + sized_.b[v].name + "' has no counterpart");
    const auto shape = sizes_of(sized_.b[v].type.shape);
    const auto at = static_cast<std::size_t>(from - alignment_.matches.data());
    const Tensor own = rounded(forced(*from, states_[i]), sized_.b[v].type.dtype);
    const bool keeps_own = was_put_along_another_axis(*from);
    result.inputs_b.push_back(arranged(own, from->permutation,
                                       keeps_own             ? Sizes{}
                                       : states_[at].upright ? own.shape()
                                                             : shape.value_or(Sizes{})));
    result.reads.push_back(at);
    other_sizes = other_sizes || result.inputs_b.back().shape() != shape;
  }
  // What an earlier difference made longer or shorter reaches b's layer at a's size here: SAME has other numbers there.
  if (other_sizes && !sized_.rules_b.empty())
    if (auto at_size = renumbered(result.b.graph, sized_.rules_b, result.inputs_b, threads_))
      result.b.graph = *std::move(at_size);
  return result;
}

// Fresh numbers of the shapes that b has at these places.
Status Comparison::feed_at_own_sizes(Stretch& at) const {
  at.inputs_a.clear();
  at.reads.clear();
  const auto numbers = [&](const Match& from) -> std::optional<Tensor> {
    const auto own = sizes_of(sized_.b[from.b].type.shape);
    const Tensor of_a = forced(from, State{});
    if (!own || own->size() != from.permutation.size() || own->size() != of_a.shape().size()) return std::nullopt;
    Sizes shape;
    for (const Size axis : inverse(from.permutation)) shape.push_back((*own)[static_cast<std::size_t>(axis)]);
    return fresh_like(of_a, shape, static_cast<std::uint64_t>(from.a.index) + 1);
  };
  const auto feed = [&](const Match* from, std::vector<Tensor>& inputs, const Sizes& order) {
    auto made = from ? numbers(*from) : std::nullopt;
    if (!made) return false;
    inputs.push_back(order.empty() ? *made : made->permuted(order));
    at.reads.push_back(static_cast<std::size_t>(from - alignment_.matches.data()));
    return true;
  };
  bool all = true;
  for (const ValueId v : at.a.from) all = all && feed(alignment_.of_a(v), at.inputs_a, {});
  for (const ValueId v : at.b.from) {
    const Match* from = alignment_.of_b(v);
    all = all && feed(from, at.inputs_b, from ? from->permutation : Sizes{});
  }
  if (!all) return fail(Fault::Unsupported, "b has no sizes of its own here");
  if (auto at_size = renumbered(at.a.graph, sized_.rules_a, at.inputs_a, threads_)) at.a.graph = *std::move(at_size);
  return {};
}

// Outputs lie alike in the form that both models have: they have the same shape, or differ.
bool Comparison::has_exact_shape(std::size_t i) const { return alignment_.matches[i].how == How::Output; }

// The same pieces side by side along another axis make other sizes of as many numbers, which may even lie in one order.
bool Comparison::was_put_along_another_axis(const Match& match) const {
  if (!match.node_a || !match.node_b) return false;
  const Node &a = sized_.a[match.node_a], &b = sized_.b[match.node_b];
  if (!holds_alternative<Concat>(a.op) || !holds_alternative<Concat>(b.op)) return false;
  const auto of_a = sizes_of(sized_.a[match.a].type.shape), of_b = sizes_of(sized_.b[match.b].type.shape);
  return of_a && of_b && of_a->size() == of_b->size() && !have_same_sizes(*of_a, *of_b);
}

// Outputs, and what is put side by side, have the same sizes, in whatever order: as many numbers are not enough. Not
// where the stretch of b is fed under other sizes than a's.
bool Comparison::keeps_sizes(std::size_t i, const Stretch& at) const {
  const Match& match = alignment_.matches[i];
  if (match.how != How::Output && !was_put_along_another_axis(match)) return false;
  for (std::size_t n = 0; n < at.b.from.size(); ++n) {
    const Match* from = alignment_.of_b(at.b.from[n]);
    if (!from || !have_same_sizes(values_a_[from->a.slot()].shape(), at.inputs_b[n].shape())) return false;
  }
  return true;
}

// In float64 both stretches make the same numbers: then the difference is float32's, however it came about. Not where
// rounding is what a stretch does, nor where b's numbers leave float32's range, unless they are larger than the model's own.
bool Comparison::agrees_in_float64(std::size_t i, const Stretch& at, const Tensor& wanted, const Rounded& got) const {
  constexpr double near = 1e-12, share = 0x1p-24;
  const auto all_numbers = [](const Tensor& tensor) {
    return std::ranges::all_of(tensor.doubles(), [](double x) { return std::isfinite(x); });
  };
  const auto casts = [](const Graph& graph) {
    return std::ranges::any_of(graph.nodes, [](const Node& node) {
      const auto* cast = get_if<Cast>(&node.op);
      return cast && (cast->to == DType::F16 || cast->to == DType::BF16);
    });
  };
  if (casts(at.a.graph) || casts(at.b.graph) || !all_numbers(wanted)) return false;
  const bool is_finite = all_numbers(got.value);
  if (!is_finite && !again_) return false;
  auto value = evaluate(at.b.graph, at.inputs_b, threads_);
  if (!value || value->count() != got.value.count() || !got.error) return false;
  const auto numbers = value->doubles();
  auto error = got.error->floats();
  for (std::size_t n = 0; n < error.size(); ++n)
    error[n] =
        static_cast<float>(near * std::abs(numbers[n]) + (is_finite ? share * static_cast<double>(error[n]) : 0));
  const Rounded in_float64{*value, Tensor::of(value->shape(), std::move(error)), 0, 1};
  return gap_between(in_float64, wanted, alignment_.matches[i].permutation).same;
}

// Where more than one order of axes fits the shapes, the one under which the numbers agree.
Result<Gap> Comparison::gap(std::size_t i) {
  auto at = stretch(i);
  if (!at) return pass(at);
  auto wanted = evaluate(at->a.graph, at->inputs_a, threads_);
  if (!wanted) return pass(wanted);
  const double sharpness = states_[i].sharpness;
  auto got = evaluate_sharply(at->b.graph, at->inputs_b, sharpness, threads_);
  if (!got) return pass(got);
  Match& match = alignment_.matches[i];
  if (auto allowed =
          sharpness < 1 ? allow_for_float64(*got, at->a.graph, at->inputs_a, match.permutation, threads_) : Status();
      !allowed)
    return pass(allowed);
  if (auto allowed =
          sharpness < 1 ? Status() : allow_for_known(*got, at->a.graph, at->inputs_a, match.permutation, threads_);
      !allowed)
    return pass(allowed);
  if (auto allowed = sharpness < 1
                         ? Status()
                         : allow_for_folded(*got, at->a.graph, at->b.graph, at->inputs_a, match.permutation, threads_);
      !allowed)
    return pass(allowed);
  Gap best = gap_between(*got, *wanted, match.permutation);
  const bool is_sized = !keeps_sizes(i, *at) || have_same_sizes(wanted->shape(), got->value.shape());
  if (!is_sized || (has_exact_shape(i) && wanted->permuted(match.permutation).shape() != got->value.shape()))
    best = of_another_shape(best);
  if (maps_) states_[i].map = error_map(*got, arranged(*wanted, match.permutation, got->value.shape()));
  if (best.same) return best;
  if (sharpness == 1 && !best.other_shape && agrees_in_float64(i, *at, *wanted, *got)) {
    best.same = true;
    return best;
  }
  if (!is_sized || states_[i].upright || has_exact_shape(i)) return best;
  for (const Sizes& order : permutations_between(wanted->shape(), got->value.shape())) {
    const Gap other = gap_between(*got, *wanted, order);
    if (!other.same) continue;
    match.permutation = order;
    states_[i].turned = true;
    if (maps_) states_[i].map = error_map(*got, arranged(*wanted, order, got->value.shape()));
    return other;
  }
  return best;
}

std::vector<std::size_t> Comparison::readers_of_match(std::size_t i) const {
  const Match& match = alignment_.matches[i];
  std::set<std::size_t> found;
  const auto collect = [&](const Graph& graph, const std::vector<std::vector<NodeId>>& readers, ValueId from,
                           const std::vector<bool>& matched, const std::vector<int>& places) {
    for (const NodeId n : reached_from(graph, readers, {from}, matched))
      for (const ValueId v : graph[n].outputs) {
        const int at = v ? places[v.slot()] : -1;
        if (at >= 0) found.insert(static_cast<std::size_t>(at));
      }
  };
  collect(sized_.a, readers_a_, match.a, matched_a_, alignment_.places_a);
  collect(sized_.b, readers_b_, match.b, matched_b_, alignment_.places_b);
  std::vector<std::size_t> readers;
  for (const std::size_t j : found)
    if (j != i && !states_[j].dropped && alignment_.matches[j].how != How::Input) readers.push_back(j);
  return readers;
}

// Where everything agrees on a's own numbers, some others: a maximum's padding shows only where a whole window is negative.
// Only for stretches with one input, whose numbers hang on nothing else.
void Comparison::try_fresh(std::size_t i) {
  const auto at = stretch(i);
  if (!at || at->a.from.size() != 1 || at->b.from.size() != 1) return;
  const bool chooses = std::ranges::any_of(
      at->a.graph.nodes, [](const Node& node) { return is_function(node.op) || holds_alternative<MaxPool>(node.op); });
  if (!chooses) return;
  State& state = states_[i];
  state.fresh = true;
  const auto other = gap(i);
  if (other && !other->same) state.gap = *other;
  else state.fresh = false;
}

Status Comparison::compare_all(bool again) {
  again_ = again;
  drop_other_ends();
  LongWork work("comparing", states_.size());
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (auto wanted = still_wanted("comparing"); !wanted) return wanted;
    if (alignment_.matches[i].how == How::Input || states_[i].dropped) continue;
    work.at(i + 1, layer_of_a(alignment_.matches[i]));
    State& state = states_[i];
    if (again && is_identical(i)) {
      state.compared = true;
      continue;
    }
    auto found = gap(i);
    if (found) state.gap = *found;
    else {
      state.gap = {
          std::numeric_limits<double>::infinity(), 0, std::numeric_limits<double>::infinity(), 1, 0, false, true};
      state.trouble = message(found.error());
    }
    state.compared = true;
    if (!state.gap.same && only_seems(i)) state.dropped = true;
    else if (!state.gap.same) try_own_sizes(i);
    if (!state.gap.same || is_identical(i)) continue;
    try_fresh(i);
    if (!state.gap.same) only_seems_when_fed(i);
  }
  drop_crossed();
  drop_transformed();
  // From the end: what is turned upright there shows whether what stands in front of it was right.
  for (std::size_t i = states_.size(); i-- > 0;) {
    if (auto wanted = still_wanted("comparing"); !wanted) return wanted;
    const Match& match = alignment_.matches[i];
    const bool is_inner = match.how != How::Input && match.how != How::Output;
    if (is_inner && (states_[i].turned || (!is_identity(match.permutation) && alike_inputs(sized_.a, sized_.b))))
      turn_upright(i);
  }
  return {};
}

}  // namespace convoy::diagnose
