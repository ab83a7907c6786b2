// What each framework can say about the crops of a transposed convolution without a crop or a pad behind it.
#pragma once
#include "ops/transposed_padding.h"
#include "ops/vocabulary.h"

#include <span>
#include <utility>
#include <vector>

namespace convoy {

enum class CropForm : std::uint8_t { Same, Valid, Numbers };

// One axis in the target's numbers.
//   PyTorch   before = after = padding; output_padding
//   Keras     output_padding, or none on all axes
//   TensorFlow, TFLite   out: the output_shape to ask for, where the input size is known; before, after: of Numbers
//   ONNX      before, after: pads; output_padding
//   Core ML   before, after: pad of pad_type custom
struct AxisCropArguments {
  Size before = 0, after = 0;
  std::optional<Size> output_padding{}, out{};
  friend constexpr bool operator==(const AxisCropArguments&, const AxisCropArguments&) = default;
};

// The part of signed crops that the framework's layer says, and what is left to cut off behind it; negative: to add.
struct CropParts {
  TransposedPadding direct;
  Size before = 0, after = 0;
};

// PyTorch: what the direct part cuts off cannot come back behind it, so that an end that is to stay takes the padding down
// with it. ONNX: its pads cut both ends on their own, and what it adds behind is less than a stride; where something is
// added that it cannot add, nothing is cut at the other end either, which might leave no cell.
constexpr CropParts parts_in(Framework framework, TransposedPadding wanted, Window w) {
  Size before = wanted.before, after = wanted.after;
  if (framework == Framework::Torch) {
    const Size most = std::max(w.stride, w.dilation) - 1;
    before = std::clamp<Size>(wanted.before, 0, std::max<Size>(0, wanted.after + most));
    after = std::clamp(wanted.after, before - most, before);
  } else if (wanted.before < 0 || wanted.after <= -w.stride) {
    before = 0;
    after = std::clamp<Size>(wanted.after, 1 - w.stride, 0);
  }
  return {crops(before, after), wanted.before - before, wanted.after - after};
}

struct CropArguments {
  CropForm form = CropForm::Numbers;
  std::vector<AxisCropArguments> axes;
};

using Crops = std::span<const TransposedPadding>;

namespace detail {

constexpr std::optional<AxisCropArguments> said_by_torch(TransposedPadding p, Window w) {
  const Size extra = p.before - p.after;
  if (p.before < 0 || extra < 0 || extra >= std::max(w.stride, w.dilation)) return std::nullopt;
  return AxisCropArguments{p.before, p.before, extra, {}};
}

constexpr std::optional<AxisCropArguments> said_by_onnx(TransposedPadding p, Window w, Framework f) {
  const Size most = f == Framework::OnnxRuntime ? w.stride : std::max(w.stride, w.dilation);
  if (p.before < 0 || -p.after >= most) return std::nullopt;
  return AxisCropArguments{p.before, std::max<Size>(p.after, 0), std::max<Size>(-p.after, 0), {}};
}

// `extra`: with output_padding, or without.
constexpr std::optional<AxisCropArguments> said_by_keras(TransposedPadding p, Window w, CropForm form, bool extra) {
  TransposedPadding word{form == CropForm::Same ? CropSpelling::KerasSame : CropSpelling::KerasValid, 0, 0, {}};
  if (extra) word.output_padding = form == CropForm::Same ? w.reach() - p.before - p.after - w.reach() % 2 : -p.after;
  if (explicit_crops(word, w) != p) return std::nullopt;
  return AxisCropArguments{0, 0, word.output_padding, {}};
}

// The words are those of the forward convolution; its number of windows must come back at every size.
constexpr std::optional<AxisCropArguments> said_as_gradient(TransposedPadding p, Window w, CropForm form,
                                                            std::optional<Size> in) {
  const Size total = p.before + p.after;
  AxisCropArguments said;
  if (form == CropForm::Same) {
    const Size last = w.reach() - total;  // cells that the last input adds
    if (last < 1 || last > w.stride || p.before != std::max<Size>(total, 0) / 2) return std::nullopt;
  } else if (form == CropForm::Valid) {
    if (p.before != 0 || p.after > 0 || -p.after >= w.stride) return std::nullopt;
  } else {
    if (p.before < 0 || -p.after >= w.stride) return std::nullopt;
    said.before = p.before;
    said.after = std::max<Size>(p.after, 0);
  }
  if (in) {
    const auto at = place(p, w, *in);
    if (!at) return std::nullopt;
    said.out = at->out;
  }
  return said;
}

constexpr std::optional<AxisCropArguments> said(Framework f, CropForm form, bool extra, TransposedPadding p, Window w,
                                                std::optional<Size> in) {
  switch (f) {
    case Framework::Torch: return said_by_torch(p, w);
    case Framework::Keras: return said_by_keras(p, w, form, extra);
    case Framework::TensorFlow:
    case Framework::Tflite: return said_as_gradient(p, w, form, in);
    case Framework::Onnx:
    case Framework::OnnxRuntime: return said_by_onnx(p, w, f);
    case Framework::CoreMl:
      if (p.before < 0 || p.after < 0) return std::nullopt;
      return AxisCropArguments{p.before, p.after, {}, {}};
  }
  return std::nullopt;
}

// Does the framework have this form for these windows and groups?
constexpr bool has_transposed(Framework f, CropForm form, Windows windows, Size groups) {
  if (windows.empty() || windows.size() > 3) return false;
  const bool dilated = any_above_one(windows, &Window::dilation), strided = any_above_one(windows, &Window::stride);
  const bool word = form != CropForm::Numbers;
  switch (f) {
    case Framework::Keras: return word && groups == 1 && (!dilated || !strided);
    case Framework::TensorFlow: return groups == 1 && (word || windows.size() == 2);
    case Framework::Tflite: return word && groups == 1 && !dilated;
    default: return !word;
  }
}

}  // namespace detail

// The same window of the scatter in the framework's own words: for every size, or for those known. Nothing: a crop or a
// pad behind, or another operator, is needed.
constexpr std::optional<CropArguments> transposed_arguments(Framework f, Crops crops, Windows windows, FreeSizes sizes,
                                                            Size groups = 1) {
  if (crops.size() != windows.size() || sizes.size() != windows.size()) return std::nullopt;
  for (const CropForm form : {CropForm::Same, CropForm::Valid, CropForm::Numbers}) {
    if (!detail::has_transposed(f, form, windows, groups)) continue;
    for (const bool extra : {false, true}) {
      CropArguments all{form, {}};
      for (std::size_t i = 0; i < windows.size(); ++i)
        if (const auto fixed = explicit_crops(crops[i], windows[i]))
          if (const auto one = detail::said(f, form, extra, *fixed, windows[i], sizes[i])) all.axes.push_back(*one);
      if (all.axes.size() == windows.size()) return all;
    }
  }
  return std::nullopt;
}

// All axes in Keras's words: what `same` or `valid` say where they say all of it; otherwise `valid`, with an output padding
// where the end is to grow, and what is left to cut off or to add behind. Nothing: Keras has no layer for these windows.
constexpr std::optional<std::vector<CropParts>> parts_in_keras(Crops crops, Windows windows, Size groups = 1) {
  if (crops.size() != windows.size()) return std::nullopt;
  const std::vector<std::optional<Size>> free(windows.size());
  std::vector<CropParts> all;
  if (const auto said = transposed_arguments(Framework::Keras, crops, windows, free, groups)) {
    const auto word = said->form == CropForm::Same ? CropSpelling::KerasSame : CropSpelling::KerasValid;
    for (const AxisCropArguments& axis : said->axes) all.push_back({{word, 0, 0, axis.output_padding}, 0, 0});
    return all;
  }
  if (!detail::has_transposed(Framework::Keras, CropForm::Valid, windows, groups)) return std::nullopt;
  // `valid` by itself adds what a kernel shorter than the stride leaves open.
  const auto grown = [](Window w) { return std::max<Size>(w.stride - w.reach(), 0); };
  bool extra = false;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const auto fixed = explicit_crops(crops[i], windows[i]);
    extra = extra || (fixed && -fixed->after > grown(windows[i]));
  }
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const auto fixed = explicit_crops(crops[i], windows[i]);
    if (!fixed) return std::nullopt;
    TransposedPadding word{CropSpelling::KerasValid, 0, 0, {}};
    Size more = grown(windows[i]);
    if (extra) more = *(word.output_padding = std::clamp<Size>(-fixed->after, 0, windows[i].stride - 1));
    all.push_back({word, fixed->before, fixed->after + more});
  }
  return all;
}

// A transposed convolution without stride is a convolution with the kernel flipped: the cells that it has around x.
// Negative: cells of x that are never read. `crop`: in numbers.
constexpr Added pads_when_flipped(TransposedPadding crop, Window w) {
  return {w.reach() - 1 - crop.before, w.reach() - 1 - crop.after};
}

// The taps of a dilated window among those of a dense one of the same reach; -1: a zero between two of them.
inline Sizes spread_taps(Window w) {
  Sizes taps(static_cast<std::size_t>(w.reach()), -1);
  for (Size j = 0; j < w.kernel; ++j) taps[static_cast<std::size_t>(j * w.dilation)] = j;
  return taps;
}

// Tap j of all windows without padding reads every stride-th cell from `before` on, up to `after` cells before the end.
constexpr Added cells_beside_tap(Window w, Size j) { return {j * w.dilation, w.reach() - 1 - j * w.dilation}; }

}  // namespace convoy
