// Which part of a transposed convolution's scatter is kept, as every framework says it.
#pragma once
#include "ops/padding.h"

namespace convoy {

// full[i*stride + j*dilation] += x[i]*w[j], then y[q] = full[q + before], q < out.
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
//   output_padding the window of ONNX Runtime moves instead of growing; the specification's shape inference lets it grow.
//   output_shape: the larger half behind with SAME_UPPER alone. Nothing: a forward convolution of that length does not
//   give `in` cells back.
// Source: ONNX ConvTranspose-11 and the checks of ONNX Runtime 1.30.
enum class OnnxRule : std::uint8_t { Runtime, Specification };
constexpr Added onnx_same_crops(Window w, Size output_padding, bool larger_before, OnnxRule rule = OnnxRule::Runtime) {
  const Size counted = rule == OnnxRule::Runtime ? output_padding : 0;
  const Size total = std::max<Size>(w.reach() + counted - w.stride, 0);
  const Added at = onnx_halves(total, larger_before);
  return {at.before, at.after - output_padding};
}
constexpr std::optional<Crop> onnx_crop_to(Size out, Window w, Size in, Size output_padding, bool larger_before) {
  const Size full = full_length(w, in), total = std::max<Size>(full + output_padding - out, 0);
  if (out < 1 || floor_div(out + total - w.reach(), w.stride) + 1 != in) return std::nullopt;
  const Size before = onnx_halves(total, larger_before).before;
  return Crop{before, out, full - out - before};
}
// ONNX Runtime runs a layer with explicit pads as a gradient too, whatever the specification allows.
constexpr bool onnx_runtime_runs(Size output_padding, Window w) {
  return output_padding >= 0 && output_padding < w.stride;
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
  constexpr Size most = Size{1} << 30;
  if (p.spelling == CropSpelling::Explicit) {
    if (!w.sane() || p.before < -most || p.before > most || p.after < -most || p.after > most) return std::nullopt;
    return TransposedPadding{CropSpelling::Explicit, p.before, p.after, {}};
  }
  for (const Size in : {Size{1}, Size{2}, Size{3}, w.reach() + 1})
    if (const auto at = place(p, w, in)) return TransposedPadding{CropSpelling::Explicit, at->before, at->after, {}};
  return std::nullopt;
}

// The window with the longest stride whose scatter of `in` cells is `out` long. Nothing: fewer cells than before.
constexpr std::optional<Window> window_to_length(Size in, Size out) {
  if (in < 1 || out < in) return std::nullopt;
  const Size stride = out / in;
  return Window{out - (in - 1) * stride, stride, 1};
}

// A size at which a crop within the window leaves cells: for what is the same at every size.
constexpr Size ample_size(Window w) { return w.reach() + 2; }

// ---- what each source means, as signed crops. Nothing: the framework refuses the numbers.

constexpr TransposedPadding crops(Size before, Size after) { return {CropSpelling::Explicit, before, after, {}}; }

// Numbers from a file or a command line that no sum below can wrap.
constexpr bool countable(Size n) { return n >= 0 && n <= Size{1} << 30; }

// PyTorch; Caffe without output_padding, which moves the end only.
constexpr std::optional<TransposedPadding> torch_crops(Size padding, Size output_padding, Window w) {
  if (!w.sane() || !countable(padding) || !countable(output_padding)) return std::nullopt;
  if (output_padding >= std::max(w.stride, w.dilation)) return std::nullopt;
  return crops(padding, padding - output_padding);
}
// The sizes that `output_size` may ask for.
constexpr std::optional<Range> torch_output_sizes(Size padding, Window w, Size in) {
  if (!w.sane() || in < 1 || !countable(in) || !countable(padding)) return std::nullopt;
  const Size least = full_length(w, in) - 2 * padding;
  return Range{least, least + w.stride - 1};
}
constexpr std::optional<TransposedPadding> torch_crops_to(Size out, Size padding, Window w, Size in) {
  const auto lengths = torch_output_sizes(padding, w, in);
  if (!lengths || !lengths->has(out)) return std::nullopt;
  return torch_crops(padding, out - lengths->least, w);
}

// The output sizes of which such a gradient comes back with `in` cells.
constexpr std::optional<Range> gradient_output_sizes(Padding p, Window w, Size in) {
  if (!w.sane() || in < 1 || !countable(in)) return std::nullopt;
  if (p.spelling == Spelling::SameUpper) return Range{(in - 1) * w.stride + 1, in * w.stride};
  if (p.spelling == Spelling::Valid) p.before = p.after = 0;
  else if (p.spelling != Spelling::Explicit || !countable(p.before) || !countable(p.after)) return std::nullopt;
  const Size least = full_length(w, in) - p.before - p.after;
  if (least + w.stride - 1 < 1) return std::nullopt;
  return Range{std::max<Size>(least, 1), least + w.stride - 1};
}

// Core ML's `valid` and `custom`. Its `same` leaves open on which side an odd cell goes, and is not read.
constexpr std::optional<TransposedPadding> coreml_crops(Padding p) {
  if (p.spelling == Spelling::Valid) return crops(0, 0);
  if (p.spelling != Spelling::Explicit || !countable(p.before) || !countable(p.after)) return std::nullopt;
  return crops(p.before, p.after);
}

// Keras 1's Deconvolution2D on Theano: an input gradient of a convolution padded by half the kernel on both sides
// (`same`, read here for odd kernels only: it cuts the output of even ones to the input's size) or not at all.
constexpr std::optional<Crop> theano_crop(Spelling word, Window w, Size in, Size out) {
  if (word != Spelling::Valid && (word != Spelling::SameUpper || w.reach() % 2 == 0)) return std::nullopt;
  const Size half = word == Spelling::Valid ? 0 : w.reach() / 2;
  return crop_to_gradient({Spelling::Explicit, half, half}, w, in, out);
}

// A kernel that is shorter than its stride with zeros around it up to that, placed so that SAME, which cuts half of what is cut in
// front, means the same crops; these are explicit and have no dilation.
struct WidenedKernel {
  Size front = 0, behind = 0;  // zeros
  Window window;
  TransposedPadding crops;
};
constexpr WidenedKernel widened_to_stride(TransposedPadding crops, Window window) {
  const Size more = window.stride - window.kernel;
  if (more <= 0) return {0, 0, window, crops};
  const Size cut = std::max<Size>(crops.before + crops.after + more, 0);
  const Size front = std::clamp<Size>(cut / 2 - crops.before, 0, more);
  crops.before += front, crops.after += more - front;
  return {front, more - front, {window.stride, window.stride, 1}, crops};
}

}  // namespace convoy
