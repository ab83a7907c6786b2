// Differences of partners that are none: values that were laid side by side though each belongs elsewhere, or nowhere. Without
// them and those around them, the larger stretch between what is left holds the same numbers and agrees on all that it is asked.
#include "diagnose/compare.h"
#include "diagnose/fingerprint.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace convoy::diagnose {

namespace {

// Every number but 0 of the tensors of weights, each tensor once, in order: two models may split and join them.
std::vector<float> numbers_held(const Graph& piece) {
  std::map<std::uint64_t, const Tensor*> tensors;
  for (const Value& value : piece.values)
    if (value.constant && holds_weights(*value.constant))
      tensors.emplace(fingerprint(*value.constant), &*value.constant);
  std::vector<float> numbers;
  for (const auto& [print, tensor] : tensors)
    for (const float x : tensor->floats())
      if (x != 0) numbers.push_back(x);
  std::ranges::sort(numbers);
  return numbers;
}

}  // namespace

bool Comparison::is_open(std::size_t i) const {
  const State& state = states_[i];
  return state.compared && !state.dropped && !state.gap.same;
}

// Whether the stretches are made of the same weights, to the last bit or, where all of them were computed, to a few roundings.
bool Comparison::holds_same_numbers(std::size_t i) const {
  const Match& match = alignment_.matches[i];
  const auto x = numbers_held(cut(sized_.a, match.a, boundary_of(sized_.a, match.a, matched_a_)).graph);
  const auto y = numbers_held(cut(sized_.b, match.b, boundary_of(sized_.b, match.b, matched_b_)).graph);
  if (x.size() != y.size()) return false;
  const Sizes shape{std::ssize(x)};
  const TensorDifference difference = difference_of(Tensor::of(shape, x), Tensor::of(shape, y));
  return difference.equal() || difference.is_rounding();
}

// Those that differ and read one another, or are read by the same.
std::vector<std::vector<std::size_t>> Comparison::groups_that_differ() const {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < states_.size(); ++i)
    if (is_open(i)) open.push_back(i);
  std::vector<std::set<std::size_t>> readers;
  for (const std::size_t i : open) {
    const auto all = readers_of_match(i);
    readers.emplace_back(all.begin(), all.end());
  }
  std::vector<std::vector<std::size_t>> groups;
  std::vector<bool> seen(open.size(), false);
  for (std::size_t n = 0; n < open.size(); ++n) {
    if (seen[n]) continue;
    seen[n] = true;
    std::vector<std::size_t> group{n};
    for (std::size_t g = 0; g < group.size(); ++g)
      for (std::size_t m = 0; m < open.size(); ++m) {
        const std::size_t p = group[g];
        const bool hangs_together =
            readers[p].contains(open[m]) || readers[m].contains(open[p]) ||
            std::ranges::any_of(readers[p], [&](std::size_t reader) { return readers[m].contains(reader); });
        if (!seen[m] && hangs_together) seen[m] = true, group.push_back(m);
      }
    for (std::size_t& at : group) at = open[at];
    groups.push_back(std::move(group));
  }
  return groups;
}

// Whether everything behind agrees without these, on all that it is asked; otherwise all stays as it was. `failing`: the first
// of what does not.
bool Comparison::agrees_without(const std::set<std::size_t>& left_out, std::set<std::size_t> behind,
                                std::size_t& failing) {
  for (const std::size_t k : left_out)
    for (const std::size_t j : readers_of_match(k)) behind.insert(j);
  for (const std::size_t k : left_out) behind.erase(k);
  constexpr std::size_t most_behind = 64;
  std::vector<std::pair<Fed, bool>> told_apart;  // by numbers other than a's own
  for (const std::size_t k : left_out)
    if (is_open(k) && (!states_[k].fed.empty() || states_[k].fresh))
      told_apart.emplace_back(states_[k].fed, states_[k].fresh);
  std::map<std::size_t, std::pair<State, Sizes>> before;
  for (const std::size_t k : left_out) set(k, false);
  while (!behind.empty()) {
    const std::size_t j = *behind.begin();
    behind.erase(behind.begin());
    State& state = states_[j];
    const Sizes order = alignment_.matches[j].permutation;
    before.emplace(j, std::pair(state, order));
    state = State{};
    state.compared = true;
    const auto other = gap(j);
    bool holds = other && other->same && holds_same_numbers(j) && before.size() <= most_behind;
    if (holds) {
      state.gap = *other;
      compare_weights(j);
      holds = agrees_to_the_last(j) && is_exactly_same(j) && std::ranges::all_of(told_apart, [&](const auto& numbers) {
                return is_equal_when_fed(j, numbers.first, numbers.second);
              });
    }
    if (holds) {
      if (alignment_.matches[j].permutation != order)  // what reads it is asked again
        for (const std::size_t reader : readers_of_match(j))
          if (!left_out.contains(reader)) behind.insert(reader);
      continue;
    }
    failing = j;
    for (const std::size_t k : left_out) set(k, true);
    for (auto& [one, was] : before) {
      states_[one] = std::move(was.first);
      alignment_.matches[one].permutation = std::move(was.second);
    }
    return false;
  }
  for (const std::size_t k : left_out) states_[k].dropped = true;
  return true;
}

// Adds to them what may be at fault that a stretch still fails: first its own partner, then the partners of what it reads,
// where nothing but their places chose them. What holds the same weights and agrees is beyond doubt: behind it, numbers are
// asked that the model in front of it does not make. Says whether there was any.
bool Comparison::leave_out_more(std::set<std::size_t>& left_out, std::size_t failing) {
  const auto may_go = [&](std::size_t k) {
    const How how = alignment_.matches[k].how;
    const bool is_doubtful = how == How::Place || ((how == How::Weights || how == How::Scaled) && is_open(k));
    return is_doubtful && !states_[k].dropped && !left_out.contains(k);
  };
  if (may_go(failing)) return left_out.insert(failing).second;
  for (const std::size_t k : left_out) set(k, false);
  const auto at = stretch(failing);
  for (const std::size_t k : left_out) set(k, true);
  const std::size_t before = left_out.size();
  for (std::size_t n = 0; at && n < at->reads.size(); ++n)
    if (may_go(at->reads[n])) left_out.insert(at->reads[n]);
  return left_out.size() > before;
}

void Comparison::settle_doubts() {
  constexpr int most_rounds = 8;
  constexpr std::size_t most = 32;
  if (bounds_.empty()) look_up_bounds();
  for (const auto& group : groups_that_differ()) {
    std::set<std::size_t> left_out, behind;
    for (const std::size_t i : group) (alignment_.matches[i].how == How::Output ? behind : left_out).insert(i);
    std::size_t failing = group.front();
    for (int round = 0; round < most_rounds && left_out.size() <= most; ++round) {
      if (!left_out.empty() && agrees_without(left_out, behind, failing)) break;
      if (!leave_out_more(left_out, failing)) break;
    }
  }
}

}  // namespace convoy::diagnose
