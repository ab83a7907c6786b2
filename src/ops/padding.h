// Where a sliding window goes along one axis. Every reader, writer, pass, emitter and kernel asks
// this file; nothing else in the project computes a pad, a crop or an output size.
#pragma once
#include "convoy/size.h"

#include <algorithm>
#include <array>
#include <cstddef>
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
  Drop,        // floor
  Ceil,        // one more window, wherever it starts
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

// Nothing: no window fits, or the numbers make no sense.
constexpr std::optional<Placement> place(Padding p, Window w, Size in) {
  constexpr Size most = Size{1} << 40;
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

// Keras pools answer with an empty tensor where the input is shorter than the window by a stride at most.
constexpr bool empties(Padding p, Window w, Size in) {
  return p.spelling == Spelling::Valid && p.leftover == Leftover::Drop && in >= 1 && in < w.reach() && w.sane() &&
         floor_div(in - w.reach(), w.stride) == -1;
}

// The padding cells behind the input that some window really reads. Negative: cells never read.
constexpr Size read_past(Placement at, Window w, Size in) {
  return (at.out - 1) * w.stride + w.reach() - at.before - in;
}

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

constexpr bool same_at(Padding a, Padding b, Window w, Size in) {
  const auto pa = place(a, w, in), pb = place(b, w, in);
  return pa.has_value() == pb.has_value() && (!pa || pa->reads_like(*pb));
}

// For every size? Both sides repeat with the stride once the input is longer than the window and
// the pads, so one period beyond that settles it.
constexpr bool same_always(Padding a, Padding b, Window w) {
  const Size settled = w.reach() + a.before + a.after + b.before + b.after;
  for (Size in = 1; in <= settled + 2 * w.stride; ++in)
    if (!same_at(a, b, w, in)) return false;
  return true;
}

// The same placement in another vocabulary: the first spelling `speaks` accepts that means what `p`
// means, for every size or for `in` alone when `in` is known. Nothing: a Pad in front is needed.
template <class Speaks>
constexpr std::optional<Padding> respell(Padding p, Window w, std::optional<Size> in, Speaks speaks) {
  if (speaks(p, w)) return p;
  std::array<Padding, 9> wanted{
      Padding{Spelling::Valid}, {Spelling::SameUpper}, {Spelling::SameLower}, {Spelling::Causal}, p, p, p, p, p};
  std::size_t n = 4;
  if (in) {
    if (const auto at = place(p, w, *in)) {
      const Size past = std::max<Size>(0, read_past(*at, w, *in));
      wanted[n++] = {Spelling::Explicit, at->before, past};
      wanted[n++] = {Spelling::Explicit, at->before, at->before};
      wanted[n++] = {Spelling::Explicit, at->before, at->before, Leftover::CeilInside};
    }
  } else if (const Size total = w.reach() - 1; w.stride == 1) {
    wanted[n++] = {Spelling::Explicit, total / 2, total - total / 2};
  } else if (p.spelling == Spelling::SameUpper || p.spelling == Spelling::SameLower) {
    wanted[n++] = {Spelling::Explicit, 0, 0};
    wanted[n++] = {Spelling::Explicit, 0, 0, Leftover::CeilInside};
  }
  for (std::size_t i = 0; i < n; ++i)
    if (speaks(wanted[i], w) && (in ? same_at(p, wanted[i], w, *in) : same_always(p, wanted[i], w))) return wanted[i];
  return std::nullopt;
}

// ---- transposed convolution: full[i*stride + j*dilation] += x[i]*w[j], then y[q] = full[q + before], q < out.
// A negative crop extends with zeros; the bias is added to every y[q], also there.
struct Crop {
  Size before = 0, out = 0, after = 0;
  friend constexpr bool operator==(Crop, Crop) = default;
};

constexpr Size full_length(Window w, Size in) { return (in - 1) * w.stride + w.reach(); }

// Explicit crops. PyTorch padding p and output_padding e: crop_by(p, p - e). ONNX pads (b, a) and e: crop_by(b, a - e).
constexpr Crop crop_by(Size before, Size after, Window w, Size in) {
  return {before, full_length(w, in) - before - after, after};
}

// TensorFlow SAME with a requested output length.
constexpr Crop crop_to_same(Size out, Window w, Size in) {
  const Size full = full_length(w, in), before = std::max<Size>(full - out, 0) / 2;
  return {before, out, full - out - before};
}

// The input gradient of a forward convolution that reads `out` cells with the padding `p` and gives `in` of them: how
// TensorFlow and TFLite say a transposed convolution. Nothing: the forward convolution gives another number of cells.
constexpr std::optional<Crop> crop_to_gradient(Padding p, Window w, Size in, Size out) {
  const auto forward = place(p, w, out);
  if (!forward || forward->out != in) return std::nullopt;
  return Crop{forward->before, out, full_length(w, in) - forward->before - out};
}

// ONNX, where the total that is cut off is shared between both sides, the larger half before or behind.
//   auto_pad SAME_UPPER (larger half behind) and SAME_LOWER without output_shape: the same crops for every size. With
//   output_padding the window moves instead of growing.
//   output_shape: the larger half behind with SAME_UPPER alone. Nothing: a forward convolution of that length does not
//   give `in` cells back.
// Source: ONNX ConvTranspose-11 and the checks of ONNX Runtime 1.30.
constexpr Added onnx_crops(Size total, bool larger_before) {
  const Size before = (total + larger_before) / 2;
  return {before, total - before};
}
constexpr Added onnx_same_crops(Window w, Size output_padding, bool larger_before) {
  const Size total = std::max<Size>(w.reach() + output_padding - w.stride, 0);
  const Added at = onnx_crops(total, larger_before);
  return {at.before, at.after - output_padding};
}
constexpr std::optional<Crop> onnx_crop_to(Size out, Window w, Size in, Size output_padding, bool larger_before) {
  const Size full = full_length(w, in), total = std::max<Size>(full + output_padding - out, 0);
  if (out < 1 || floor_div(out + total - w.reach(), w.stride) + 1 != in) return std::nullopt;
  const Size before = onnx_crops(total, larger_before).before;
  return Crop{before, out, full - out - before};
}

// Pools of ONNX Runtime with auto_pad SAME_*: the total comes from the kernel without its dilation and may be negative,
// where cells are skipped. It is what `place` says where the dilation is 1 and the total is not negative.
constexpr Added onnx_pool_pads(Window w, Size in, bool larger_before) {
  return onnx_crops((ceil_div(in, w.stride) - 1) * w.stride + w.kernel - in, larger_before);
}

// Keras `valid`: never shorter than the stride per input cell.
constexpr Crop crop_keras_valid(Window w, Size in) {
  return crop_by(0, -std::max<Size>(w.stride - w.reach(), 0), w, in);
}

// How a file says which part of the full scatter is kept.
enum class CropSpelling : std::uint8_t {
  Explicit,  // before, after: signed crops, for every size
  KerasSame,  // Keras 2 and 3 `same`; `output_padding` may be given
  KerasValid  // Keras 2 and 3 `valid`; `output_padding` may be given
};

struct TransposedPadding {
  CropSpelling spelling = CropSpelling::Explicit;
  Size before = 0, after = 0;  // read only when spelling is Explicit
  std::optional<Size> output_padding{};  // read only by the Keras spellings
  friend constexpr bool operator==(TransposedPadding, TransposedPadding) = default;
};

// Nothing: no cell is left, or the numbers make no sense. Source: semantics of Keras
// `compute_conv_transpose_output_shape` and TensorFlow's input gradient; with `output_padding` the Keras `same` length
// is (in-1)*stride + reach%2 + output_padding.
constexpr std::optional<Crop> place(TransposedPadding p, Window w, Size in) {
  constexpr Size most = Size{1} << 30;
  if (in < 1 || in > most || !w.sane()) return std::nullopt;
  Crop at;
  if (p.spelling == CropSpelling::Explicit) {
    if (p.before < -most || p.before > most || p.after < -most || p.after > most) return std::nullopt;
    at = crop_by(p.before, p.after, w, in);
  } else if (p.output_padding) {
    const Size extra = p.output_padding.value_or(0);
    if (extra < 0 || extra >= w.stride) return std::nullopt;
    if (p.spelling == CropSpelling::KerasValid) {
      at = crop_by(0, -extra, w, in);
    } else {
      const Size odd = w.reach() % 2, before = std::max<Size>(w.reach() - odd - extra, 0) / 2;
      const Size out = (in - 1) * w.stride + odd + extra;
      // TensorFlow runs the layer as an input gradient and refuses a length that would not map back to `in`.
      if (ceil_div(out, w.stride) != in) return std::nullopt;
      at = {before, out, full_length(w, in) - out - before};
    }
  } else {
    at = p.spelling == CropSpelling::KerasSame ? crop_to_same(in * w.stride, w, in) : crop_keras_valid(w, in);
  }
  if (at.out < 1) return std::nullopt;
  return at;
}

// The signed crops that mean the same for every size: all spellings above differ from the full scatter by constants.
constexpr std::optional<TransposedPadding> explicit_crops(TransposedPadding p, Window w) {
  for (const Size in : {Size{1}, Size{2}, Size{3}, w.reach() + 1})
    if (const auto at = place(p, w, in)) return TransposedPadding{CropSpelling::Explicit, at->before, at->after, {}};
  return std::nullopt;
}

}  // namespace convoy
