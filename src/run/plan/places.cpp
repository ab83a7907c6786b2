#include "run/plan/places.h"

#include <algorithm>

namespace convoy::plan {

Size Place::count() const { return checked_count(shape).value_or(0); }

PlaceId Places::add(Place place) {
  all_.push_back(std::move(place));
  return {static_cast<int>(all_.size()) - 1};
}

PlaceId Places::root(PlaceId id) const {
  while ((*this)[id].parent) id = (*this)[id].parent;
  return id;
}

bool Places::is_dense(PlaceId id) const {
  for (; id; id = (*this)[id].parent)
    if ((*this)[id].is_part && (*this)[(*this)[id].parent].channels() != (*this)[id].channels()) return false;
  return true;
}

Size Places::lay_out(const std::vector<Use>& uses) {
  constexpr Size line = 16;  // numbers: starts are those of cache lines
  struct Taken {
    Size start, end;
    Use use;
  };
  std::vector<Taken> taken;
  Size length = 0;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < all_.size(); ++i)
    if (!all_[i].parent && all_[i].where == Place::Where::Arena && uses[i].first >= 0) order.push_back(i);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return uses[a].first < uses[b].first; });
  for (const std::size_t i : order) {
    const Size wanted = (all_[i].count() + line - 1) / line * line;
    std::vector<Taken> beside;
    for (const Taken& one : taken)
      if (one.use.first <= uses[i].last && uses[i].first <= one.use.last) beside.push_back(one);
    std::ranges::sort(beside, {}, &Taken::start);
    // The smallest gap that is large enough, or the end.
    Size at = 0, best = -1, best_gap = -1;
    for (const Taken& one : beside) {
      if (const Size gap = one.start - at; gap >= wanted && (best < 0 || gap < best_gap)) best = at, best_gap = gap;
      at = std::max(at, one.end);
    }
    if (best < 0) best = at;
    all_[i].start = best;
    taken.push_back({best, best + wanted, uses[i]});
    length = std::max(length, best + wanted);
  }
  for (std::size_t i = 0; i < all_.size(); ++i) {
    Place& place = all_[i];
    place.step = place.channels();
    Size offset = 0;
    for (PlaceId id{static_cast<int>(i)}; (*this)[id].parent; id = (*this)[id].parent) {
      const Place& part = (*this)[id];
      if (!part.is_part) continue;
      offset += part.first_channel;
      // A part that is the whole leaves no gaps, and may have been viewed under another shape below.
      if (const Size channels = (*this)[part.parent].channels(); channels != part.channels()) place.step = channels;
    }
    if (place.parent) place.start = (*this)[root({static_cast<int>(i)})].start + offset;
  }
  return length;
}

}  // namespace convoy::plan
