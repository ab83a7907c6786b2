// Which pads or crops give a wanted output size, or read the same cells as given ones: what a solver asks. Answers are
// ranges, since there may be very many.
#pragma once
#include "ops/transposed_padding.h"

#include <vector>

namespace convoy {

// All (before, after), none negative, with before in one range and before + after in the other. The least total with
// before = total / 2 is where a person would begin.
struct PadRegion {
  Range total, before;
  constexpr bool has(Size b, Size a) const { return b >= 0 && a >= 0 && before.has(b) && total.has(b + a); }
  friend constexpr bool operator==(PadRegion, PadRegion) = default;
};

namespace detail {

constexpr void append(std::vector<PadRegion>& list, Range total, Range before) {
  total = {std::max<Size>(total.least, 0), std::min(total.most, most_cells)};
  before = {std::max<Size>(before.least, 0), std::min(before.most, total.most)};
  if (total.least <= total.most && before.least <= before.most) list.push_back({total, before});
}

constexpr bool askable(Size out, Window w, Size in) {
  constexpr Size most = Size{1} << 32;
  return w.sane() && in >= 1 && in <= most && out >= 1 && out <= most;
}

}  // namespace detail

// What before + after may be for `out` windows of `in` cells: those that the last window reads, and up to a stride less one
// more that none reads. Negative: cells that must be cut off.
constexpr Range totals_for(Size out, Window w, Size in) {
  const Size least = read_past({0, out, 0}, w, in);
  return {least, least + w.stride - 1};
}

// All explicit pads that make `out` windows of `in` cells. With CeilInside up to two regions: those where the last window
// starts inside, and those where one behind it was given up.
constexpr std::vector<PadRegion> pads_for(Size out, Window w, Size in, Leftover leftover = Leftover::Drop) {
  std::vector<PadRegion> list;
  if (!detail::askable(out, w, in)) return list;
  const Range any{0, most_cells}, exact = totals_for(out, w, in), up{exact.least - w.stride + 1, exact.least};
  if (leftover == Leftover::Drop) detail::append(list, exact, any);
  if (leftover == Leftover::Ceil) detail::append(list, up, any);
  if (leftover == Leftover::CeilInside) {
    detail::append(list, up, {(out - 1) * w.stride - in + 1, most_cells});
    detail::append(list, {up.least + w.stride, up.most + w.stride}, {0, out * w.stride - in});
  }
  return list;
}

// Those with one number for both sides. Empty: no symmetric padding gives this size.
constexpr std::vector<Range> symmetric_pads_for(Size out, Window w, Size in, Leftover leftover = Leftover::Drop) {
  std::vector<Range> list;
  for (const PadRegion& region : pads_for(out, w, in, leftover)) {
    const Range p{std::max(region.before.least, ceil_div(region.total.least, 2)),
                  std::min(region.before.most, floor_div(region.total.most, 2))};
    if (p.least > p.most) continue;
    if (!list.empty() && list.back().most + 1 >= p.least) list.back().most = std::max(list.back().most, p.most);
    else list.push_back(p);
  }
  return list;
}

// The trailing pads with which the same cells are read as here: `before` is that of the placement.
constexpr std::optional<Range> afters_like(Placement at, Window w, Size in, Leftover leftover = Leftover::Drop) {
  std::optional<Range> found;
  for (const PadRegion& region : pads_for(at.out, w, in, leftover)) {
    const Range after{std::max<Size>(region.total.least - at.before, 0), region.total.most - at.before};
    if (!region.before.has(at.before) || after.least > after.most) continue;
    found = found ? Range{std::min(found->least, after.least), std::max(found->most, after.most)} : after;
  }
  return found;
}

// ---- transposed: `out` cells of the scatter of `in`

// What all signed crops with this output size have in common: before + after.
constexpr std::optional<Size> crop_total_for(Size out, Window w, Size in) {
  if (!detail::askable(out, w, in)) return std::nullopt;
  return full_length(w, in) - out;
}

// PyTorch's paddings with this output size; nothing where there is none. Each has one output_padding, `extra_of`.
constexpr std::optional<Range> torch_paddings_for(Size out, Window w, Size in) {
  const auto total = crop_total_for(out, w, in);
  if (!total) return std::nullopt;
  const Range p{std::max<Size>(ceil_div(*total, 2), 0), floor_div(*total + std::max(w.stride, w.dilation) - 1, 2)};
  if (p.least > p.most) return std::nullopt;
  return p;
}
constexpr Size torch_extra_of(Size padding, Size total) { return 2 * padding - total; }

// ONNX's pads with this output size: `total` is begin + end, of which any part may be the begin, and output_padding is
// what the total is too much, less than the stride.
constexpr std::optional<Range> onnx_totals_for(Size out, Window w, Size in) {
  const auto total = crop_total_for(out, w, in);
  if (!total || *total + w.stride - 1 < 0) return std::nullopt;
  return Range{std::max<Size>(*total, 0), *total + w.stride - 1};
}

// Keras' words with this output size: same and valid, without output_padding and with the one that gives it.
constexpr std::vector<TransposedPadding> keras_crops_for(Size out, Window w, Size in) {
  std::vector<TransposedPadding> list;
  if (!detail::askable(out, w, in)) return list;
  for (const CropSpelling word : {CropSpelling::KerasSame, CropSpelling::KerasValid}) {
    const Size bare = word == CropSpelling::KerasSame ? (in - 1) * w.stride + w.reach() % 2 : full_length(w, in);
    for (const std::optional<Size> extra : {std::optional<Size>{}, std::optional<Size>{out - bare}}) {
      const TransposedPadding p{word, 0, 0, extra};
      const auto at = place(p, w, in);
      if (at && at->out == out) list.push_back(p);
    }
  }
  return list;
}

// The words of TensorFlow's operators, and of TFLite's, that accept this output size.
constexpr std::vector<Spelling> gradient_words_for(Size out, Window w, Size in) {
  std::vector<Spelling> list;
  for (const Spelling word : {Spelling::SameUpper, Spelling::Valid})
    if (crop_to_gradient({word}, w, in, out)) list.push_back(word);
  return list;
}

}  // namespace convoy
