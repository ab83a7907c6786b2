// Crops of transposed convolutions against a scatter written out product by product.
#include "ops/transposed_padding.h"

#include "ops/cells.h"
#include "ops/transposed_vocabulary.h"
#include "support/share.h"

#include <gtest/gtest.h>
#include <array>
#include <map>
#include <random>

namespace convoy::transposed_padding_test {
namespace {

// What the cells of the output hold: pairs of input cell and tap. An empty cell holds the bias alone.
using Cells = std::vector<std::vector<std::pair<Size, Size>>>;

Cells scattered(Window w, Size in, Size before, Size out) {
  std::map<Size, std::vector<std::pair<Size, Size>>> full;
  for (Size i = 0; i < in; ++i)
    for (Size j = 0; j < w.kernel; ++j) full[i * w.stride + j * w.dilation].emplace_back(i, j);
  Cells kept;
  for (Size q = 0; q < out; ++q) kept.push_back(full[before + q]);
  return kept;
}

// The same out of a forward convolution: output q of the gradient gets x[i] * w[j] wherever window i reads cell q with
// tap j. This is TensorFlow's definition. Nothing: the forward convolution has not `in` windows.
std::optional<Cells> gradient(Padding p, Window w, Size in, Size out) {
  const auto rows = oracle::rows_of(p, w, out);
  if (std::ssize(rows.windows) != in) return std::nullopt;
  Cells kept(static_cast<std::size_t>(out));
  for (Size i = 0; i < in; ++i)
    for (Size j = 0; j < w.kernel; ++j) {
      const Size q = rows.windows[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
      if (q >= 0 && q < out) kept[static_cast<std::size_t>(q)].emplace_back(i, j);
    }
  return kept;
}

std::optional<Cells> cells_of(TransposedPadding p, Window w, Size in) {
  const auto at = place(p, w, in);
  if (!at) return std::nullopt;
  return scattered(w, in, at->before, at->out);
}

Size length(Window w, Size in) { return (in - 1) * w.stride + (w.kernel - 1) * w.dilation + 1; }

// What Keras documents, from the gradient that its layers are.
std::optional<Cells> keras_cells(TransposedPadding p, Window w, Size in) {
  const bool same = p.spelling == CropSpelling::KerasSame;
  const Size reach = (w.kernel - 1) * w.dilation + 1;
  Size out = same ? in * w.stride : (in - 1) * w.stride + std::max(reach, w.stride);
  if (p.output_padding && *p.output_padding >= w.stride) return std::nullopt;
  if (p.output_padding) out = (same ? (in - 1) * w.stride + reach % 2 : length(w, in)) + *p.output_padding;
  if (out < 1) return std::nullopt;
  return gradient({same ? Spelling::SameUpper : Spelling::Valid}, w, in, out);
}

// What a target's line of code computes, from its documentation.
std::optional<Cells> cells_said(Framework f, CropForm form, AxisCropArguments said, Window w, Size in) {
  const Size extra = said.output_padding.value_or(0);
  switch (f) {
    case Framework::Torch: return scattered(w, in, said.before, length(w, in) - 2 * said.before + extra);
    case Framework::Onnx:
    case Framework::OnnxRuntime: return scattered(w, in, said.before, length(w, in) - said.before - said.after + extra);
    case Framework::CoreMl: return scattered(w, in, said.before, length(w, in) - said.before - said.after);
    case Framework::Keras:
      return keras_cells(
          {form == CropForm::Same ? CropSpelling::KerasSame : CropSpelling::KerasValid, 0, 0, said.output_padding}, w,
          in);
    case Framework::TensorFlow:
    case Framework::Tflite: {
      Padding p{form == CropForm::Same ? Spelling::SameUpper : Spelling::Valid};
      if (form == CropForm::Numbers) p = {Spelling::Explicit, said.before, said.after};
      return gradient(p, w, in, *said.out);
    }
  }
  return std::nullopt;
}

constexpr std::array frameworks{Framework::Torch,       Framework::Keras,  Framework::TensorFlow, Framework::Onnx,
                                Framework::OnnxRuntime, Framework::Tflite, Framework::CoreMl};

std::vector<TransposedPadding> spellings(Window w) {
  std::vector<TransposedPadding> all;
  for (const CropSpelling word : {CropSpelling::KerasSame, CropSpelling::KerasValid})
    for (Size extra = -1; extra < w.stride; ++extra)
      all.push_back({word, 0, 0, extra < 0 ? std::nullopt : std::optional(extra)});
  for (Size before = -2; before <= 4; ++before)
    for (Size after = -3; after <= 4; ++after) all.push_back(crops(before, after));
  return all;
}

template <class F>
void for_windows(Size kernels, Size strides, Size dilations, const F& check) {
  int turn = 0;
  for (Size kernel = 1; kernel <= kernels; ++kernel)
    for (Size stride = 1; stride <= strides; ++stride)
      for (Size dilation = 1; dilation <= dilations; ++dilation)
        if (turn++ % test::share == 0) check(Window{kernel, stride, dilation});
}

TEST(TransposedPadding, KerasWordsAreGradientsOfForwardConvolutions) {
  for_windows(7, 5, 3, [](Window w) {
    for (Size in = 1; in <= 12; ++in)
      for (const TransposedPadding& p : spellings(w)) {
        if (p.spelling == CropSpelling::Explicit) continue;
        ASSERT_EQ(cells_of(p, w, in), keras_cells(p, w, in))
            << w.kernel << " " << w.stride << " " << w.dilation << ", size " << in << ", output_padding "
            << p.output_padding.value_or(-1);
      }
  });
}

TEST(TransposedPadding, AGradientExistsForExactlyTheSizesItNames) {
  for_windows(5, 4, 3, [](Window w) {
    for (Size in = 1; in <= 6; ++in)
      for (const Padding p : {Padding{Spelling::SameUpper}, Padding{Spelling::Valid}, Padding{Spelling::Explicit, 2, 1},
                              Padding{Spelling::Explicit, 0, 3}}) {
        const auto sizes = gradient_output_sizes(p, w, in);
        for (Size out = 1; out <= 45; ++out) {
          const auto wanted = gradient(p, w, in, out);
          const auto crop = crop_to_gradient(p, w, in, out);
          ASSERT_EQ(crop.has_value(), wanted.has_value());
          ASSERT_EQ(sizes && sizes->has(out), wanted.has_value());
          if (crop) { ASSERT_EQ(scattered(w, in, crop->before, crop->out), *wanted); }
        }
      }
  });
}

TEST(TransposedPadding, EveryRespellingKeepsTheSameWindowOfTheScatter) {
  std::array<int, frameworks.size()> found{};
  for_windows(7, 5, 3, [&](Window w) {
    for (const TransposedPadding& p : spellings(w))
      for (std::size_t f = 0; f < frameworks.size(); ++f)
        for (Size in = 1; in <= 40; in += in < 6 ? 1 : 17) {
          const std::optional<Size> size = in;
          const auto said = transposed_arguments(frameworks[f], {&p, 1}, {&w, 1}, {&size, 1});
          const auto wanted = cells_of(p, w, in);
          if (!said || !wanted) continue;
          ++found[f];
          ASSERT_EQ(cells_said(frameworks[f], said->form, said->axes[0], w, in), wanted)
              << "framework " << f << ", kernel " << w.kernel << " stride " << w.stride << " dilation " << w.dilation
              << ", crops " << p.before << " " << p.after << ", size " << in;
        }
  });
  for (const int n : found) EXPECT_GT(n, 1000 / test::share);
}

TEST(TransposedPadding, WhatIsNotFoundCannotBeSaid) {
  constexpr Size in = 4;
  constexpr std::optional<Size> size = in;
  for_windows(5, 4, 2, [&](Window w) {
    for (const TransposedPadding& p : spellings(w)) {
      const auto wanted = cells_of(p, w, in);
      if (!wanted || !explicit_crops(p, w)) continue;
      const auto out = static_cast<Size>(wanted->size());
      const auto none = [&](Framework f) { return !transposed_arguments(f, {&p, 1}, {&w, 1}, {&size, 1}); };
      bool torch = false, keras = false, gradients = false;
      for (Size padding = 0; padding <= 6; ++padding)
        for (Size extra = 0; extra < std::max(w.stride, w.dilation); ++extra)
          torch = torch || (length(w, in) - 2 * padding + extra == out && scattered(w, in, padding, out) == *wanted);
      for (const TransposedPadding& q : spellings(w))
        keras = keras || (q.spelling != CropSpelling::Explicit && keras_cells(q, w, in) == wanted);
      for (const Spelling word : {Spelling::SameUpper, Spelling::Valid})
        gradients = gradients || gradient({word}, w, in, out) == wanted;
      ASSERT_EQ(none(Framework::Torch), !torch);
      ASSERT_EQ(none(Framework::Keras), !keras || (w.stride > 1 && w.dilation > 1));
      ASSERT_EQ(none(Framework::Tflite), !gradients || w.dilation > 1);
    }
  });
}

TEST(TransposedPadding, SaysThePopularSettingsAsTheirDocumentsDo) {
  const auto said = [](Framework f, Size padding, Size extra, Window w) {
    const auto p = torch_crops(padding, extra, w);
    const std::optional<Size> size = 5;
    return transposed_arguments(f, {&*p, 1}, {&w, 1}, {&size, 1});
  };
  EXPECT_EQ(said(Framework::Keras, 1, 0, {4, 2, 1})->form, CropForm::Same);
  EXPECT_FALSE(said(Framework::Keras, 1, 1, {3, 2, 1}));
  EXPECT_EQ(said(Framework::Keras, 1, 0, {3, 2, 1})->axes[0].output_padding, 0);
  EXPECT_EQ(said(Framework::Keras, 0, 1, {3, 2, 1})->form, CropForm::Valid);
  EXPECT_EQ(said(Framework::Onnx, 1, 1, {3, 2, 1})->axes[0], (AxisCropArguments{1, 0, 0, {}}));
  EXPECT_EQ(said(Framework::Tflite, 1, 0, {3, 2, 1})->axes[0].out, 9);
  EXPECT_FALSE(said(Framework::CoreMl, 0, 1, {3, 2, 1}));
  EXPECT_FALSE(torch_crops(0, 2, {3, 2, 1}));
  EXPECT_TRUE(torch_crops(0, 2, {3, 2, 3}));  // less than the dilation
  EXPECT_EQ(torch_output_sizes(1, {3, 2, 1}, 3), (Range{5, 6}));
  EXPECT_EQ(torch_crops_to(6, 1, {3, 2, 1}, 3), crops(1, 0));
  EXPECT_FALSE(torch_crops_to(7, 1, {3, 2, 1}, 3));
  // Keras and TensorFlow SAME to PyTorch is direct unless kernel - stride is odd and positive.
  for (Size kernel = 1; kernel <= 7; ++kernel)
    for (Size stride = 1; stride <= 4; ++stride) {
      const Window w{kernel, stride, 1};
      const TransposedPadding same{CropSpelling::KerasSame, 0, 0, {}};
      const std::optional<Size> free;
      EXPECT_EQ(transposed_arguments(Framework::Torch, {&same, 1}, {&w, 1}, {&free, 1}).has_value(),
                kernel <= stride || (kernel - stride) % 2 == 0);
    }
}

TEST(TransposedPadding, AxesAreSaidTogether) {
  const std::array windows{Window{3, 2, 1}, Window{4, 3, 1}};
  const std::array<std::optional<Size>, 2> sizes{5, 7};
  const std::array same{TransposedPadding{CropSpelling::KerasSame, 0, 0, {}},
                        TransposedPadding{CropSpelling::KerasSame, 0, 0, {}}};
  const auto keras = transposed_arguments(Framework::Keras, same, windows, sizes);
  ASSERT_TRUE(keras);
  EXPECT_EQ(keras->form, CropForm::Same);
  // The same window with and without output_padding is not one layer.
  const std::array mixed{TransposedPadding{CropSpelling::KerasSame, 0, 0, 0},
                         TransposedPadding{CropSpelling::KerasValid, 0, 0, {}}};
  EXPECT_FALSE(transposed_arguments(Framework::Keras, mixed, windows, sizes));
  EXPECT_FALSE(transposed_arguments(Framework::Keras, same, windows, sizes, 2));  // no groups
  EXPECT_FALSE(transposed_arguments(Framework::Tflite, same, std::array{Window{3, 2, 2}, Window{4, 3, 1}}, sizes));
}

TEST(TransposedPadding, OnnxRuntimeMovesTheWindowWhereTheSpecificationLengthensIt) {
  const Window w{3, 2, 1};
  EXPECT_EQ(onnx_same_crops(w, 0, false, OnnxRule::Specification), onnx_same_crops(w, 0, false));
  EXPECT_EQ(crop_by(0, 0, w, 3).out, 7);
  const Added runtime = onnx_same_crops(w, 1, false), text = onnx_same_crops(w, 1, false, OnnxRule::Specification);
  EXPECT_EQ(crop_by(runtime.before, runtime.after, w, 3).out, 6);
  EXPECT_EQ(crop_by(text.before, text.after, w, 3).out, 7);
  EXPECT_TRUE(onnx_runtime_runs(1, w));
  EXPECT_FALSE(onnx_runtime_runs(2, {3, 2, 3}));
}

TEST(TransposedPadding, TheanoIsTheGradientOfAHalfPaddedConvolution) {
  const Window w{3, 2, 1};
  EXPECT_EQ(theano_crop(Spelling::SameUpper, w, 3, 5), (Crop{1, 5, 1}));
  EXPECT_EQ(theano_crop(Spelling::SameUpper, w, 3, 6), (Crop{1, 6, 0}));
  EXPECT_FALSE(theano_crop(Spelling::SameUpper, w, 3, 7));
  EXPECT_EQ(theano_crop(Spelling::Valid, w, 3, 8), (Crop{0, 8, -1}));
  EXPECT_FALSE(theano_crop(Spelling::SameUpper, {4, 2, 1}, 3, 6));
}

}  // namespace
}  // namespace convoy::transposed_padding_test
