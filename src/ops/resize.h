// Axes stretched or shrunk by interpolation, and images read at places that the model computes.
#pragma once
#include "ops/axes.h"
#include "ops/infer.h"
#include "ops/pad.h"

#include <string_view>
#include <tuple>
#include <vector>

namespace convoy {

enum class Interpolation : std::uint8_t { Nearest, Linear, Cubic, Area, Lanczos3, Lanczos5, Gaussian, Mitchell };

// Output index i -> source coordinate c, for `in` cells becoming `out`. scale = 1 / factor, or in / out where no factor
// is given.
enum class Coordinates : std::uint8_t {
  HalfPixel,  // (i + 0.5) * scale - 0.5
  Asymmetric,  // i * scale
  AlignCorners,  // i * (in - 1) / (out - 1), 0 if out is 1
  PytorchHalfPixel,  // HalfPixel, 0 if out is 1 (ONNX)
  HalfPixelSymmetric,  // HalfPixel + in/2 * (1 - out * scale / in): stretched about the middle (ONNX)
  HalfPixelCell,  // (i + 0.5) * scale: nearest only (ONNX tf_half_pixel_for_nn)
  CornerSteps,  // (i + 0.5) * step - 0.5, step = (in - 1) / (out - 1), which also widens the kernel: `antialias`
  // only (PyTorch antialias with align_corners)
  CropAndResize,  // start*(in-1) + i*(end-start)*(in-1)/(out-1), (start+end)/2 * (in-1) if out is 1 (ONNX)
};

// Nearest only: which cell a coordinate means. All of them stay within the axis.
enum class Rounding : std::uint8_t {
  Floor,
  RoundHalfUp,  // of HalfPixel by Arithmetic::Multiplied: floor((i + 0.5) * scale)
  RoundHalfDown,  // ONNX round_prefer_floor
  Ceil,
  CeilToShrink,  // Ceil where an axis gets shorter by its factor, else Floor (ONNX Upsample and Resize-10)
};

// Nearest cells, table offsets and the border of CropAndResize hang on the last bit of a coordinate, so it is computed in
// float32 as the framework does; weights otherwise come from float64.
enum class Arithmetic : std::uint8_t {
  Multiplied,  // by the rounded scale (PyTorch, TensorFlow)
  Divided,  // by the rounded factor; what is within 1e-6 of a half counts as one (ONNX Runtime)
};

// Axes whose lengths say by themselves which cells are taken, whatever factor is given.
enum class FixedLengths : std::uint8_t {
  None,
  Equal,  // out = in copies the axis (PyTorch linear, bilinear, trilinear, antialias)
  EqualAndDouble,  // the same, and out = 2 in takes cell i / 2 (PyTorch nearest on four axes)
};

// x -> y with `axes` (sorted, any of x's axes) resized; the lists hold one entry per axis of it. y is as long as `sizes`
// say, or floor(in * factor) where they are empty; `factors` give the scale, or the lengths do where they are empty.
// One of the two is filled at least.
// Cubic: Keys with `cubic_a`. `drops_outside`: taps of a cubic or antialiased kernel beyond the border are dropped and
// the rest rescaled, otherwise the border cell is repeated; Lanczos, Gaussian and Mitchell always drop them.
// `cubic_table`: offsets rounded to 1/1024 as TensorFlow does. `antialias` widens the kernel when shrinking. Area is
// TensorFlow's box average. CropAndResize reads from `starts` to `ends` (as shares of the axis), and gives
// `outside_value` wherever a coordinate leaves the axis.
// Source: PyTorch UpSample.h, UpSampleKernel.cpp; TensorFlow image_resizer_state.h, scale_and_translate_op.cc; ONNX Resize.
struct Resize {
  static constexpr std::string_view name = "resize";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits{LayerKind::Resampling, AxisUse::Kept, Contents::Computed, Learnt::Nothing,
                                 Indices::None};
  Sizes axes{2, 3};
  Sizes sizes;
  std::vector<double> factors;
  Interpolation interpolation = Interpolation::Nearest;
  Coordinates coordinates = Coordinates::HalfPixel;
  Rounding rounding = Rounding::Floor;
  Arithmetic arithmetic = Arithmetic::Multiplied;
  FixedLengths fixed = FixedLengths::None;
  double cubic_a = -0.75;
  bool drops_outside = false, cubic_table = false, antialias = false;
  std::vector<double> starts, ends;
  double outside_value = 0;
  template <class Visit>
  static void fields(Visit visit) {
    visit("axes", &Resize::axes);
    visit("sizes", &Resize::sizes);
    visit("factors", &Resize::factors);
    visit("interpolation", &Resize::interpolation);
    visit("coordinates", &Resize::coordinates);
    visit("rounding", &Resize::rounding);
    visit("arithmetic", &Resize::arithmetic);
    visit("fixed", &Resize::fixed);
    visit("cubic_a", &Resize::cubic_a);
    visit("drops_outside", &Resize::drops_outside);
    visit("cubic_table", &Resize::cubic_table);
    visit("antialias", &Resize::antialias);
    visit("starts", &Resize::starts);
    visit("ends", &Resize::ends);
    visit("outside_value", &Resize::outside_value);
  }
  friend bool operator==(const Resize&, const Resize&) = default;
};

// What output cell i of one axis reads: source cells and their weights (they sum to 1). Empty: outside of a crop.
struct Taps {
  Sizes cells;
  std::vector<double> weights;
};
// Of entry `i` of the axes, `in` cells becoming `out`.
std::vector<Taps> taps_of(const Resize& resize, std::size_t i, Size in, Size out);

// The axes between batch and channels, wherever the channels lie.
inline Sizes spatial_axes(Axes axes) {
  Sizes all;
  for (Size i = 0; i < axes.space; ++i) all.push_back(axes.spatial(i));
  return all;
}

// x [N, C, n...], grid [N, m..., d] -> [N, C, m...], d spatial axes: what x is at the places of the grid, whose last axis
// names the axes of x from the last to the first. -1 and 1 are the centres of the first and the last cell
// (`align_corners`), or their outer edges: c = (g + 1) / 2 * (n - 1), or ((g + 1) * n - 1) / 2.
// Nearest rounds halves to even; Cubic is Keys' kernel with -0.75. Outside of x: Constant gives zeros, Edge the nearest
// cell, Reflect mirrors about those centres or edges.
// Fails: other interpolations and borders; cubic of other than two axes. Source: PyTorch GridSampler.h.
struct GridSample {
  static constexpr std::string_view name = "grid_sample";
  static constexpr std::size_t least_inputs = 2, most_inputs = 2;
  static constexpr Traits traits{LayerKind::Resampling, AxisUse::Made, Contents::Computed, Learnt::Nothing,
                                 Indices::None};
  Interpolation interpolation = Interpolation::Linear;
  PadMode border = PadMode::Constant;
  bool align_corners = false;
  template <class Visit>
  static void fields(Visit visit) {
    visit("interpolation", &GridSample::interpolation);
    visit("border", &GridSample::border);
    visit("align_corners", &GridSample::align_corners);
  }
  friend bool operator==(const GridSample&, const GridSample&) = default;
};

using ResizeFamily = std::tuple<Resize, GridSample>;

}  // namespace convoy
