#include "diagnose/moved.h"

#include "base/permute.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <optional>
#include <set>

namespace convoy::diagnose {

namespace {

constexpr std::size_t most_axes = 6;

std::string listed(const Sizes& numbers) {
  std::string text;
  for (const Size n : numbers) text += (text.empty() ? "" : ", ") + std::to_string(n);
  return "(" + text + ")";
}

// Whether `at` is what permuting a tensor of this shape makes of 0, 1, 2, ...
bool is_permuted(const std::vector<Size>& at, const Sizes& shape, const Sizes& order) {
  const std::size_t rank = shape.size();
  std::array<Size, most_axes> strides{}, index{};
  strides[rank - 1] = 1;
  for (std::size_t i = rank; i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  Size from = 0;
  for (const Size one : at) {
    if (one != from) return false;
    for (std::size_t i = rank; i-- > 0;) {
      const auto axis = static_cast<std::size_t>(order[i]);
      from += strides[axis];
      if (++index[i] < shape[axis]) break;
      from -= strides[axis] * shape[axis];
      index[i] = 0;
    }
  }
  return true;
}

// Axes of length 1 may lie anywhere: among the orders that do, those that kernels usually take come first.
std::optional<Sizes> permutation_of(const std::vector<Size>& at, const Sizes& shape, const Sizes& wanted) {
  const auto rank = static_cast<Size>(shape.size());
  if (shape.empty() || shape.size() > most_axes) return std::nullopt;
  Sizes order(shape.size());
  std::iota(order.begin(), order.end(), Size{0});
  std::vector<Sizes> usual{order};
  for (const bool swaps : {true, false}) {
    if (rank < 2) break;
    Sizes first{rank - (swaps ? 1 : 2), rank - (swaps ? 2 : 1)}, last;
    for (Size i = 0; i < rank - 2; ++i) first.push_back(i), last.push_back(i + 2);
    last.push_back(swaps ? 1 : 0);
    last.push_back(swaps ? 0 : 1);
    usual.push_back(std::move(first));
    usual.push_back(std::move(last));
  }
  for (const Sizes& one : usual)
    if (in_order(shape, one) == wanted && is_permuted(at, shape, one)) return one;
  do
    if (is_permuted(at, shape, order)) return order;
  while (std::ranges::next_permutation(order).found);
  return std::nullopt;
}

// The axes that a matrix behind a flattened picture was made of, found from the places themselves: how far apart lie
// numbers that became neighbours, or `apart` from each other, and how often that repeats.
std::optional<Sizes> split_of(const std::vector<Size>& at, const Sizes& shape, std::size_t apart) {
  std::set<Size> cuts{1, static_cast<Size>(at.size())};
  Size inner = 1;
  for (std::size_t i = shape.size(); i-- > 0;) cuts.insert(inner *= shape[i]);
  constexpr std::size_t most_cuts = 64;
  for (const std::size_t behind : {std::size_t{1}, apart})
    for (std::size_t i = behind; i < at.size() && cuts.size() < most_cuts; i += behind) {
      const Size step = at[i] - at[i - behind];
      if (step > 1 && static_cast<Size>(at.size()) % step == 0) cuts.insert(step);
    }
  Sizes split;
  for (auto cut = cuts.rbegin(); std::next(cut) != cuts.rend(); ++cut) {
    if (*cut % *std::next(cut) != 0) return std::nullopt;
    split.push_back(*cut / *std::next(cut));
  }
  return split;
}

}  // namespace

Moved moved_from(const Graph& graph, const Numbering& of, const std::vector<Size>& places, const Sizes& shape) {
  Moved moved;
  std::vector<ValueId> sources;
  for (const Size place : places) {
    if (place < 0) continue;
    if (!sources.empty()) {
      const Size first = of.first(sources.back());
      if (place >= first && place < first + graph[sources.back()].constant->count()) continue;
    }
    const ValueId weight = of.cell(place).weight;
    if (std::ranges::find(sources, weight) == sources.end()) sources.push_back(weight);
    else std::swap(*std::ranges::find(sources, weight), sources.back());
  }
  for (const ValueId v : sources) moved.source += (moved.source.empty() ? "" : ", ") + graph[v].name;
  if (sources.empty()) return moved;
  moved.shape = graph[sources[0]].constant->shape();
  if (sources.size() > 1 || graph[sources[0]].constant->count() != static_cast<Size>(places.size())) {
    moved.how = sources.size() > 1 ? "put together" : "a part of it";
    return moved;
  }
  std::vector<Size> at = places;
  for (Size& one : at) one -= of.first(sources[0]);
  const auto described = [&](const Sizes& from, const Sizes& order) {
    std::string text = from == moved.shape ? "" : "reshape" + listed(from);
    if (!std::ranges::is_sorted(order)) text += (text.empty() ? "" : ", ") + ("permute" + listed(order));
    if (in_order(from, order) != shape) text += (text.empty() ? "" : ", ") + ("reshape" + listed(shape));
    return text.empty() ? std::string("as it is") : text;
  };
  if (const auto order = permutation_of(at, moved.shape, shape)) {
    moved.how = described(moved.shape, *order);
    return moved;
  }
  const auto row = shape.size() > 1 ? static_cast<std::size_t>(shape.back()) : 1;
  for (const std::size_t apart : {std::size_t{1}, row})
    if (const auto split = split_of(at, moved.shape, apart))
      if (const auto order = permutation_of(at, *split, shape)) {
        moved.how = described(*split, *order);
        return moved;
      }
  const bool turned = moved.shape.size() == 2 && shape.size() == 2 && moved.shape != shape;
  moved.how = turned ? "permute(1, 0), gates in another order" : "gates in another order";
  return moved;
}

}  // namespace convoy::diagnose
