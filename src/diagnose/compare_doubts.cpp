// Differences that are none: the same computed in another place, or layers that were laid side by side wrongly.
#include "diagnose/compare.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

namespace convoy::diagnose {

namespace {

// Not only within the bound, which is loose behind many steps, but as near as correct layers are.
bool is_close(const Gap& gap) { return gap.r <= std::max(16.0, gap.limit / 8); }

}  // namespace

// The same may be computed by cuts that lie elsewhere: then everything behind agrees without this match.
bool Comparison::only_seems(std::size_t i) {
  if (alignment_.matches[i].how == How::Output) return false;
  const auto readers = readers_of_match(i);
  set(i, false);
  bool all = true;
  for (const std::size_t j : readers) {
    const auto other = gap(j);
    all = all && other && other->same && is_close(*other) && agrees_to_the_last(j);
    if (!all) break;
  }
  if (!all) set(i, true);
  return all;
}

// To the last digits of float64, whatever the bound: a floor near a whole number has a wide one.
bool Comparison::is_equal_in_float64(std::size_t i) {
  constexpr double near = 1e-9;
  const auto at = stretch(i);
  if (!at) return false;
  const auto of_a = evaluate(at->a.graph, at->inputs_a, threads_), of_b = evaluate(at->b.graph, at->inputs_b, threads_);
  if (!of_a || !of_b || of_a->count() != of_b->count()) return false;
  const auto x = arranged(*of_a, alignment_.matches[i].permutation, of_b->shape()).doubles(), y = of_b->doubles();
  double scale = 0;
  for (const double number : x) scale = std::max(scale, std::abs(number));
  return std::ranges::equal(x, y, [&](double p, double q) { return p == q || std::abs(p - q) <= near * scale; });
}

bool Comparison::is_equal_when_fed(std::size_t i, const Fed& fed, bool fresh) {
  const auto before = std::exchange(states_[i].fed, fed);
  const bool was_fresh = std::exchange(states_[i].fresh, fresh);
  const bool agrees = is_equal_in_float64(i);
  states_[i].fed = before, states_[i].fresh = was_fresh;
  return agrees;
}

// The same of what only other numbers than a's own told apart: with these, too, everything behind agrees without it.
bool Comparison::only_seems_when_fed(std::size_t i) {
  const Fed fed = states_[i].fed;
  const bool fresh = states_[i].fresh;
  if ((fed.empty() && !fresh) || alignment_.matches[i].how == How::Output) return false;
  const auto readers = readers_of_match(i);
  set(i, false);
  std::vector<std::pair<std::size_t, Gap>> found;
  for (const std::size_t j : readers) {
    const bool agrees = is_equal_when_fed(j, fed, fresh);
    const auto own = gap(j);
    if (!agrees || !own || !own->same) {
      set(i, true);
      return false;
    }
    found.emplace_back(j, *own);
  }
  states_[i].dropped = true;
  for (const auto& [j, other] : found) states_[j].gap = other;
  return !readers.empty();
}

// Where an earlier difference changed the size in a model of fixed sizes, both at the size that b has there: pads that fit
// that size alone, or that no window reads at it, are no difference of this layer.
void Comparison::try_own_sizes(std::size_t i) {
  if (sized_.free || alignment_.matches[i].how == How::Output) return;
  const auto forced = stretch(i);
  State& state = states_[i];
  state.own_sizes = true;
  const auto own = stretch(i);
  const auto shapes = [](const Stretch& at) {
    std::vector<Sizes> all;
    for (const Tensor& input : at.inputs_b) all.push_back(input.shape());
    return all;
  };
  if (forced && own && shapes(*forced) != shapes(*own))
    if (const auto other = gap(i)) {
      state.gap = *other;
      return;
    }
  state.own_sizes = false;
}

// What agrees under another order of axes, but not what reads it: then the order itself may be the one difference.
void Comparison::turn_upright(std::size_t i) {
  Match& match = alignment_.matches[i];
  const auto differs = [&](std::size_t j) {
    return states_[j].compared && !states_[j].dropped && !states_[j].gap.same;
  };
  const auto readers = readers_of_match(i);
  const auto before = std::ranges::count_if(readers, differs);
  if (before == 0 || differs(i) || sized_.a[match.a].type.rank() != sized_.b[match.b].type.rank()) return;
  const Sizes order = match.permutation;
  const State old = states_[i];
  states_[i].upright = true;
  std::iota(match.permutation.begin(), match.permutation.end(), Size{0});
  const auto own = gap(i);
  std::vector<std::pair<std::size_t, Gap>> found;
  for (const std::size_t j : readers)
    if (const auto other = own ? gap(j) : own) found.emplace_back(j, *other);
  const auto left = std::ranges::count_if(found, [](const auto& one) { return !one.second.same; });
  if (found.size() < readers.size() || left + 1 > before) {
    match.permutation = order;
    states_[i] = old;
    return;
  }
  states_[i].gap = *own;
  for (const auto& [j, other] : found) states_[j].gap = other;
}

// A cell that gives its last step and one that gives all of them are no counterparts by their values, nor is what puts
// such values side by side: the cut lies behind them.
void Comparison::drop_other_ends() {
  std::set<ValueId> dropped;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const Match& match = alignment_.matches[i];
    if (match.how == How::Input || match.how == How::Output || holds_as_many(match)) continue;
    const Op* op = match.node_a ? &sized_.a[match.node_a].op : nullptr;
    const bool walks = op && traits_of(*op).kind == LayerKind::Recurrence;
    bool reads_dropped = false;
    if (match.how == How::Place && match.node_a)
      for (const ValueId v : sized_.a[match.node_a].inputs) reads_dropped = reads_dropped || dropped.contains(v);
    if (!walks && !reads_dropped) continue;
    dropped.insert(match.a);
    states_[i].dropped = true;
    set(i, false);
  }
}

// Layers of one kind that were laid side by side crosswise, and one that the other model writes as several, differ all
// together: without their matches, everything that reads them agrees. Tried for those that hang together, then for all.
void Comparison::drop_crossed() {
  constexpr std::size_t most = 24;
  std::vector<std::size_t> doubtful;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const bool is_open = states_[i].compared && !states_[i].dropped && alignment_.matches[i].how == How::Place;
    if (is_open && (!states_[i].gap.same || !holds_as_many(alignment_.matches[i]))) doubtful.push_back(i);
  }
  std::vector<std::set<std::size_t>> readers;
  for (const std::size_t i : doubtful) {
    const auto all = readers_of_match(i);
    readers.emplace_back(all.begin(), all.end());
  }
  const auto hang_together = [&](std::size_t p, std::size_t q) {
    return readers[p].contains(doubtful[q]) || readers[q].contains(doubtful[p]) ||
           std::ranges::any_of(readers[p], [&](std::size_t reader) { return readers[q].contains(reader); });
  };
  std::vector<bool> seen(doubtful.size(), false);
  for (std::size_t n = 0; n < doubtful.size(); ++n) {
    if (seen[n]) continue;
    std::vector<std::size_t> group{n};
    seen[n] = true;
    for (std::size_t g = 0; g < group.size(); ++g)
      for (std::size_t m = 0; m < doubtful.size(); ++m)
        if (!seen[m] && hang_together(group[g], m)) seen[m] = true, group.push_back(m);
    for (std::size_t& at : group) at = doubtful[at];
    const bool any = std::ranges::any_of(group, [&](std::size_t i) { return !states_[i].gap.same; });
    if (any && group.size() <= most) drop_together(group);
  }
  std::erase_if(doubtful, [&](std::size_t i) { return states_[i].dropped; });
  const bool any = std::ranges::any_of(doubtful, [&](std::size_t i) { return !states_[i].gap.same; });
  if (any && doubtful.size() <= most) drop_together(doubtful);
}

bool Comparison::holds_as_many(const Match& match) const {
  const auto numbers = [](const Graph& graph, ValueId v) {
    return checked_count(sizes_of(graph[v].type.shape).value_or(Sizes{})).value_or(0);
  };
  return numbers(sized_.a, match.a) == numbers(sized_.b, match.b);
}

// Whether what reads them agrees without all of these.
bool Comparison::drop_together(const std::vector<std::size_t>& group) {
  if (group.size() < 2) return false;
  std::set<std::size_t> readers;
  for (const std::size_t i : group)
    for (const std::size_t j : readers_of_match(i)) readers.insert(j);
  for (const std::size_t i : group) readers.erase(i);
  for (const std::size_t i : group) set(i, false);
  std::vector<std::pair<std::size_t, Gap>> found;
  for (const std::size_t j : readers) {
    const auto other = gap(j);
    if (!other || !other->same || !agrees_to_the_last(j)) {
      for (const std::size_t i : group) set(i, true);
      return false;
    }
    found.emplace_back(j, *other);
  }
  for (const std::size_t i : group) states_[i].dropped = true;
  for (const auto& [j, other] : found) states_[j].gap = other;
  return true;
}

}  // namespace convoy::diagnose
