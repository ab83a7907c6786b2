// Pads that are often written in place of others: what a port that is not exact may hold. Not for reading or writing
// models; only for telling afterwards what somebody did.
#pragma once
#include "ops/transposed_padding.h"

namespace convoy {

// padding=kernel//2, times the dilation, on both sides.
constexpr Padding half_kernel_both_sides(Window w) {
  const Size half = w.dilation * (w.kernel / 2);
  return {Spelling::Explicit, half, half};
}

// Half of what the dilated kernel reaches over: another number where the kernel is even.
constexpr Padding half_reach_both_sides(Window w) { return {Spelling::Explicit, w.reach() / 2, w.reach() / 2}; }

// padding=kernel//2 without the dilation.
constexpr Padding half_kernel_without_dilation(Window w) { return {Spelling::Explicit, w.kernel / 2, w.kernel / 2}; }

// SAME for the kernel without its dilation. Nothing: no window fits.
constexpr std::optional<Padding> same_without_dilation(Window w, Size in) {
  const auto at = place({Spelling::SameUpper}, {w.kernel, w.stride, 1}, in);
  if (!at) return std::nullopt;
  return Padding{Spelling::Explicit, at->before, at->after};
}

// The cells of a causal window shared between both sides.
constexpr Padding causal_both_sides(Window w) {
  const Size all = w.reach() - 1, half = all / 2;
  return {Spelling::Explicit, half, all - half};
}

// As numbers, at a size. Nothing: no window fits.
constexpr std::optional<Padding> in_numbers(Padding p, Window w, Size in) {
  const auto at = place(p, w, in);
  if (!at) return std::nullopt;
  return Padding{Spelling::Explicit, at->before, at->after, p.leftover};
}

// Whether these cells in front and this number of windows are those of SAME, of causal windows, of none.
constexpr bool is_same(Padding p, Window w, Size in) {
  const auto at = place(p, w, in), upper = place({Spelling::SameUpper}, w, in),
             lower = place({Spelling::SameLower}, w, in);
  return at && ((upper && at->reads_like(*upper)) || (lower && at->reads_like(*lower)));
}
constexpr bool is_causal(Padding p, Window w) { return p.before == w.reach() - 1 && p.after == 0 && w.kernel > 1; }

// How many cells behind leave the same windows: from those that are read to one short of another window.
constexpr Range cells_behind(Placement at, Window w, Size in) {
  const Size read = read_past(at, w, in);
  return {std::max<Size>(0, read), read + w.stride - 1};
}

// Whether `now` has in front what `was` has behind, and the other way round.
constexpr bool is_turned(Padding was, Padding now, Window w, Size in) {
  const auto from = place(was, w, in), to = place(now, w, in);
  if (!from || !to || from->before == to->before || !cells_behind(*from, w, in).has(to->before)) return false;
  const auto turned = place({Spelling::Explicit, to->before, from->before}, w, in);
  return turned && turned->reads_like(*to);
}

// Whether `was` reads as SAME with equal numbers here, and `now` holds, exchanged, those that SAME has at a size nearby:
// its odd cell.
constexpr bool is_same_turned_nearby(Padding was, Padding now, Window w, Size in) {
  if (!is_same(was, w, in)) return false;
  for (Size nearby = in + 1; nearby < in + w.stride; ++nearby) {
    const auto same = in_numbers({Spelling::SameUpper}, w, nearby);
    if (same && same->before != same->after && now.before == same->after && now.after == same->before) return true;
  }
  return false;
}

// Whether `now` of one axis holds the cells that `was` has on another.
constexpr bool is_taken_from(Padding was, Window w, Size in, Padding now, Window here, Size in_here) {
  const auto from = place(was, w, in), to = place(now, here, in_here);
  if (!from || !to || from->before != to->before) return false;
  const Range behind = cells_behind(*from, w, in);
  for (Size after = behind.least; after <= behind.most; ++after) {
    const auto taken = place({Spelling::Explicit, from->before, after}, here, in_here);
    if (taken && taken->reads_like(*to)) return true;
  }
  return false;
}

// Crops of a transposed convolution that keep the same number of cells, moved by `cells` toward the end.
constexpr TransposedPadding moved_crop(TransposedPadding p, Size cells) {
  return {CropSpelling::Explicit, p.before + cells, p.after - cells, {}};
}
// PyTorch's padding=half for a kernel that TensorFlow's SAME cuts to stride cells per cell, with the output_padding that
// repairs the length.
constexpr TransposedPadding symmetric_crop(TransposedPadding p) {
  const Size total = p.before + p.after, both = total > 0 ? (total + 1) / 2 : 0;
  return {CropSpelling::Explicit, both, total - both, {}};
}

}  // namespace convoy
