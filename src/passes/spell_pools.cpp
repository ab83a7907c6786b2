// Says a pool's padding as one number per axis, at most half the kernel, with one rule for the last window on all axes.
// What cannot be said so: a maximum gets minus infinity in front; an average drops leading cells behind, is corrected by
// a constant map, or, where the size is free, is divided by the average of a padded map of ones.
#include "ops/symmetric.h"
#include "passes/pads.h"
#include "passes/rewrites.h"

#include <limits>

namespace convoy {

namespace {

using Paddings = std::vector<Padding>;

bool same_cells(Padding a, Padding b, Window w, std::optional<Size> in) {
  return in ? same_at(a, b, w, *in) : same_always(a, b, w);
}

std::optional<Padding> with_leftover(Padding p, Window w, std::optional<Size> in, Leftover leftover) {
  const auto speaks = [&](Padding q, Window v) { return q.leftover == leftover && symmetric_pool(q, v); };
  if (const auto said = respell(p, w, in, speaks)) return said;
  const Size before = p.spelling == Spelling::Explicit ? p.before : 0;
  const Padding plain{Spelling::Explicit, before, before, leftover};
  if (speaks(plain, w) && same_cells(p, plain, w, in)) return plain;
  return std::nullopt;
}

template <class Pool>
class Speller {
 public:
  Speller(const Graph& graph, Patch& patch, NodeId id, const Pool& pool)
      : patch_(patch),
        node_(graph[id]),
        id_(id),
        pool_(pool),
        shape_(graph[node_.inputs[0]].fact.shape) {}

  // One rule for the last window on all axes: first "drop it" everywhere, then "keep it" everywhere.
  std::optional<Paddings> symmetric() const {
    for (const Leftover leftover : {Leftover::Drop, Leftover::CeilInside}) {
      Paddings all;
      for (std::size_t i = 0; i < pool_.windows.size(); ++i)
        if (const auto one = with_leftover(pool_.paddings[i], pool_.windows[i], size(i), leftover)) all.push_back(*one);
      if (all.size() == pool_.windows.size()) return all;
    }
    return std::nullopt;
  }

  std::optional<Size> size(std::size_t i) const {
    return shape_[static_cast<std::size_t>(pool_.axes.spatial(static_cast<Size>(i)))].size();
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
    auto made = patch_.node(node_, std::move(op), std::move(inputs));
    if (!made) return pass(made);
    return made->front();
  }
  Pool with(Paddings paddings) const {
    Pool pool = pool_;
    pool.paddings = std::move(paddings);
    return pool;
  }
  Pool without_padding() const { return with(Paddings(pool_.windows.size(), Padding{Spelling::Valid})); }
  Status becomes(Result<ValueId> now) {
    if (!now) return pass(now);
    patch_.remove(id_);
    patch_.replace(node_.outputs[0], *now);
    return {};
  }
  std::string fronts() const { return words(pool_.windows, pool_.paddings, pool_.axes, shape_); }
  void remark(std::string text) { patch_.remark(node_, std::move(text)); }

  Patch& patch_;
  const Node& node_;
  NodeId id_;
  const Pool& pool_;
  const Shape& shape_;
};

Status spell(const Graph& graph, NodeId id, const MaxPool& pool, Patch& patch) {
  Speller speller(graph, patch, id, pool);
  if (const auto direct = speller.symmetric()) {
    if (*direct == pool.paddings) return {};
    speller.remark("padding " + words(pool.paddings) + " is " + words(*direct));
    return speller.becomes(speller.make(speller.with(*direct), {speller.node_.inputs[0]}));
  }
  speller.remark("padding " + words(pool.paddings) + " is " + speller.fronts() + " with minus infinity in front");
  auto x = speller.in_front(speller.node_.inputs[0], -std::numeric_limits<double>::infinity());
  if (!x) return pass(x);
  return speller.becomes(speller.make(speller.without_padding(), {*x}));
}

// With more symmetric padding in front than asked for, the first windows are superfluous: how many, per axis. Nothing:
// the surplus is no multiple of the stride, or the target cannot say that padding.
struct Surplus {
  Paddings paddings;
  Sizes windows;
};

std::optional<Surplus> surplus(const Speller<AveragePool>& speller) {
  Surplus found;
  for (std::size_t i = 0; i < speller.pool_.windows.size(); ++i) {
    const Window w = speller.pool_.windows[i];
    const auto cells = cells_in_front(speller.pool_.paddings[i], w, speller.size(i));
    if (!cells || w.stride != 1) return std::nullopt;
    const Size both = std::max(cells->before, cells->after);
    const Padding p{both == 0 ? Spelling::Valid : Spelling::Explicit, both, both};
    if (!symmetric_pool(p, w)) return std::nullopt;
    // Nothing may be left over at the end either: dropping is only done in front.
    if (both != cells->after) return std::nullopt;
    found.paddings.push_back(p);
    found.windows.push_back(both - cells->before);
  }
  return found;
}

// prod(k) / (cells of the input that the window reads), for every output cell; the factor that takes a sum over padding
// zeros, divided by the whole window, to an average of the real cells.
std::optional<Tensor> correction(const Speller<AveragePool>& speller) {
  const AveragePool& pool = speller.pool_;
  Sizes shape(static_cast<std::size_t>(pool.axes.rank()), 1);
  std::vector<float> map{1.0F};
  for (std::size_t i = 0; i < pool.windows.size(); ++i) {
    const Window w = pool.windows[i];
    const auto in = speller.size(i);
    const auto at = in ? place(pool.paddings[i], w, *in) : std::nullopt;
    if (!at) return std::nullopt;
    std::vector<float> wider;
    for (const float outer : map)
      for (Size o = 0; o < at->out; ++o) {
        Size real = 0;
        for (Size j = 0; j < w.kernel; ++j) {
          const Size cell = o * w.stride - at->before + j * w.dilation;
          real += cell >= 0 && cell < *in;
        }
        if (real == 0) return std::nullopt;
        wider.push_back(outer * static_cast<float>(w.kernel) / static_cast<float>(real));
      }
    map = std::move(wider);
    shape[static_cast<std::size_t>(pool.axes.spatial(static_cast<Size>(i)))] = at->out;
  }
  return Tensor::of(shape, std::move(map));
}

Status divide_by_ones(Speller<AveragePool>& speller) {
  const ValueId input = speller.node_.inputs[0];
  speller.remark("padding " + words(speller.pool_.paddings) + " never counts padding: the average over " +
                 speller.fronts() + " is divided by that of a map of ones");
  auto sum = speller.in_front(input, 0);
  if (sum) sum = speller.make(speller.without_padding(), {*sum});
  auto ones = speller.make(Slice{.axis = speller.pool_.axes.channel(), .start = 0, .stop = 1}, {input});
  if (ones) ones = speller.make(Affine{.scale = 0, .offset = 1}, {*ones});
  if (ones) ones = speller.in_front(*ones, 0);
  if (ones) ones = speller.make(speller.without_padding(), {*ones});
  if (!sum) return pass(sum);
  if (!ones) return pass(ones);
  return speller.becomes(speller.make(Binary{BinaryFunction::Divide}, {*sum, *ones}));
}

Status spell(const Graph& graph, NodeId id, const AveragePool& pool, Patch& patch) {
  Speller speller(graph, patch, id, pool);
  const ValueId input = speller.node_.inputs[0];
  if (speller.padless()) return {};
  bool spoken = true;
  for (std::size_t i = 0; i < pool.windows.size(); ++i)
    spoken = spoken && symmetric_pool(pool.paddings[i], pool.windows[i]) &&
             pool.paddings[i].leftover == pool.paddings[0].leftover;
  if (spoken) return {};
  if (pool.counts_padding || pool.divisor)
    return within(place_of(speller.node_),
                  Status(fail(Fault::Unsupported, "an average that counts padding has padding " + words(pool.paddings) +
                                                      ", which no symmetric padding says")));
  // Without counting, the divisor follows from the cells read: any padding that reads the same cells is right.
  if (const auto direct = speller.symmetric()) {
    speller.remark("padding " + words(pool.paddings) + " is " + words(*direct) + ", and padding is not counted");
    return speller.becomes(speller.make(speller.with(*direct), {input}));
  }
  if (const auto more = surplus(speller)) {
    speller.remark("padding " + words(pool.paddings) + " is " + words(more->paddings) +
                   " with the first cells cut off behind");
    Pad crop{.before = Sizes(speller.shape_.size()), .after = Sizes(speller.shape_.size())};
    for (std::size_t i = 0; i < more->windows.size(); ++i)
      crop.before[static_cast<std::size_t>(pool.axes.spatial(static_cast<Size>(i)))] = -more->windows[i];
    auto wide = speller.make(speller.with(more->paddings), {input});
    if (!wide) return pass(wide);
    return speller.becomes(speller.make(crop, {*wide}));
  }
  if (auto map = correction(speller)) {
    speller.remark("padding " + words(pool.paddings) + " never counts padding: the average over " + speller.fronts() +
                   " is multiplied by a map of kernel cells per real cell");
    const ValueId factor = patch.constant(speller.node_.layer + "/cells", std::move(*map), false);
    auto x = speller.in_front(input, 0);
    if (x) x = speller.make(speller.without_padding(), {*x});
    if (!x) return pass(x);
    return speller.becomes(speller.make(Binary{BinaryFunction::Multiply}, {*x, factor}));
  }
  return divide_by_ones(speller);
}

}  // namespace

Result<Patch> spell_pools(const Graph& graph) {
  Patch patch(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const NodeId id{static_cast<std::int32_t>(i)};
    Status done;
    if (const auto* pool = std::get_if<MaxPool>(&graph[id].op)) done = spell(graph, id, *pool, patch);
    if (const auto* pool = std::get_if<AveragePool>(&graph[id].op)) done = spell(graph, id, *pool, patch);
    if (!done) return pass(done);
  }
  return patch;
}

}  // namespace convoy
