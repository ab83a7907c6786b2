#include "diagnose/pads_cause.h"

#include "ops/mistaken_padding.h"

#include <algorithm>

namespace convoy::diagnose {
namespace {

constexpr bool is_none(Padding p) { return p.before == 0 && p.after == 0; }
constexpr bool is_bare(Padding p) { return is_none(p) && p.leftover == Leftover::Drop; }
constexpr bool is_symmetric(Padding p) { return p.before == p.after; }
constexpr bool starts_outside(Padding p) { return p.before > 0; }

class PadsMistake {
 public:
  explicit PadsMistake(const PadsChange& change) : c_(change) {}

  std::string_view cause() const {
    if (!is_causal_at_first() && !is_even() &&
        every([&](std::size_t i) { return is_turned(c_.was[i], c_.now[i], c_.windows[i], c_.in[i]); }))
      return "odd_cell_on_the_other_side";
    if (!is_causal_at_first() &&
        every([&](std::size_t i) { return is_same_turned_nearby(c_.was[i], c_.now[i], c_.windows[i], c_.in[i]); }))
      return "odd_cell_on_the_other_side";
    if (every([&](std::size_t i) { return is_none(c_.was[i]); }))
      return c_.pools && std::ranges::none_of(c_.now, starts_outside) ? "ceil_mode" : "pad_where_none";
    if (every([&](std::size_t i) { return is_bare(c_.now[i]); }))
      return !c_.pools || std::ranges::any_of(c_.was, starts_outside) ? "pad_missing" : "ceil_mode";
    if (c_.in.size() == 2 && is_from_other(0) && is_from_other(1)) return "pads_hw_swapped";
    if (every([&](std::size_t i) { return ignores_dilation(i); })) return "pad_ignores_dilation";
    if (is_causal_at_first() && reads_like(0, causal_both_sides(c_.windows[0]))) return "causal_as_symmetric";
    if (is_causal_at_first() && reads_like(0, {Spelling::Explicit, 0, c_.was[0].before})) return "causal_other_side";
    if (c_.pools && every([&](std::size_t i) { return is_one_more(i); })) return "ceil_mode";
    return "pad_amount";
  }

  bool is_same_as_symmetric() const {
    const bool says_turned = every(
        [&](std::size_t i) { return c_.now[i].before == c_.was[i].after && c_.now[i].after == c_.was[i].before; });
    if (is_causal_at_first() || says_turned) return false;
    return every([&](std::size_t i) { return is_same_by_halves(i); }) || is_same_in_place_of_halves();
  }

 private:
  template <class Holds>
  bool every(Holds&& holds) const {
    for (std::size_t i = 0; i < c_.in.size(); ++i)
      if (!reads_like(i, c_.was[i]) && !holds(i)) return false;
    return true;
  }
  bool reads_like(std::size_t i, Padding p) const { return same_at(p, c_.now[i], c_.windows[i], c_.in[i]); }
  bool is_causal_at_first() const { return c_.in.size() == 1 && is_causal(c_.was[0], c_.windows[0]); }
  bool is_even() const {
    return std::ranges::all_of(c_.was, [](Padding p) { return p.before == p.after && p.leftover == Leftover::Drop; });
  }
  bool is_half(std::size_t i) const {
    return reads_like(i, half_kernel_both_sides(c_.windows[i])) || reads_like(i, half_reach_both_sides(c_.windows[i]));
  }
  // SAME written as half the kernel on both sides, or the other way round.
  bool is_same_by_halves(std::size_t i) const {
    const Window w = c_.windows[i];
    if (is_same(c_.was[i], w, c_.in[i]) && is_half(i)) return true;
    return is_symmetric(c_.was[i]) && !is_none(c_.was[i]) && !is_symmetric(c_.now[i]) &&
           is_same(c_.now[i], w, c_.in[i]);
  }
  // SAME pads every axis, those that had no pads as well.
  bool is_same_in_place_of_halves() const {
    for (std::size_t i = 0; i < c_.in.size(); ++i)
      if (!is_symmetric(c_.was[i]) || !is_same(c_.now[i], c_.windows[i], c_.in[i])) return false;
    const auto turns = [&](std::size_t i) {
      return !is_none(c_.was[i]) && !is_symmetric(c_.now[i]) && !reads_like(i, c_.was[i]);
    };
    for (std::size_t i = 0; i < c_.in.size(); ++i)
      if (turns(i)) return true;
    return false;
  }
  bool is_from_other(std::size_t i) const {
    return is_taken_from(c_.was[1 - i], c_.windows[1 - i], c_.in[1 - i], c_.now[i], c_.windows[i], c_.in[i]);
  }
  bool ignores_dilation(std::size_t i) const {
    const Window w = c_.windows[i];
    if (w.dilation == 1) return false;
    const auto same = same_without_dilation(w, c_.in[i]);
    return (same && reads_like(i, *same)) || reads_like(i, half_kernel_without_dilation(w));
  }
  // The same windows but for one at the end: a leftover kept, or not.
  bool is_one_more(std::size_t i) const {
    const auto from = place(c_.was[i], c_.windows[i], c_.in[i]), to = place(c_.now[i], c_.windows[i], c_.in[i]);
    return from && to && from->before == to->before && (from->out == to->out + 1 || from->out + 1 == to->out);
  }

  const PadsChange& c_;
};

}  // namespace

bool is_same_as_symmetric(const PadsChange& change) { return PadsMistake(change).is_same_as_symmetric(); }

std::string_view cause_of_pads(const PadsChange& change) { return PadsMistake(change).cause(); }

}  // namespace convoy::diagnose
