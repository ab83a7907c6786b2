#include "prove/structure.h"

#include "prove/compare.h"
#include "prove/stretch.h"
#include "prove/trial.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

namespace convoy {

namespace {

// These inputs with whole numbers in place of floats; indices stay.
std::vector<Tensor> with_whole_inputs(const Graph& source, const Graph& target, std::vector<Tensor> inputs,
                                      std::uint64_t seed) {
  const auto ranges = whole_ranges(source, target);
  const auto indices = index_ranges(source);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto v = source.inputs[i].slot();
    if (inputs[i].dtype() > DType::F64 || indices[v] > 0) continue;
    inputs[i] = whole_numbers(inputs[i].shape(), ranges[v], (seed + 1) * 0xD1342543DE82EF95 + v);
  }
  return inputs;
}

// ---- one layer by itself ---------------------------------------------------------------------------------------------

// Both sides of a stretch as graphs of their own, with the weights and with whole numbers in their place.
struct Alone {
  Graph source, target, whole_source, whole_target;
  Spread spread;
};

// The values' numbers in a cut graph follow from its form alone, so equal forms are the same computation.
bool same_form(const Graph& a, const Graph& b) {
  if (a.nodes.size() != b.nodes.size() || a.values.size() != b.values.size() || a.inputs != b.inputs) return false;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    const Value &x = a.values[i], &y = b.values[i];
    if (x.type != y.type || x.constant.has_value() != y.constant.has_value()) return false;
    if (x.constant && !(x.constant->dtype() <= DType::F64) && !same_bytes(*x.constant, *y.constant)) return false;
    if (x.origin.has_value() != y.origin.has_value()) return false;
    if (x.origin && (x.origin->split != y.origin->split || x.origin->permutation != y.origin->permutation))
      return false;
  }
  for (std::size_t i = 0; i < a.nodes.size(); ++i) {
    const Node &x = a.nodes[i], &y = b.nodes[i];
    if (!(x.op == y.op) || x.inputs != y.inputs || x.outputs != y.outputs) return false;
  }
  return true;
}

// The free axes of a cut graph's inputs, the batch aside.
std::vector<std::size_t> free_axes(const Graph& graph) {
  std::vector<std::size_t> axes;
  for (const ValueId v : graph.inputs) {
    const Shape& shape = graph[v].type.shape;
    for (std::size_t i = 1; i < shape.size(); ++i)
      if (!shape[i].known() && std::ranges::find(axes, i) == axes.end()) axes.push_back(i);
  }
  std::ranges::sort(axes);
  return axes;
}

std::vector<Shape> filled(const Graph& graph, const std::vector<std::size_t>& axes, const Sizes& lengths) {
  std::vector<Shape> shapes;
  for (const ValueId v : graph.inputs) {
    Shape shape = graph[v].type.shape;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const auto at = std::ranges::find(axes, i);
      if (!shape[i].known())
        shape[i] = at == axes.end() ? Dim(1) : Dim(lengths[static_cast<std::size_t>(at - axes.begin())]);
    }
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

// A dense layer's weights fix the length of what it reads, also where the graph does not say so.
void fix_by_weights(Graph& graph) {
  for (const Node& node : graph.nodes) {
    const auto* linear = get_if<Linear>(&node.op);
    if (!linear || graph[node.inputs[0]].producer) continue;
    const Shape& kernel = graph[node.inputs[1]].type.shape;
    Shape& shape = graph[node.inputs[0]].type.shape;
    if (!shape.empty() && kernel.size() == 2) shape.back() = kernel[linear->order == LinearOrder::InOut ? 0 : 1];
  }
}

// Some frameworks answer with nothing at all where no window fits: no numbers, so nothing to compare.
bool has_empty_values(const Graph& graph) {
  return std::ranges::any_of(graph.values, [](const Value& value) {
    return std::ranges::find(value.type.shape, Dim(0)) != value.type.shape.end();
  });
}

// The sizes to be tried on one axis: all up to the first whole period in which everything is settled; of a long list that
// period alone and the least sizes; of a long period some of its remainders.
struct SomeLengths {
  Sizes all;
  bool covers = true;  // every remainder
};
constexpr Size most_lengths = 48, most_remainders = 32;

SomeLengths lengths_for(const Spread& spread, bool is_dear) {
  SomeLengths lengths;
  const Size last = spread.settled + spread.period - 1;
  if (last <= most_lengths && !is_dear) {
    for (Size n = 1; n <= last; ++n) lengths.all.push_back(n);
    return lengths;
  }
  if (!is_dear)
    for (Size n = 1; n <= 4; ++n) lengths.all.push_back(n);
  lengths.covers = spread.period <= most_remainders;
  const Size p = spread.period;
  Sizes remainders;
  if (lengths.covers)
    for (Size r = 0; r < p; ++r) remainders.push_back(r);
  else remainders = {0, 1, 2, 3, p / 2 - 1, p / 2, p / 2 + 1, p - 2, p - 1};
  for (const Size r : remainders)
    if (lengths.all.empty() || spread.settled + r > lengths.all.back()) lengths.all.push_back(spread.settled + r);
  return lengths;
}

enum class Ending : std::uint8_t { Same, Different, Refused };

struct Attempt {
  Ending ending = Ending::Refused;
  bool rounds = false;  // whole numbers were rounded: nothing was compared
  std::string reason;
};

// One size. Refused: the source does not take it either.
Result<Attempt> attempt(const Graph& source, const Graph& target, const std::vector<Shape>& shapes, Numbers numbers,
                        const ProofOptions& options) {
  Attempt result;
  auto sized = with_input_shapes(source, shapes);
  if (!sized || has_empty_values(*sized)) return result;
  auto inputs = probing_inputs(*sized, 0, options.seed);
  if (!inputs) return result;
  auto for_target = target_inputs(*sized, target, *inputs);
  if (!for_target) return result;
  auto other = with_input_shapes(target, shapes_of(*for_target));
  if (!other) return Attempt{Ending::Different, false, message(other.error())};
  if (numbers == Numbers::Whole) {
    inputs = with_whole_inputs(*sized, *other, *std::move(inputs), options.seed);
    for_target = target_inputs(*sized, *other, *inputs);
    if (!for_target) return pass(for_target);
  }
  Proof proof;
  if (auto done = Trial(*sized, *other, numbers, options, proof).run(*inputs, *for_target); !done) {
    if (is_too_much(done.error().fault)) return pass(done);
    return result;
  }
  for (const LayerProof& layer : proof.layers) result.rounds = result.rounds || !layer.structure.rounds.empty();
  result.ending = proof.reason.empty() ? Ending::Same : Ending::Different;
  result.reason = std::move(proof.reason);
  return result;
}

double weights_in(const Graph& graph) {
  double count = 1;
  for (const Value& value : graph.values)
    if (value.constant) count += static_cast<double>(value.constant->count());
  return count;
}

// What came of one stretch.
struct Found {
  LayerStructure structure;
  std::string first;  // size and reason of the first difference
};

std::string text_of_lengths(const Sizes& lengths) {
  std::string text;
  for (const Size n : lengths) text += (text.empty() ? "" : "x") + std::to_string(n);
  return text;
}

// The lengths tried of one stretch.
class LengthTrial {
 public:
  LengthTrial(const Alone& alone, const ProofOptions& options)
      : alone_(alone),
        options_(options),
        axes_(free_axes(alone.source)) {}

  // This length on one axis, the others long enough and unlike. Where that differs the fault may be theirs, so they take
  // each remainder: the length is at fault when it differs with all of them. Where it is refused, all axes are alike.
  Result<Ending> ending(Size n, std::size_t axis) {
    const Size shifts = axes_.size() > 1 ? std::min<Size>(alone_.spread.period, 8) : 1;
    Ending ending = Ending::Refused;
    for (Size shift = 0; shift < shifts; ++shift) {
      Sizes each;
      for (std::size_t i = 0; i < axes_.size(); ++i)
        each.push_back(i == axis ? n : ample() + static_cast<Size>(i) + shift);
      const auto one = at(each);
      if (!one || *one != Ending::Different) return !one || *one == Ending::Same || shift > 0 ? one : at(alike(n));
      ending = *one;
    }
    return ending;
  }
  const std::vector<std::size_t>& axes() const { return axes_; }
  const std::string& first() const { return first_; }  // difference, with its sizes; empty: none
  Size ample() const { return alone_.spread.settled + alone_.spread.period; }

 private:
  Sizes alike(Size n) const { return Sizes(axes_.size(), n); }
  Result<Ending> at(const Sizes& each) {
    const auto shapes = filled(alone_.source, axes_, each);
    Result<Attempt> done = Attempt{};
    if (!rounds_) {
      done = attempt(alone_.whole_source, alone_.whole_target, shapes, Numbers::Whole, options_);
      if (!done) return pass(done);
      rounds_ = done->rounds;
    }
    if (rounds_) done = attempt(alone_.source, alone_.target, shapes, Numbers::OfTheSource, options_);
    if (!done) return pass(done);
    if (done->ending == Ending::Different && first_.empty()) {
      first_ = text_of_lengths(each) + " of its own input: " + done->reason;
    }
    return done->ending;
  }

  const Alone& alone_;
  const ProofOptions& options_;
  std::vector<std::size_t> axes_;
  bool rounds_ = false;
  std::string first_;
};

Result<Found> tried_alone(const Alone& alone, const ProofOptions& options, double& budget) {
  Found found;
  LengthTrial trial(alone, options);
  const std::size_t axes = trial.axes().size();
  double cells = 0;
  for (const Size n : lengths_for(alone.spread, false).all) cells += static_cast<double>(n);
  for (std::size_t i = 1; i < axes; ++i) cells *= 2 * static_cast<double>(trial.ample());
  const double work = cells * weights_in(alone.target);
  const bool is_dear = work > budget;
  if (!is_dear) budget -= work;
  const SomeLengths lengths = lengths_for(alone.spread, is_dear);
  LayerStructure& s = found.structure;
  for (const Size n : lengths.all) {
    bool is_tried = false, differs = false;
    for (std::size_t axis = 0; axis < axes; ++axis) {
      const auto ending = trial.ending(n, axis);
      if (!ending) return std::unexpected(ending.error());
      is_tried = is_tried || *ending != Ending::Refused;
      differs = differs || *ending == Ending::Different;
    }
    if (is_tried) s.tried.push_back(n);
    if (differs) s.differs.push_back(n);
  }
  found.first = trial.first();
  s.period = alone.spread.period;
  s.settled = alone.spread.settled;
  s.same = found.first.empty();
  s.every_size = s.same && !s.tried.empty() && lengths.covers && alone.spread.repeats;
  return found;
}

void merge(LayerStructure& layer, const LayerStructure& stretch, bool is_first) {
  if (is_first) {
    layer.tried = stretch.tried;
    layer.period = stretch.period;
    layer.settled = stretch.settled;
    layer.every_size = stretch.every_size;
  } else {
    Sizes all;
    std::ranges::set_union(layer.tried, stretch.tried, std::back_inserter(all));
    layer.tried = std::move(all);
    layer.period = std::lcm(layer.period, stretch.period);
    layer.settled = std::max(layer.settled, stretch.settled);
    layer.every_size = layer.every_size && stretch.every_size;
  }
  Sizes either;
  std::ranges::set_union(layer.differs, stretch.differs, std::back_inserter(either));
  layer.differs = std::move(either);
}

}  // namespace

Status prove_structure(const WholeModels& models, const std::vector<Tensor>& inputs, const ProofOptions& options,
                       Proof& proof) {
  auto source = with_input_shapes(models.source, shapes_of(inputs));
  if (!source) return pass(source);
  auto unsized_inputs = target_inputs(*source, models.target, inputs);
  if (!unsized_inputs) return pass(unsized_inputs);
  auto target = with_input_shapes(models.target, shapes_of(*unsized_inputs));
  if (!target) return pass(target);
  const auto whole = with_whole_inputs(*source, *target, inputs, options.seed);
  auto for_target = target_inputs(*source, *target, whole);
  if (!for_target) return pass(for_target);
  return Trial(*source, *target, Numbers::Whole, options, proof, &models.weights).run(whole, *for_target);
}

Status prove_layers_alone(const Graph& source, const Graph& target, const WholeModels& models,
                          const ProofOptions& options, bool only_different, Proof& proof) {
  struct Known {
    Alone alone;
    Found found;
  };
  std::vector<Known> known;
  std::map<std::string, bool> begun;
  double budget = 0x1p31;
  for (LayerProof& layer : proof.layers) layer.structure.every_size = layer.same;
  for (const Stretch& stretch : stretches_of(source, target, counterparts(names_of(source), target))) {
    const Node& node = target[target[stretch.of_target].producer];
    const auto layer = std::ranges::find(proof.layers, node.layer, &LayerProof::layer);
    if (layer == proof.layers.end() || (only_different && layer->same)) continue;
    Alone alone{cut_out(source, stretch.source, stretch.of_source),
                cut_out(target, stretch.target, stretch.of_target),
                {},
                {},
                {}};
    fix_by_weights(alone.source);
    if (free_axes(alone.source).empty()) continue;
    const Spread a = spread_of(alone.source), b = spread_of(alone.target);
    alone.spread = {std::lcm(a.period, b.period), 1, a.repeats && b.repeats};
    alone.spread.settled = (ceil_div(std::max(a.settled, b.settled), alone.spread.period))*alone.spread.period;
    Found found;
    const auto before = std::ranges::find_if(known, [&](const Known& k) {
      return same_form(k.alone.source, alone.source) && same_form(k.alone.target, alone.target);
    });
    if (before != known.end()) {
      found = before->found;
    } else if (stretch.alike()) {
      alone.whole_source = cut_out(models.source, stretch.source, stretch.of_source);
      alone.whole_target = cut_out(models.target, stretch.target, stretch.of_target);
      fix_by_weights(alone.whole_source);
      for (Value& value : alone.whole_source.values)
        if (value.constant) value.constant = models.weights.of_source(value);
      for (Value& value : alone.whole_target.values)
        if (value.constant) value.constant = models.weights.of_target(value);
      auto tried = tried_alone(alone, options, budget);
      if (!tried) return within(place_of(node), Status(pass(tried)));
      found = *std::move(tried);
      alone.whole_source = alone.whole_target = {};
      known.push_back({std::move(alone), found});
    }
    merge(layer->structure, found.structure, begun.emplace(node.layer, true).second);
    if (found.first.empty()) continue;
    layer->same = layer->structure.same = false;
    if (layer->where.empty()) layer->where = found.first;
    if (proof.reason.empty()) proof.reason = place_of(node) + " differs at " + found.first;
  }
  return {};
}

std::string sizes_where_same(const LayerStructure& s) {
  if (s.tried.empty()) return "at the sizes of the whole model; it was not tried alone";
  if (s.differs.empty()) {
    if (!s.same) return "at some pairs of sizes only";
    if (s.every_size) return "at every size";
    return "at every size tried, " + std::to_string(s.tried.front()) + " to " + std::to_string(s.tried.back());
  }
  const std::string witness = ", not at " + std::to_string(s.differs.back());
  Sizes same;  // remainders at which it never differs
  for (Size r = 0; r < s.period; ++r) {
    const auto leaves = [&](Size n) { return n % s.period == r; };
    if (std::ranges::any_of(s.tried, leaves) && std::ranges::none_of(s.differs, leaves)) same.push_back(r);
  }
  if (!same.empty() && s.period == 2)
    return std::string("at ") + (same[0] == 1 ? "odd" : "even") + " sizes only" + witness;
  if (!same.empty()) {
    std::string text;
    for (const Size r : same) text += (text.empty() ? "" : ", ") + std::to_string(r);
    return "at sizes with remainder " + text + " by " + std::to_string(s.period) + " only" + witness;
  }
  const auto beyond = std::ranges::find_if(s.tried, [&](Size n) { return n > s.differs.back(); });
  if (beyond != s.tried.end()) return "from " + std::to_string(*beyond) + " on" + witness;
  if (s.differs.front() > s.tried.front()) return "below " + std::to_string(s.differs.front()) + " only" + witness;
  return "at no size tried" + witness;
}

}  // namespace convoy
