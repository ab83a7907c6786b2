// For which input sizes two paddings mean the same, where the size is free: always, never, or for some remainders modulo
// the stride from some size on. Every placement repeats with the stride once a window fits, so one period settles it.
#pragma once
#include "ops/pool_divisor.h"

#include <vector>

namespace convoy {

// Remainders modulo the stride: first, first + step, ... last.
struct Residues {
  Size first = 0, last = 0, step = 1;
  constexpr bool has(Size r) const { return first <= r && r <= last && (r - first) % step == 0; }
  friend constexpr bool operator==(Residues, Residues) = default;
};

struct Agreement {
  Size period = 1;  // the stride
  Size silent = 1;  // below this size no window fits under either padding
  Size from = 1;  // from this size on both have windows: agreed where the remainder is listed
  std::vector<Residues> residues;  // ascending; empty: at no size from `from` on
  std::optional<Size> differs{};  // a size at which they differ, the least one but for enormous numbers
  std::optional<Size> agrees{};  // the least size at which both have windows and they agree

  // Where no window fits under either, both are refused: that is no difference.
  constexpr bool always() const { return !differs; }
  constexpr bool never() const { return !agrees; }
  constexpr bool at(Size in) const {
    if (in < silent) return true;
    if (in < from) return false;
    for (const Residues& r : residues)
      if (r.has(in % period)) return true;
    return false;
  }
};

// The least size at which a window fits. Nothing: none does, or the numbers make no sense.
constexpr std::optional<Size> least_size(Padding p, Window w) {
  if (!w.sane()) return std::nullopt;
  if (p.spelling == Spelling::SameUpper || p.spelling == Spelling::SameLower) return 1;
  if (p.spelling == Spelling::Valid) p.before = p.after = 0;
  if (p.spelling == Spelling::Causal) p.before = w.reach() - 1, p.after = 0;
  if (p.before < 0 || p.after < 0 || p.before > most_cells || p.after > most_cells) return std::nullopt;
  const Size over = p.leftover == Leftover::Drop ? 0 : w.stride - 1;
  const Size least = std::max<Size>(1, w.reach() - p.before - p.after - over);
  if (least > most_cells) return std::nullopt;
  return least;
}

// A size with this remainder that is longer than the window: what holds for it holds for all longer ones.
constexpr Size settled_size(Size remainder, Window w) {
  return (ceil_div(w.reach(), w.stride) + 2) * w.stride + remainder;
}

// Does some window stand on a cell? Looks at the first 256 windows that reach the input, which is enough where the
// dilation is no longer than the input.
constexpr bool reads_a_cell(Placement at, Window w, Size in) {
  const Size first = std::max<Size>(0, ceil_div(at.before - w.reach() + 1, w.stride));
  const Size last = std::min(at.out - 1, floor_div(in - 1 + at.before, w.stride));
  for (Size o = first; o <= last && o < first + 256; ++o)
    if (taps_inside(at, w, in, o).count > 0) return true;
  return false;
}

namespace detail {

constexpr void append(std::vector<Residues>& list, Size r) {
  if (!list.empty()) {
    Residues& end = list.back();
    const Size gap = r - end.last;
    if (end.first == end.last && gap <= 2) return void((end.last = r, end.step = gap));
    if (gap == end.step) return void(end.last = r);
    // Two remainders a gap apart and then a neighbour: the second begins a run of its own.
    if (end.step == 2 && gap == 1 && end.last == end.first + 2) {
      const Size start = end.last;
      end = {end.first, end.first, 1};
      list.push_back({start, r, 1});
      return;
    }
  }
  list.push_back({r, r, 1});
}

// The least size of the remainder of `in`, from `in` on, at which the difference is one of cells: windows that see
// padding alone give the same whatever their places.
constexpr Size seen(Padding a, Padding b, Window w, Size in) {
  const auto visible = [&](Size n) {
    const auto pa = place(a, w, n), pb = place(b, w, n);
    return !pa || !pb || pa->out != pb->out || pa->before == pb->before || reads_a_cell(*pa, w, n) ||
           reads_a_cell(*pb, w, n);
  };
  Size n = in;
  for (int i = 0; i < 1000; ++i, n += w.stride)
    if (n > most_cells || visible(n)) return n;
  return n;
}

}  // namespace detail

constexpr Agreement agreement(Padding a, Padding b, Window w, Counting counting = Counting::Inside) {
  Agreement found{.period = std::max<Size>(w.stride, 1)};
  const auto least_a = least_size(a, w), least_b = least_size(b, w);
  if (!least_a && !least_b) {
    found.silent = found.from = most_cells + 1;
    return found;
  }
  if (!least_a || !least_b) {
    found.silent = least_a ? *least_a : *least_b;
    found.from = most_cells + 1;
    found.differs = found.silent;
    return found;
  }
  found.silent = std::min(*least_a, *least_b);
  found.from = std::max(*least_a, *least_b);
  if (found.silent < found.from) found.differs = found.silent;
  for (Size r = 0; r < w.stride; ++r) {
    const Size offset = (r - found.from) % w.stride;
    const Size in = found.from + offset + (offset < 0 ? w.stride : 0);
    if (in > most_cells) continue;
    if (averages_alike_at(a, b, w, in, counting)) {
      detail::append(found.residues, r);
      if (!found.agrees || in < *found.agrees) found.agrees = in;
    } else if (!found.differs || in < *found.differs) {
      const Size seen = detail::seen(a, b, w, in);
      if (!found.differs || seen < *found.differs) found.differs = seen;
    }
  }
  return found;
}

// For every size?
constexpr bool same_always(Padding a, Padding b, Window w, Counting counting = Counting::Inside) {
  return agreement(a, b, w, counting).always();
}

// At this size or, where none is known, at every one.
constexpr bool same_for(Padding a, Padding b, Window w, std::optional<Size> in, Counting counting = Counting::Inside) {
  return in ? averages_alike_at(a, b, w, *in, counting) : same_always(a, b, w, counting);
}

}  // namespace convoy
