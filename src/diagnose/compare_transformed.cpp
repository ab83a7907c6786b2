// Weights that differ and are one all the same: a factor per channel that the layer behind takes back, channels in another
// order that what reads them is in too. Each number of the one is accounted for by one of the other, and without the matches
// in between everything behind agrees.
#include "diagnose/compare.h"
#include "diagnose/fingerprint.h"
#include "ops/expect.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace convoy::diagnose {

namespace {

// Whether each slice along the axis is the other's but for one factor, to within the rounding of float32.
bool is_scaled_along(const Tensor& x, const Tensor& y, std::size_t axis) {
  constexpr double near = 0x1p-21;
  const auto p = x.doubles(), q = y.doubles();
  std::size_t inner = 1;
  for (std::size_t i = axis + 1; i < x.shape().size(); ++i) inner *= static_cast<std::size_t>(x.shape()[i]);
  const auto count = static_cast<std::size_t>(x.shape()[axis]);
  std::vector<std::size_t> largest(count, p.size());
  for (std::size_t n = 0; n < p.size(); ++n) {
    std::size_t& own = largest[n / inner % count];
    if (own == p.size() || std::abs(p[n]) > std::abs(p[own])) own = n;
  }
  for (std::size_t n = 0; n < p.size(); ++n) {
    const std::size_t most = largest[n / inner % count];
    if (p[most] == 0 || q[most] == 0) return p[most] == q[most];
    if (std::abs(p[n] * (q[most] / p[most]) - q[n]) > near * std::abs(q[most])) return false;
  }
  return true;
}

// Of a bias, whose slices are single numbers, the factors are whatever they are: what reads them tells whether they fit.
bool is_transformed(const Tensor& x, const Tensor& y) {
  if (x.shape() != y.shape() || x.count() == 0) return false;
  if (fingerprint(x) == fingerprint(y)) return true;
  if (x.shape().size() == 1) return is_scaled_along(x, y, 0);
  for (std::size_t axis = 0; axis < x.shape().size(); ++axis)
    if (x.shape()[axis] < x.count() && is_scaled_along(x, y, axis)) return true;
  return false;
}

}  // namespace

// Nothing: the stretches are not one computation written down twice, so that their numbers have no partners.
std::optional<bool> Comparison::has_transformed_weights(std::size_t i) const {
  const Match& match = alignment_.matches[i];
  const Piece a = cut(sized_.a, match.a, boundary_of(sized_.a, match.a, matched_a_));
  const Piece b = cut(sized_.b, match.b, boundary_of(sized_.b, match.b, matched_b_));
  const auto alike = alike_at(i, a, b);
  if (!alike) return std::nullopt;
  return std::ranges::all_of(alike->constants, [&](const ConstantPair& pair) {
    const Tensor &x = *a.graph[pair.a].constant, &y = *b.graph[pair.b].constant;
    return holds_weights(x) ? is_transformed(x, y) : difference_of(x, y).equal();
  });
}

// Of what the stretch reads: those that differ by weights which have their partners.
std::vector<std::size_t> Comparison::transformed_beside(std::size_t i) const {
  std::vector<std::size_t> all;
  const auto at = stretch(i);
  if (!at) return all;
  for (const std::size_t k : at->reads)
    if (alignment_.matches[k].how != How::Input && states_[k].compared && !states_[k].dropped && !states_[k].gap.same &&
        std::ranges::find(all, k) == all.end() && has_transformed_weights(k).value_or(false))
      all.push_back(k);
  return all;
}

// From the match on, as far as what reads it differs without it; all stay as they were where that reaches an output.
bool Comparison::drop_as_transformed(std::size_t i) {
  constexpr std::size_t most_of_several = 16;
  std::size_t most = 8;  // matches that are left out: more, where several begin beside each other
  std::vector<std::size_t> group;
  std::set<std::size_t> readers;
  const auto leave_out = [&](std::size_t k) {
    for (const std::size_t j : readers_of_match(k)) readers.insert(j);  // as long as it is matched
    group.push_back(k);
    set(k, false);
  };
  leave_out(i);
  std::vector<std::pair<std::size_t, Gap>> agreeing;
  bool holds = true, grows = true;
  while (holds && grows) {
    grows = false;
    agreeing.clear();
    for (const std::size_t k : group) readers.erase(k);
    holds = !readers.empty();
    for (const std::size_t j : std::set(readers)) {
      const auto other = gap(j);
      if (other && other->same && agrees_to_the_last(j)) {
        agreeing.emplace_back(j, *other);
        continue;
      }
      // What else it reads may be in the same other order: heads of queries, keys and values.
      const auto beside = transformed_beside(j);
      for (const std::size_t k : beside)
        if (std::ranges::find(group, k) == group.end() && group.size() < most_of_several)
          leave_out(k), grows = true, most = most_of_several;
      if (grows) break;
      holds = group.size() < most && alignment_.matches[j].how != How::Output;
      if (!holds) break;
      leave_out(j);
      grows = true;
    }
  }
  for (const auto& [j, other] : agreeing) holds = holds && has_transformed_weights(j).value_or(true);
  if (!holds) {
    for (const std::size_t k : group) set(k, true);
    return false;
  }
  for (const std::size_t k : group) states_[k].dropped = true;
  for (const auto& [j, other] : agreeing) states_[j].gap = other, states_[j].is_transformed = true;
  return true;
}

void Comparison::drop_transformed() {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const State& state = states_[i];
    const bool differs =
        state.compared && !state.dropped && !state.gap.same && alignment_.matches[i].how != How::Output;
    if (differs && has_transformed_weights(i).value_or(false)) drop_as_transformed(i);
  }
}

}  // namespace convoy::diagnose
