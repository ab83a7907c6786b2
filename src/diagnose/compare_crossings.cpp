// Where a stretch goes one way or the other by numbers that it computes, made numbers seldom come close to the crossing: two of
// them on both sides of it are brought together until they lie right beside it. A model whose crossing is elsewhere differs.
#include "diagnose/compare.h"
#include "prove/drawn_numbers.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

namespace convoy::diagnose {

namespace {

// Far more than rounding moves a crossing by, as a share of the way between both ends; and as near as numbers lie.
constexpr double notch = 0x1p-17, nearest = 0x1p-44;

// A step moves with the rounding of what is rounded, which is a share of where it lies.
double aside_of(Crossing::Kind kind, double at) {
  switch (kind) {
    case Crossing::Kind::Border: return notch;
    case Crossing::Kind::Middle: return 0;
    case Crossing::Kind::Step: return 0x1p-18 * at;
  }
  return notch;
}

// A number that is so far beyond it: steps lie a whole number apart.
bool is_on(const Crossing& crossing, double x) {
  return x == 0 || (crossing.kind == Crossing::Kind::Step && std::nearbyint(x) == x);
}

}  // namespace

// Numbers of several sizes, for all inputs of floats.
std::vector<Comparison::Fed> Comparison::ends_of(const Stretch& at) const {
  std::vector<Fed> ends;
  Fed own;
  for (auto& [read, tensor] : reads_of(at)) own.emplace(read, tensor);
  ends.push_back(std::move(own));
  for (const double size : {1.0, -1.0, 8.0, 0x1p20}) {
    auto made = made_of(at, [&](std::mt19937_64& random, double scale) {
      return size * scale * (2 * double{drawn_share(random())} - 1);
    });
    if (made) ends.push_back(*std::move(made));
  }
  return ends;
}

Comparison::Fed Comparison::between(const Stretch& at, const Fed& first, const Fed& last, double share) const {
  Fed fed;
  for (const auto& [read, own] : reads_of(at)) {
    const auto p = first.find(read), q = last.find(read);
    const Tensor &x = p == first.end() ? own : p->second, &y = q == last.end() ? own : q->second;
    if (own.dtype() != DType::F32 || x.shape() != y.shape()) {
      fed.emplace(read, x);
      continue;
    }
    auto made = x.floats();
    const auto others = y.floats();
    for (std::size_t n = 0; n < made.size(); ++n)
      made[n] = static_cast<float>(static_cast<double>(made[n]) * (1 - share) + static_cast<double>(others[n]) * share);
    keep_whole(own, made);
    fed.emplace(read, Tensor::of(own.shape(), std::move(made)));
  }
  return fed;
}

// Every number of what a stretch is fed as its n-th: where others overflow, nothing is seen of the one at the crossing.
Comparison::Fed Comparison::spread(Fed fed, std::size_t n) {
  for (auto& [read, tensor] : fed) {
    if (tensor.dtype() != DType::F32 || tensor.count() == 0) continue;
    auto numbers = tensor.floats();
    std::ranges::fill(numbers, float{numbers[n % numbers.size()]});
    tensor = Tensor::of(tensor.shape(), std::move(numbers));
  }
  return fed;
}

std::vector<double> Comparison::beyond_when_fed(std::size_t i, const Crossing& crossing, bool of_b, Fed fed) {
  State& state = states_[i];
  const auto before = std::exchange(state.fed, std::move(fed));
  const auto at = stretch(i);
  state.fed = before;
  if (!at) return {};
  const Graph& piece = of_b ? at->b.graph : at->a.graph;
  const auto values = values_of(piece, of_b ? at->inputs_b : at->inputs_a, threads_);
  return values ? beyond(crossing, piece, *values) : std::vector<double>{};
}

// Between two runs of numbers that lead to both sides of a crossing: as near to it as wanted, from both sides.
void Comparison::approach(std::size_t i, const Stretch& at, const Crossed& crossed, double until, double& low,
                          double& high) {
  while (high - low > until) {
    const double middle = (low + high) / 2;
    const auto now = beyond_when_fed(i, crossed.at, crossed.of_b, between(at, *crossed.first, *crossed.last, middle));
    if (crossed.number >= now.size()) return;
    ((now[crossed.number] < 0) == crossed.begins_below ? low : high) = middle;
  }
}

// Whether one of the numbers lies on one of these crossings, to the last bit.
bool Comparison::lies_on(std::size_t i, const std::vector<Crossing>& crossings, bool of_b, const Fed& fed) {
  State& state = states_[i];
  const auto before = std::exchange(state.fed, fed);
  const auto at = stretch(i);
  state.fed = before;
  if (!at) return false;
  const Graph& piece = of_b ? at->b.graph : at->a.graph;
  const auto values = values_of(piece, of_b ? at->inputs_b : at->inputs_a, threads_);
  return values && std::ranges::any_of(crossings, [&](const Crossing& one) {
           return std::ranges::any_of(beyond(one, piece, *values), [&](double x) { return is_on(one, x); });
         });
}

bool Comparison::agrees_at_crossing(std::size_t i, const Stretch& at, const Crossed& crossed, const Crossings& all,
                                    Reached& reached_a, Reached& reached_b) {
  const Crossing::Kind kind = crossed.at.kind;
  double low = 0, high = 1;
  approach(i, at, crossed, kind == Crossing::Kind::Border ? notch : nearest, low, high);
  const double aside = aside_of(kind, high);
  const auto fed_at = [&](double share) { return between(at, *crossed.first, *crossed.last, share); };
  for (const double share : {low - aside, high + aside, 1.0}) {
    const Fed fed = fed_at(share);
    if (!agrees_when_fed(i, fed, reached_a, reached_b, nullptr)) return false;
    const bool may_hide = kind == Crossing::Kind::Middle;
    if (may_hide && !agrees_when_fed(i, spread(fed, crossed.number), reached_a, reached_b, nullptr)) return false;
  }
  // On the crossing itself, where both models have it in one place and compute it without rounding.
  if (kind == Crossing::Kind::Middle) return true;
  approach(i, at, crossed, nearest, low, high);
  for (const double share : {low, high}) {
    const Fed fed = fed_at(share);
    const auto own = beyond_when_fed(i, crossed.at, crossed.of_b, fed);
    if (crossed.number >= own.size() || !is_on(crossed.at, own[crossed.number])) continue;
    for (const Fed& one : {fed, spread(fed, crossed.number)})
      if (lies_on(i, all.of_a, false, one) && lies_on(i, all.of_b, true, one) &&
          !agrees_when_fed(i, one, reached_a, reached_b, nullptr))
        return false;
  }
  return true;
}

bool Comparison::agrees_at_crossings(std::size_t i, const Stretch& at, Reached& reached_a, Reached& reached_b) {
  constexpr Size most_numbers = Size{1} << 20;
  constexpr std::size_t most_crossings = 12;
  if (numbers_in(at.a.graph) + numbers_in(at.b.graph) > most_numbers) return true;
  const Crossings all{crossings_in(at.a.graph, at.b.graph), crossings_in(at.b.graph, at.a.graph)};
  const auto ends = ends_of(at);
  std::optional<std::vector<Fed>> further;
  std::size_t tried = 0;
  for (const auto& [crossings, of_b] : {std::pair(&all.of_a, false), std::pair(&all.of_b, true)})
    for (const Crossing& crossing : *crossings) {
      if (tried++ == most_crossings) return true;
      auto crossed = crossed_between(i, ends, crossing, of_b);
      if (!crossed && crossing.kind == Crossing::Kind::Border) {
        if (!further) {
          further = spread_made(at);
          further->insert(further->begin(), ends.begin(), ends.end());
        }
        crossed = crossed_between(i, *further, crossing, of_b);
      }
      if (crossed && !agrees_at_crossing(i, at, *crossed, all, reached_a, reached_b)) return false;
    }
  return true;
}

// The first two runs of numbers between which some number crosses.
std::optional<Comparison::Crossed> Comparison::crossed_between(std::size_t i, const std::vector<Fed>& ends,
                                                               const Crossing& crossing, bool of_b) {
  std::vector<std::vector<double>> sides;
  for (const Fed& end : ends) sides.push_back(beyond_when_fed(i, crossing, of_b, end));
  for (std::size_t q = 1; q < ends.size(); ++q)
    for (std::size_t p = 0; p < q; ++p) {
      if (sides[p].size() != sides[q].size()) continue;
      for (std::size_t n = 0; n < sides[p].size(); ++n)
        if ((sides[p][n] < 0) != (sides[q][n] < 0))
          return Crossed{crossing, of_b, &ends[p], &ends[q], n, sides[p][n] < 0};
    }
  return std::nullopt;
}

}  // namespace convoy::diagnose
