// Says a pool's padding in the target's numbers, with one rule for the last window on all axes, or by its word.
// What cannot be said so: a maximum gets minus infinity in front, and TensorFlow's over nothing but such cells stays finite; an average drops leading cells behind, is corrected by
// a constant map, or, where the size is free, is divided by the average of a padded map of ones.
#include "ops/expect.h"
#include "ops/vocabulary.h"
#include "passes/node_by_node.h"
#include "passes/pads.h"
#include "passes/rewrites.h"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <utility>

namespace convoy {

namespace {

using AllPaddings = std::vector<Padding>;

template <class Pool>
class PoolSpeller {
 public:
  PoolSpeller(const Graph& graph, Patch& patch, NodeId id, const Pool& pool, const Target& target)
      : patch_(patch),
        target_(target),
        node_(graph[id]),
        id_(id),
        pool_(pool),
        shape_(graph[node_.inputs[0]].type.shape),
        sizes_(spatial_sizes(shape_, pool.axes)) {}

  // First the remainder dropped on all axes, then a window more on all axes, then the target's word; Keras has words
  // alone.
  std::optional<AllPaddings> spoken(Windowed windowed) const {
    if (target_.framework == Framework::Keras) {
      auto said = respell(speaker(windowed), pool_.paddings, pool_.windows, sizes_);
      return said ? std::optional(std::move(said->paddings)) : std::nullopt;
    }
    for (const Form form : {Form::Numbers, Form::RoundedUp, Form::SameUpper})
      if (auto all = respell(speaker(windowed), form, pool_.paddings, pool_.windows, sizes_)) return all;
    return std::nullopt;
  }

  Speaker speaker(Windowed windowed) const { return {target_.framework, windowed, target_.opset}; }
  std::optional<Size> size(std::size_t i) const { return sizes_[i]; }
  Counting counting() const
    requires std::same_as<Pool, AveragePool>
  {
    return pool_.counts_padding ? Counting::WithPadding : Counting::Inside;
  }
  bool padless() const {
    for (const Padding& p : pool_.paddings)
      if (p != Padding{Spelling::Valid}) return false;
    return true;
  }
  Result<ValueId> in_front(ValueId x, double value) {
    return padded(patch_, node_, x, pool_.axes, pool_.windows, pool_.paddings, value);
  }
  Result<ValueId> make(Op op, std::vector<ValueId> inputs) {
    return patch_.one(node_, std::move(op), std::move(inputs));
  }
  Pool with(AllPaddings paddings) const {
    Pool pool = pool_;
    pool.paddings = std::move(paddings);
    return pool;
  }
  Pool without_padding() const { return with(AllPaddings(pool_.windows.size(), Padding{Spelling::Valid})); }
  Status becomes(Result<ValueId> now) { return patch_.become(id_, now); }
  // The same with all of its results.
  Status becomes_all(Pool pool) {
    auto made = patch_.node(node_, std::move(pool), node_.inputs, node_.outputs.size());
    if (!made) return pass(made);
    patch_.remove(id_);
    for (std::size_t i = 0; i < made->size(); ++i) patch_.replace(node_.outputs[i], (*made)[i]);
    return {};
  }
  std::string fronts() const { return words(pool_.windows, pool_.paddings, pool_.axes, shape_); }
  void remark(std::string text) { patch_.remark(node_, std::move(text)); }

  Patch& patch_;
  const Target& target_;
  const Node& node_;
  NodeId id_;
  const Pool& pool_;
  const Shape& shape_;
  SpatialSizes sizes_;
};

// Each window reads a cell that the pad did not add.
bool reaches_inside(const Pad& pad, const MaxPool& pool) {
  for (std::size_t axis = 0; axis < pad.before.size(); ++axis) {
    Size kernel = 1;
    for (std::size_t i = 0; i < pool.windows.size(); ++i)
      if (pool.axes.spatial(static_cast<Size>(i)) == static_cast<Size>(axis))
        kernel = pool.windows[i].dilation == 1 ? pool.windows[i].kernel : 1;
    if (pad.before[axis] >= kernel || pad.after[axis] >= kernel) return false;
  }
  return true;
}

// A pad of minus infinity lies somewhere in front, and some window may see no other cell.
bool may_see_nothing(const Graph& graph, const Node& node, const MaxPool& pool) {
  ValueId x = node.inputs[0];
  for (bool is_next = true; graph[x].producer; is_next = false) {
    const Node& maker = graph[graph[x].producer];
    if (!traits_of(maker.op).moves_numbers() || maker.inputs.empty() || !maker.inputs[0]) return false;
    const auto* pad = get_if<Pad>(&maker.op);
    if (pad && std::isinf(pad->value) && pad->value < 0) return !is_next || !reaches_inside(*pad, pool);
    x = maker.inputs[0];
  }
  return false;
}

// TensorFlow's search begins at the lowest finite number, the other frameworks' at minus infinity.
Status stay_finite(PoolSpeller<MaxPool>& speller) {
  speller.remark("the largest of no cell is the lowest finite number");
  auto y = speller.make(speller.pool_, {speller.node_.inputs[0]});
  if (y) y = speller.make(Clip{.least = std::numeric_limits<float>::lowest()}, {*y});
  return speller.becomes(std::move(y));
}

Status spell(const Graph& graph, NodeId id, const MaxPool& pool, const Target& target, Patch& patch) {
  PoolSpeller speller(graph, patch, id, pool, target);
  if (graph.rules.max_pools_pass_over_nan && target.framework != Framework::Keras &&
      pool.positions == Positions::None && speller.padless() && may_see_nothing(graph, speller.node_, pool))
    return stay_finite(speller);
  if (const auto direct = speller.spoken(Windowed::MaxPools)) {
    if (*direct == pool.paddings) return {};
    speller.remark("padding " + words(pool.paddings) + " is " + words(*direct));
    return speller.becomes_all(speller.with(*direct));
  }
  if (pool.positions != Positions::None)
    return within(place_of(speller.node_),
                  Status(fail(Fault::Unsupported, "tells where its maxima lie with padding " + words(pool.paddings) +
                                                      ", which the target cannot say, and a pad in front would move "
                                                      "the positions")));
  const DType dtype = graph[speller.node_.inputs[0]].type.dtype;
  speller.remark("padding " + words(pool.paddings) + " is " + speller.fronts() + " with " +
                 (is_floating(dtype) ? "minus infinity" : "the least number") + " in front");
  auto x = speller.in_front(speller.node_.inputs[0], least_of(dtype));
  if (!x) return pass(x);
  return speller.becomes(speller.make(speller.without_padding(), {*x}));
}

// PyTorch's Lp pools have no padding: zeros in front are worth nothing to a norm.
Status spell(const Graph& graph, NodeId id, const LpPool& pool, const Target& target, Patch& patch) {
  PoolSpeller speller(graph, patch, id, pool, target);
  const bool plain = std::ranges::all_of(pool.paddings, [](const Padding& p) {
    const bool none = p.spelling == Spelling::Valid || (p.spelling == Spelling::Explicit && !p.before && !p.after);
    return none && p.leftover == Leftover::Drop;
  });
  if (target.framework != Framework::Torch || pool.rule != PowerRule::Norm || plain) return {};
  speller.remark("padding " + words(pool.paddings) + " is " + speller.fronts() + " with zeros in front");
  auto x = speller.in_front(speller.node_.inputs[0], 0);
  if (!x) return pass(x);
  return speller.becomes(speller.make(speller.without_padding(), {*x}));
}

// With more symmetric padding in front than asked for, the first windows are superfluous: how many, per axis. Nothing:
// the surplus is no multiple of the stride, or the target cannot say that padding.
struct Surplus {
  AllPaddings paddings;
  Sizes windows;
};

std::optional<Surplus> surplus(const PoolSpeller<AveragePool>& speller) {
  Surplus found;
  for (std::size_t i = 0; i < speller.pool_.windows.size(); ++i) {
    const Window w = speller.pool_.windows[i];
    const auto cells = pads_in_front(speller.pool_.paddings[i], w, speller.size(i));
    if (!cells || w.stride != 1) return std::nullopt;
    const Size both = std::max(cells->before, cells->after);
    const Padding p{both == 0 ? Spelling::Valid : Spelling::Explicit, both, both};
    if (!speaks(speller.speaker(Windowed::Averages), {&p, 1}, {&w, 1})) return std::nullopt;
    // Nothing may be left over at the end either: dropping is only done in front.
    if (both != cells->after) return std::nullopt;
    found.paddings.push_back(p);
    found.windows.push_back(both - cells->before);
  }
  return found;
}

// The padding that counts, as ones around a map of ones; what a ceil window hangs over is zeros behind it.
Result<ValueId> counted_ones(PoolSpeller<AveragePool>& speller, ValueId ones) {
  const AveragePool& pool = speller.pool_;
  Pad declared{.before = Sizes(speller.shape_.size()), .after = Sizes(speller.shape_.size())};
  Pad overhang = declared;
  declared.value = 1;
  for (std::size_t i = 0; i < pool.windows.size(); ++i) {
    const auto axis = static_cast<std::size_t>(pool.axes.spatial(static_cast<Size>(i)));
    const auto cells = pads_in_front(pool.paddings[i], pool.windows[i], speller.size(i));
    if (!cells || pool.paddings[i].spelling == Spelling::SameUpper || pool.paddings[i].spelling == Spelling::SameLower)
      return within(
          place_of(speller.node_),
          Result<ValueId>(fail(Fault::Unsupported, "is an average that counts padding " + words(pool.paddings) +
                                                       ", and the size is free; give the input a size")));
    const Size counted = pool.paddings[i].spelling == Spelling::Explicit ? pool.paddings[i].after : 0;
    declared.before[axis] = cells->before;
    declared.after[axis] = std::min(cells->after, counted);
    overhang.after[axis] = cells->after - declared.after[axis];
  }
  auto made = speller.make(declared, {ones});
  return made ? speller.make(overhang, {*made}) : made;
}

Status divide_by_ones(PoolSpeller<AveragePool>& speller) {
  const ValueId input = speller.node_.inputs[0];
  const bool counts = speller.pool_.counts_padding;
  speller.remark("padding " + words(speller.pool_.paddings) +
                 (counts ? " counts what is declared" : " never counts padding") + ": the average over " +
                 speller.fronts() + " is divided by that of a map of ones");
  auto sum = speller.in_front(input, 0);
  if (sum) sum = speller.make(speller.without_padding(), {*sum});
  auto ones = speller.make(Slice{.axis = speller.pool_.axes.channel(), .start = 0, .stop = 1}, {input});
  if (ones) ones = speller.make(Affine{.scale = 0, .offset = 1}, {*ones});
  if (ones) ones = counts ? counted_ones(speller, *ones) : speller.in_front(*ones, 0);
  if (ones) ones = speller.make(speller.without_padding(), {*ones});
  if (!sum) return pass(sum);
  if (!ones) return pass(ones);
  return speller.becomes(speller.make(Binary{BinaryFunction::Divide}, {*sum, *ones}));
}

// Zeros that count are zeros in front, but for the overhang of a ceil window, which never counts.
Status count_in_front(PoolSpeller<AveragePool>& speller) {
  const AveragePool& pool = speller.pool_;
  const bool drops = std::ranges::all_of(pool.paddings, [](Padding p) { return p.leftover == Leftover::Drop; });
  if (!drops && !pool.divisor)
    return within(place_of(speller.node_),
                  Status(fail(Fault::Unsupported, "an average that counts padding has padding " + words(pool.paddings) +
                                                      ", which the target has no word for")));
  speller.remark("padding " + words(pool.paddings) + " is " + speller.fronts() + " in front, which counts");
  auto x = speller.in_front(speller.node_.inputs[0], 0);
  if (!x) return pass(x);
  return speller.becomes(speller.make(speller.without_padding(), {*x}));
}

// A divisor that the target cannot be given: the sum over zeros in front, divided afterwards.
Status divide_by_own(PoolSpeller<AveragePool>& speller) {
  AveragePool whole = speller.without_padding();
  double cells = 1;
  for (const Window& w : whole.windows) cells *= static_cast<double>(w.kernel);
  const double divisor = static_cast<double>(*std::exchange(whole.divisor, std::nullopt));
  speller.remark("a divisor of its own is the average times " + std::to_string(cells / divisor));
  auto x = speller.padless() ? Result<ValueId>(speller.node_.inputs[0]) : speller.in_front(speller.node_.inputs[0], 0);
  if (x) x = speller.make(whole, {*x});
  if (x) x = speller.make(Affine{.scale = cells / divisor}, {*x});
  return speller.becomes(std::move(x));
}

Status spell(const Graph& graph, NodeId id, const AveragePool& pool, const Target& target, Patch& patch) {
  PoolSpeller speller(graph, patch, id, pool, target);
  const ValueId input = speller.node_.inputs[0];
  if (pool.divisor && target.framework != Framework::Torch) return divide_by_own(speller);
  if (speller.padless()) return {};
  // A divisor of its own makes any padding right that reads the same cells, and so does leaving padding out.
  const bool counts = pool.counts_padding && !pool.divisor;
  if (const auto direct = speller.spoken(counts ? Windowed::CountingAverages : Windowed::Averages)) {
    if (*direct == pool.paddings) return {};
    speller.remark("padding " + words(pool.paddings) + " is " + words(*direct) +
                   (counts ? "" : ", and padding is not counted"));
    return speller.becomes(speller.make(speller.with(*direct), {input}));
  }
  const bool drops = std::ranges::all_of(pool.paddings, [](Padding p) { return p.leftover == Leftover::Drop; });
  const bool rounds_up = target.framework == Framework::Keras && counts && !drops;
  if ((pool.counts_padding || pool.divisor) && !rounds_up) return count_in_front(speller);
  if (const auto more = rounds_up ? std::nullopt : surplus(speller)) {
    speller.remark("padding " + words(pool.paddings) + " is " + words(more->paddings) +
                   " with the first cells cut off behind");
    Pad crop{.before = Sizes(speller.shape_.size()), .after = Sizes(speller.shape_.size())};
    for (std::size_t i = 0; i < more->windows.size(); ++i)
      crop.before[static_cast<std::size_t>(pool.axes.spatial(static_cast<Size>(i)))] = -more->windows[i];
    auto wide = speller.make(speller.with(more->paddings), {input});
    if (!wide) return pass(wide);
    return speller.becomes(speller.make(crop, {*wide}));
  }
  if (auto map = count_correction(pool, speller.sizes_, speller.counting())) {
    speller.remark("padding " + words(pool.paddings) + (counts ? " counts what is declared" : " never counts padding") +
                   ": the average over " + speller.fronts() + " is multiplied by a map of kernel cells per real cell");
    const ValueId factor = patch.constant(speller.node_.layer + "/cells", std::move(*map), false);
    auto x = speller.in_front(input, 0);
    if (x) x = speller.make(speller.without_padding(), {*x});
    if (!x) return pass(x);
    return speller.becomes(speller.make(Binary{BinaryFunction::Multiply}, {*x, factor}));
  }
  return divide_by_ones(speller);
}

}  // namespace

Result<Patch> lower_pools(const Graph& graph, const Target& target) {
  Patch patch(graph);
  return node_by_node<MaxPool, LpPool, AveragePool>(
      graph, patch, [&](NodeId id, const auto& op) { return spell(graph, id, op, target, patch); });
}

}  // namespace convoy
