// Where a sliding window goes along one axis. Every reader, writer, pass, emitter and kernel asks this file and those
// beside it; nothing else in the project computes a pad, a crop or an output size. transposed_padding.h: crops.
// pool_divisor.h: what an average divides by. agreement.h: for which sizes two paddings read the same. vocabulary.h: what
// each framework can say. pad_solutions.h: the pads that give a wanted size.
#pragma once
#include "convoy/size.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace convoy {

struct Window {
  Size kernel = 1, stride = 1, dilation = 1;
  // Cells from the first to the last one read. Callers keep kernel and dilation within `sane`.
  constexpr Size reach() const { return (kernel - 1) * dilation + 1; }
  // Positive numbers small enough that no sum or product below can wrap.
  constexpr bool sane() const {
    constexpr Size most = Size{1} << 24;
    return kernel >= 1 && stride >= 1 && dilation >= 1 && kernel <= most && stride <= most && dilation <= most;
  }
  friend constexpr bool operator==(Window, Window) = default;
};

// How a file says it. A reader keeps the file's spelling.
enum class Spelling : std::uint8_t { Explicit, Valid, SameUpper, SameLower, Causal };

// Cells left over after the last whole window (pooling only; convolutions always Drop).
enum class Leftover : std::uint8_t {
  Drop,  // floor
  Ceil,  // one more window, wherever it starts
  CeilInside,  // one more window, unless it would start in the trailing padding (PyTorch, ONNX)
};

struct Padding {
  Spelling spelling = Spelling::Valid;
  Size before = 0, after = 0;  // read only when spelling is Explicit
  Leftover leftover = Leftover::Drop;
  friend constexpr bool operator==(Padding, Padding) = default;
};

// Window o reads cells o*stride - before + j*dilation. `before` and `out` decide every cell that is
// read. `after` is the declared trailing padding: only an average that counts padding looks at it.
struct Placement {
  Size before = 0, out = 0, after = 0;
  constexpr bool reads_like(Placement b) const { return before == b.before && out == b.out; }
  friend constexpr bool operator==(Placement, Placement) = default;
};

constexpr Size floor_div(Size a, Size b) { return a / b - (a % b < 0); }
constexpr Size ceil_div(Size a, Size b) { return a / b + (a % b > 0); }

// Whole numbers from least to most.
struct Range {
  Size least = 0, most = 0;
  constexpr bool has(Size n) const { return least <= n && n <= most; }
  friend constexpr bool operator==(Range, Range) = default;
};

// Longer inputs and pads are not placed.
inline constexpr Size most_cells = Size{1} << 40;

// The cell that tap j of window o stands on; negative or behind the input: on padding.
constexpr Size cell(Placement at, Window w, Size o, Size j) { return o * w.stride - at.before + j * w.dilation; }

// Nothing: no window fits, or the numbers make no sense.
constexpr std::optional<Placement> place(Padding p, Window w, Size in) {
  constexpr Size most = most_cells;
  if (in < 1 || in > most || !w.sane()) return std::nullopt;
  if (p.spelling == Spelling::SameUpper || p.spelling == Spelling::SameLower) {
    const Size out = ceil_div(in, w.stride);
    const Size need = std::max<Size>(0, (out - 1) * w.stride + w.reach() - in);
    const Size before = (need + (p.spelling == Spelling::SameLower)) / 2;
    return Placement{before, out, need - before};
  }
  if (p.spelling == Spelling::Valid) p.before = p.after = 0;
  if (p.spelling == Spelling::Causal) p.before = w.reach() - 1, p.after = 0;
  if (p.before < 0 || p.after < 0 || p.before > most || p.after > most) return std::nullopt;
  const Size span = in + p.before + p.after - w.reach();
  // An input shorter than the window is itself a leftover: a ceil window may read it where it is a stride short at most.
  Size out = (p.leftover == Leftover::Drop ? floor_div(span, w.stride) : ceil_div(span, w.stride)) + 1;
  if (out < 1) return std::nullopt;
  if (p.leftover == Leftover::CeilInside && (out - 1) * w.stride >= in + p.before) --out;
  return Placement{p.before, out, p.after};
}

// Keras pools answer with an empty tensor where the input is shorter than the window by less than two strides:
// TensorFlow divides (in - reach + stride) / stride toward zero and refuses what is negative (GetWindowedOutputSize).
constexpr bool empties(Padding p, Window w, Size in) {
  return p.spelling == Spelling::Valid && p.leftover == Leftover::Drop && in >= 1 && in < w.reach() && w.sane() &&
         (in - w.reach() + w.stride) / w.stride == 0;
}

// The cell that was scattered to cell q of a transposed convolution by tap j, `before` cells being cut off in front.
// Negative: by none.
constexpr Size scattered_from(Size before, Window w, Size q, Size j) {
  const Size at = q + before - j * w.dilation;
  return at >= 0 && at % w.stride == 0 ? at / w.stride : -1;
}

// The padding cells behind the input that some window really reads. Negative: cells never read.
constexpr Size read_past(Placement at, Window w, Size in) {
  return (at.out - 1) * w.stride + w.reach() - at.before - in;
}

// Taps `first` to `first + count - 1` of window o stand on cells from `low` up to, not including, `high`.
struct TapRange {
  Size first = 0, count = 0;
};
constexpr TapRange taps_within(Placement at, Window w, Size o, Size low, Size high) {
  const Size start = cell(at, w, o, 0);
  const Size first = std::max<Size>(0, ceil_div(low - start, w.dilation));
  const Size behind = std::min(w.kernel, ceil_div(high - start, w.dilation));
  return {first, std::max<Size>(0, behind - first)};
}
constexpr TapRange taps_inside(Placement at, Window w, Size in, Size o) { return taps_within(at, w, o, 0, in); }

// The cells a Pad must put in front and behind so that the same windows fit without any padding. Cells that no window
// reads stay where they are: they are fewer than a stride, so a Valid window does not read them either.
struct Added {
  Size before = 0, after = 0;
  friend constexpr bool operator==(Added, Added) = default;
};
constexpr std::optional<Added> pads_to_window(Padding p, Window w, Size in) {
  const auto at = place(p, w, in);
  if (!at) return std::nullopt;
  return Added{at->before, std::max<Size>(0, read_past(*at, w, in))};
}

// The pads that mean `p` at every size: Explicit with them and the remainder dropped reads the same cells. Only SAME with
// a stride has none, because its cells in front change with the size. ceil(n / stride) windows are those of reach - 1 pads;
// a leftover window is one that up to stride - 1 more cells let fit, and one that must start inside needs reach - 1 at most.
constexpr std::optional<Added> pads_at_every_size(Padding p, Window w) {
  if (!w.sane()) return std::nullopt;
  const Size whole = w.reach() - 1;
  if (p.spelling == Spelling::SameUpper || p.spelling == Spelling::SameLower) {
    const Size odd = p.spelling == Spelling::SameLower, least = std::max<Size>(0, w.reach() - w.stride);
    const Size before = (whole + odd) / 2;
    if (before != (least + odd) / 2) return std::nullopt;
    return Added{before, whole - before};
  }
  if (p.spelling == Spelling::Valid) p.before = p.after = 0;
  if (p.spelling == Spelling::Causal) p.before = whole, p.after = 0;
  if (p.before < 0 || p.after < 0 || p.before > most_cells || p.after > most_cells) return std::nullopt;
  if (p.leftover == Leftover::Drop) return Added{p.before, p.after};
  const Size more = p.after + w.stride - 1;
  if (p.leftover == Leftover::Ceil || more <= whole) return Added{p.before, more};
  if (p.after > whole) return std::nullopt;
  return Added{p.before, whole};
}

// The cells that a Pad in front has to add, at this size or, where none is known, at every one.
constexpr std::optional<Added> pads_in_front(Padding p, Window w, std::optional<Size> in) {
  return in ? pads_to_window(p, w, *in) : pads_at_every_size(p, w);
}

constexpr bool same_at(Padding a, Padding b, Window w, Size in) {
  const auto pa = place(a, w, in), pb = place(b, w, in);
  return pa.has_value() == pb.has_value() && (!pa || pa->reads_like(*pb));
}

// ---- words that mean something else in an old or another runtime

// Theano's `same` of a convolution: half the kernel on both sides, whatever the stride, and as many windows as SAME has:
// what an even kernel has too much is dropped at the end.
constexpr Padding theano_same(Window w) {
  const Size half = w.reach() / 2;
  return {Spelling::Explicit, half, w.reach() - 1 - half};
}

// The total that ONNX pads or cuts, shared between both sides, halved toward zero.
constexpr Added onnx_halves(Size total, bool larger_before) {
  const Size before = (total + larger_before) / 2;
  return {before, total - before};
}

// Pools of ONNX Runtime with auto_pad SAME_*: the total comes from the kernel without its dilation and may be negative,
// where cells are skipped. It is what `place` says where the dilation is 1 and the total is not negative.
constexpr Added onnx_pool_pads(Window w, Size in, bool larger_before) {
  return onnx_halves((ceil_div(in, w.stride) - 1) * w.stride + w.kernel - in, larger_before);
}

}  // namespace convoy
