// What goes wrong with pools and with pads of their own: kind, divisor, the value of padding, ceil, the border's mode.
#include "diagnose/guess_window.h"
#include "diagnose/hypothesis.h"

#include <algorithm>
#include <type_traits>

namespace convoy::diagnose {

namespace {

std::vector<const Node*> pools_of(const Scene& scene) {
  std::vector<const Node*> all = twins<MaxPool>(scene);
  for (const Node* node : twins<AveragePool>(scene)) all.push_back(node);
  return all;
}

// The pads of a pool as zeros put in front.
template <class O>
std::optional<Graph> with_zeros_in_front(const Scene& scene, std::size_t node, const O& op) {
  Pad pad;
  pad.before.assign(op.windows.size() + 2, 0);
  pad.after = pad.before;
  O bare = op;
  bool any = false;
  for (std::size_t i = 0; i < op.paddings.size(); ++i) {
    const auto axis = static_cast<std::size_t>(op.axes.spatial(static_cast<Size>(i)));
    Padding own = op.paddings[i];
    if (const auto read = pads_to_window(own, op.windows[i], scene.shape(scene.a.nodes[node].inputs[0])[axis]);
        read && own.leftover != Leftover::Drop)
      own = {Spelling::Explicit, read->before, std::max(own.after, read->after)};
    pad.before[axis] = own.before;
    pad.after[axis] = own.after;
    any = any || pad.before[axis] > 0 || pad.after[axis] > 0;
    bare.paddings[i] = {Spelling::Explicit, 0, 0};
  }
  if (!any) return std::nullopt;
  return with_node_in_front(with_op(scene.a, node, bare), node, 0, pad);
}

void guess_max(Guesses& guesses, std::size_t node, const MaxPool& pool) {
  const Scene& scene = guesses.scene;
  const Node& about = scene.a.nodes[node];
  if (auto zeros = with_zeros_in_front(scene, node, pool))
    guesses.add("pool_pad_value", about, "padded with 0", *std::move(zeros));
  MaxPool half = pool;
  for (std::size_t i = 0; i < half.paddings.size(); ++i) {
    const auto both = half_kernel_both_sides(half.windows[i]);
    half.paddings[i] = {Spelling::Explicit, both.before, both.after, pool.paddings[i].leftover};
  }
  if (half != pool)
    if (auto zeros = with_zeros_in_front(scene, node, half))
      guesses.add("pool_pad_value", about, "padded with 0 on both sides", *std::move(zeros));
  AveragePool average{pool.axes, pool.windows, pool.paddings};
  guesses.add("pool_kind", about, "an average", with_op(scene.a, node, average));
  average.counts_padding = true;
  guesses.add("pool_kind", about, "an average", with_op(scene.a, node, average));
  guess_windows(guesses, node, pool, pools_of(scene));
  for (const Node* other : twins<AveragePool>(scene))
    guesses.add("pool_kind", about, "b's average", with_op(scene.a, node, other->op));
}

// Without a border there is nothing to count.
bool pads_nothing(const AveragePool& pool) {
  return std::ranges::all_of(pool.paddings, [](const Padding& p) {
    return p.spelling == Spelling::Explicit && p.before == 0 && p.after == 0 && p.leftover == Leftover::Drop;
  });
}

void guess_average(Guesses& guesses, std::size_t node, const AveragePool& pool) {
  const Scene& scene = guesses.scene;
  const Node& about = scene.a.nodes[node];
  AveragePool now = pool;
  now.counts_padding = !pool.counts_padding;
  guesses.add("pool_divisor", about, now.counts_padding ? "padding counted" : "padding not counted",
              with_op(scene.a, node, now));
  for (const Node* other : twins<AveragePool>(scene)) {
    const auto& theirs = get<AveragePool>(other->op);
    now = pool;
    now.counts_padding = theirs.counts_padding;
    now.divisor = theirs.divisor;
    if (now != pool) guesses.add("pool_divisor", about, "divided as b does", with_op(scene.a, node, now));
    // The pads that come with a counted border: a symmetric or a ceil window's divisor is its own.
    if (theirs.windows == pool.windows && theirs.paddings != pool.paddings &&
        theirs.counts_padding != pool.counts_padding)
      guesses.add(pads_nothing(pool) ? "pad_where_none" : "pool_divisor", about, "padded and divided as b does",
                  with_op(scene.a, node, theirs), 1);
  }
  if (auto zeros = with_zeros_in_front(scene, node, pool))
    guesses.add("pool_divisor", about, "zeros in front, which count", *std::move(zeros));
  guesses.add("pool_kind", about, "a maximum", with_op(scene.a, node, MaxPool{pool.axes, pool.windows, pool.paddings}));
  guess_windows(guesses, node, pool, pools_of(scene));
}

}  // namespace

void guess_pool(Guesses& guesses, std::size_t node) {
  const Scene& scene = guesses.scene;
  const Node& about = scene.a.nodes[node];
  if (const auto* pool = get_if<MaxPool>(&about.op)) {
    if (about.outputs.size() == 1) guess_max(guesses, node, *pool);
    else guess_windows(guesses, node, *pool, pools_of(scene));
  }
  if (const auto* pool = get_if<AveragePool>(&about.op)) guess_average(guesses, node, *pool);
  if (const auto* reduce = get_if<Reduce>(&about.op)) {
    for (const Reduction other : {Reduction::Mean, Reduction::Maximum, Reduction::Sum, Reduction::Minimum}) {
      Reduce now = *reduce;
      now.reduction = other;
      if (now != *reduce) guesses.add("pool_kind", about, "another reduction", with_op(scene.a, node, now));
    }
    const Sizes& shape = scene.shape(about.inputs[0]);
    const Size rank = static_cast<Size>(shape.size());
    for (Size mask = 1; rank <= 6 && mask < (Size{1} << rank); ++mask) {
      Reduce now = *reduce;
      now.axes.clear();
      for (Size axis = 0; axis < rank; ++axis)
        if (mask >> axis & 1) now.axes.push_back(axis);
      if (now.axes.size() == reduce->axes.size() && now != *reduce)
        guesses.add("norm_axes", about, "over other axes", with_op(scene.a, node, now));
    }
  }
  if (const auto* pool = get_if<AdaptivePool>(&about.op); pool && about.outputs.size() == 1) {
    AdaptivePool now = *pool;
    now.kind = now.kind == Extreme::Average ? Extreme::Maximum : Extreme::Average;
    guesses.add("pool_kind", about, "another function", with_op(scene.a, node, now));
  }
}

void guess_pad(Guesses& guesses, std::size_t node) {
  const Scene& scene = guesses.scene;
  const Node& about = scene.a.nodes[node];
  const auto* pad = get_if<Pad>(&about.op);
  if (!pad) return;
  for (const PadMode mode : {PadMode::Constant, PadMode::Reflect, PadMode::Symmetric, PadMode::Edge, PadMode::Wrap}) {
    Pad now = *pad;
    now.mode = mode;
    now.value = 0;
    if (now != *pad) guesses.add("pad_mode", about, "another border", with_op(scene.a, node, now));
  }
  const auto with = [&](std::string_view cause, const Sizes& before, const Sizes& after) {
    Pad now = *pad;
    now.before = before;
    now.after = after;
    if (now != *pad) guesses.add(cause, about, "other amounts", with_op(scene.a, node, now));
  };
  with("odd_cell_on_the_other_side", pad->after, pad->before);
  const Sizes none(pad->before.size(), 0);
  with("pad_missing", none, none);
  if (pad->before.size() == 4) {
    Sizes before = pad->before, after = pad->after;
    std::swap(before[2], before[3]);
    std::swap(after[2], after[3]);
    with("pads_hw_swapped", before, after);
  }
  for (const Node* other : twins<Pad>(scene)) {
    const auto& theirs = get<Pad>(other->op);
    const bool cuts = cuts_alone(*pad) && cuts_alone(theirs);  // told as such
    if (theirs.before.size() == pad->before.size() && !cuts) with("pad_amount", theirs.before, theirs.after);
    if (theirs.value != pad->value) {
      Pad now = *pad;
      now.value = theirs.value;
      guesses.add("pad_mode", about, "another value", with_op(scene.a, node, now));
    }
  }
}

}  // namespace convoy::diagnose
