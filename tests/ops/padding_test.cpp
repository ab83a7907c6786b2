// padding.h against lists of cells: every small input, kernel, stride and dilation.
#include "ops/transposed_padding.h"
#include "ops/vocabulary.h"

#include <gtest/gtest.h>
#include <vector>

namespace convoy::padding_test {
namespace {

using Cells = std::vector<std::vector<Size>>;

// The cells inside the input that each window reads, written down one by one.
Cells cells_read(Placement at, Window w, Size in) {
  Cells all;
  for (Size o = 0; o < at.out; ++o) {
    all.emplace_back();
    for (Size j = 0; j < w.kernel; ++j) {
      const Size cell = o * w.stride - at.before + j * w.dilation;
      if (cell >= 0 && cell < in) all.back().push_back(cell);
    }
  }
  return all;
}

// Calls check(window, input size) for everything small.
template <class F>
void for_all_small(const F& check) {
  for (Size kernel = 1; kernel <= 5; ++kernel)
    for (Size stride = 1; stride <= 4; ++stride)
      for (Size dilation = 1; dilation <= 3; ++dilation)
        for (Size in = 1; in <= 11; ++in) check(Window{kernel, stride, dilation}, in);
}

TEST(Padding, SameGivesOneOutputPerStrideAndTheFewestCells) {
  for_all_small([](Window w, Size in) {
    const auto upper = place({Spelling::SameUpper}, w, in), lower = place({Spelling::SameLower}, w, in);
    ASSERT_TRUE(upper && lower);
    Size out = 0;
    for (Size start = 0; start < in; start += w.stride) ++out;
    Size total = 0;
    while (in + total < (out - 1) * w.stride + w.reach()) ++total;
    EXPECT_EQ(*upper, (Placement{total / 2, out, total - total / 2}));
    EXPECT_EQ(*lower, (Placement{total - total / 2, out, total / 2}));
  });
}

TEST(Padding, ExplicitWindowsAreThoseThatFitInThePaddedInput) {
  for_all_small([](Window w, Size in) {
    for (Size before = 0; before <= 2; ++before)
      for (Size after = 0; after <= 3; ++after) {
        Size out = 0;
        while (out * w.stride + w.reach() <= in + before + after) ++out;
        const auto at = place({Spelling::Explicit, before, after}, w, in);
        ASSERT_EQ(at.has_value(), out > 0);
        if (at) { EXPECT_EQ(*at, (Placement{before, out, after})); }
      }
  });
}

TEST(Padding, ACausalWindowEndsAtItsOwnCell) {
  for_all_small([](Window w, Size in) {
    const auto at = place({Spelling::Causal}, w, in);
    ASSERT_TRUE(at);
    const Cells cells = cells_read(*at, w, in);
    ASSERT_EQ(static_cast<Size>(cells.size()), ceil_div(in, w.stride));
    for (std::size_t o = 0; o < cells.size(); ++o) EXPECT_EQ(cells[o].back(), static_cast<Size>(o) * w.stride);
  });
}

TEST(Padding, ACeilWindowMayNotStartInTheTrailingPadding) {
  for_all_small([](Window w, Size in) {
    // Frameworks take no pad as long as the kernel.
    for (Size before = 0; before < w.kernel; ++before)
      for (Size after = 0; after < w.kernel; ++after) {
        const Size padded = in + before + after;
        Size out = 0;
        while (out * w.stride + w.reach() <= padded) ++out;
        // One more where cells are left over, unless it starts behind the input; alone, it may lack less than a stride.
        const bool left_over = out == 0 ? w.reach() - padded < w.stride : (out - 1) * w.stride + w.reach() < padded;
        if (left_over && out * w.stride < in + before) ++out;
        if (out > 0 && (out - 1) * w.stride >= in + before) --out;
        const auto at = place({Spelling::Explicit, before, after, Leftover::CeilInside}, w, in);
        ASSERT_EQ(at ? at->out : 0, out) << w.kernel << " " << w.stride << " " << w.dilation << " " << in;
      }
  });
}

TEST(Padding, NothingFitsWhereTheNumbersMakeNoSense) {
  EXPECT_FALSE(place(Padding{}, {3, 1, 1}, 2));
  EXPECT_FALSE(place(Padding{}, {0, 1, 1}, 5));
  EXPECT_FALSE(place(Padding{}, {1, 0, 1}, 5));
  EXPECT_FALSE(place(Padding{}, {1, 1, -1}, 5));
  EXPECT_FALSE(place(Padding{}, {Size{1} << 40, 1, 1}, 5));
  EXPECT_FALSE(place(Padding{Spelling::Explicit, -1, 0}, {1, 1, 1}, 5));
  EXPECT_FALSE(place(Padding{Spelling::Explicit, Size{1} << 62, 0}, {1, 1, 1}, 5));
  EXPECT_FALSE(place(Padding{Spelling::SameUpper}, {1, 1, 1}, 0));
}

TEST(Padding, AnInputShorterByLessThanTwoStridesHasNoWindow) {
  const Padding valid{Spelling::Valid};
  // tensorflow 2.21.0: avg_pool1d of window 7 at stride 3 answers [1, 0, 2] to 3 and 2 cells, and refuses 1.
  EXPECT_TRUE(empties(valid, {7, 3, 1}, 3));
  EXPECT_TRUE(empties(valid, {7, 3, 1}, 2));
  EXPECT_FALSE(empties(valid, {7, 3, 1}, 1));
  EXPECT_FALSE(empties(valid, {7, 3, 1}, 7));
  EXPECT_FALSE(empties({Spelling::SameUpper}, {7, 3, 1}, 3));
}

TEST(Padding, SameAtSaysThatTheSameCellsAreRead) {
  const std::vector<Padding> spellings{
      {Spelling::Valid},          {Spelling::SameUpper},      {Spelling::SameLower},      {Spelling::Causal},
      {Spelling::Explicit, 1, 1}, {Spelling::Explicit, 0, 1}, {Spelling::Explicit, 1, 2}, {Spelling::Explicit, 2, 0}};
  for_all_small([&](Window w, Size in) {
    for (const Padding& a : spellings)
      for (const Padding& b : spellings) {
        const auto pa = place(a, w, in), pb = place(b, w, in);
        if (!same_at(a, b, w, in)) continue;
        ASSERT_EQ(pa.has_value(), pb.has_value());
        if (pa) { ASSERT_EQ(cells_read(*pa, w, in), cells_read(*pb, w, in)); }
      }
  });
}

TEST(Padding, SameAlwaysHoldsFarBeyondThePeriodItLooksAt) {
  const std::vector<Padding> spellings{
      {Spelling::Valid},          {Spelling::SameUpper},      {Spelling::SameLower},      {Spelling::Causal},
      {Spelling::Explicit, 1, 1}, {Spelling::Explicit, 0, 1}, {Spelling::Explicit, 2, 2}, {Spelling::Explicit, 3, 1}};
  for_all_small([&](Window w, Size in) {
    if (in > 1) return;
    for (const Padding& a : spellings)
      for (const Padding& b : spellings) {
        bool everywhere = true;
        for (Size n = 1; n <= 90; ++n) everywhere = everywhere && same_at(a, b, w, n);
        ASSERT_EQ(same_always(a, b, w), everywhere);
      }
  });
}

TEST(Padding, OneCellOnBothSidesIsSameAtOddSizesAlone) {
  const Window w{3, 2, 1};
  const Padding same{Spelling::SameUpper};
  const auto in_torch = [&](std::optional<Size> in) {
    return respell({Framework::Torch, Windowed::Convolutions}, Form::Numbers, same, w, in);
  };
  EXPECT_EQ(in_torch(7), (Padding{Spelling::Explicit, 1, 1}));
  EXPECT_FALSE(in_torch(8));
  EXPECT_FALSE(in_torch(std::nullopt));
}

TEST(Padding, PadsInFrontOfAValidWindowReadTheSameCells) {
  for_all_small([](Window w, Size in) {
    for (const Padding p : {Padding{Spelling::SameUpper}, Padding{Spelling::SameLower}, Padding{Spelling::Causal},
                            Padding{Spelling::Explicit, 1, 2}}) {
      const auto at = place(p, w, in);
      const auto added = pads_to_window(p, w, in);
      ASSERT_EQ(at.has_value(), added.has_value());
      if (!at) continue;
      const auto behind = place({Spelling::Valid}, w, in + added->before + added->after);
      ASSERT_TRUE(behind);
      EXPECT_EQ(behind->out, at->out);
      EXPECT_EQ(added->before, at->before);
    }
  });
}

// full[i*stride + j*dilation] += x[i] * w[j], with x and w so that every product can be told from every other.
std::vector<Size> scattered(Window w, Size in) {
  std::vector<Size> full(static_cast<std::size_t>(full_length(w, in)), 0);
  for (Size i = 0; i < in; ++i)
    for (Size j = 0; j < w.kernel; ++j)
      full[static_cast<std::size_t>(i * w.stride + j * w.dilation)] += Size{1} << (5 * i + j);
  return full;
}

TEST(TransposedPadding, KerasSameAndValidAreWindowsOfTheScatter) {
  for_all_small([](Window w, Size in) {
    if (in > 6) return;
    const auto same = place({CropSpelling::KerasSame}, w, in), valid = place({CropSpelling::KerasValid}, w, in);
    ASSERT_TRUE(same && valid);
    EXPECT_EQ(same->out, in * w.stride);
    EXPECT_EQ(same->before, std::max<Size>(w.reach() - w.stride, 0) / 2);
    EXPECT_EQ(valid->before, 0);
    EXPECT_EQ(valid->out, (in - 1) * w.stride + std::max(w.reach(), w.stride));
    const auto full = scattered(w, in);
    EXPECT_EQ(same->before + same->out + same->after, static_cast<Size>(full.size()));
    EXPECT_EQ(valid->before + valid->out + valid->after, static_cast<Size>(full.size()));
  });
}

TEST(TransposedPadding, AGradientScattersIntoTheCellsThatTheForwardWindowsRead) {
  for_all_small([](Window w, Size out) {
    for (const Padding p :
         {Padding{Spelling::SameUpper}, Padding{Spelling::Valid}, Padding{Spelling::Explicit, 2, 1}}) {
      const auto forward = place(p, w, out);
      for (Size in = 1; in <= 12; ++in) {
        const auto crop = crop_to_gradient(p, w, in, out);
        ASSERT_EQ(crop.has_value(), forward && forward->out == in);
        if (!crop) continue;
        EXPECT_EQ(crop->before + crop->out + crop->after, static_cast<Size>(scattered(w, in).size()));
        EXPECT_EQ(cells_read({crop->before, in, 0}, w, out), cells_read(*forward, w, out));
      }
    }
  });
  const Window w{3, 2, 1};  // three cells become 5 or 6 by SAME, 7 or 8 by VALID
  EXPECT_EQ(crop_to_gradient({Spelling::SameUpper}, w, 3, 5), (Crop{1, 5, 1}));
  EXPECT_EQ(crop_to_gradient({Spelling::SameUpper}, w, 3, 6), (Crop{0, 6, 1}));
  EXPECT_EQ(crop_to_gradient({Spelling::Valid}, w, 3, 8), (Crop{0, 8, -1}));
  EXPECT_FALSE(crop_to_gradient({Spelling::SameUpper}, w, 3, 4));
  EXPECT_FALSE(crop_to_gradient({Spelling::Valid}, w, 3, 9));
}

TEST(TransposedPadding, ExplicitCropsAreTheSameForEverySize) {
  for_all_small([](Window w, Size in) {
    for (const CropSpelling spelling : {CropSpelling::KerasSame, CropSpelling::KerasValid})
      for (Size extra = -1; extra < w.stride; ++extra) {
        const TransposedPadding p{spelling, 0, 0, extra < 0 ? std::nullopt : std::optional(extra)};
        const auto at = place(p, w, in);
        const auto crops = explicit_crops(p, w);
        if (!at) continue;
        ASSERT_TRUE(crops);
        EXPECT_EQ(place(*crops, w, in), at);
      }
  });
}

TEST(TransposedPadding, ALengthThatWouldNotMapBackIsRefused) {
  EXPECT_FALSE(place({CropSpelling::KerasSame, 0, 0, 0}, {2, 2, 1}, 5));  // an even kernel, no output padding
  EXPECT_TRUE(place({CropSpelling::KerasSame, 0, 0, 1}, {2, 2, 1}, 5));
  EXPECT_FALSE(place({CropSpelling::KerasSame, 0, 0, 2}, {3, 2, 1}, 5));  // output padding as long as the stride
  EXPECT_FALSE(place({CropSpelling::Explicit, 3, 2, {}}, {3, 1, 1}, 3));  // nothing is left
}

TEST(TransposedPadding, OnnxPutsTheLargerHalfWhereItsWordsSay) {
  const Window w{3, 2, 1};  // three cells scatter into 7
  EXPECT_EQ(onnx_same_crops(w, 0, false), (Added{0, 1}));
  EXPECT_EQ(onnx_same_crops(w, 0, true), (Added{1, 0}));
  EXPECT_EQ(onnx_same_crops(w, 1, false), (Added{1, 0}));  // output_padding moves the window: 6 cells still
  EXPECT_EQ(onnx_crop_to(6, w, 3, 0, true), (Crop{1, 6, 0}));
  EXPECT_EQ(onnx_crop_to(6, w, 3, 0, false), (Crop{0, 6, 1}));
  EXPECT_EQ(onnx_crop_to(8, w, 3, 0, true), (Crop{0, 8, -1}));
  EXPECT_FALSE(onnx_crop_to(9, w, 3, 0, true));  // four cells would come back
  EXPECT_EQ(onnx_same_crops({2, 3, 1}, 0, false), (Added{0, 0}));  // 8 cells, not 9
}

TEST(Placement, OnnxPoolsPadAsSameDoesWhereTheirTotalIsNotNegative) {
  for_all_small([](Window w, Size in) {
    if (w.dilation != 1) return;
    for (const bool lower : {false, true}) {
      const Added pads = onnx_pool_pads(w, in, lower);
      if (pads.before + pads.after < 0) continue;
      const auto same = place({lower ? Spelling::SameLower : Spelling::SameUpper}, w, in);
      EXPECT_EQ(pads, (Added{same->before, same->after}));
    }
  });
  EXPECT_EQ(onnx_pool_pads({1, 3, 1}, 6, false), (Added{-1, -1}));
  EXPECT_EQ(onnx_pool_pads({3, 2, 2}, 8, true), (Added{1, 0}));  // as if the kernel were not dilated
}

}  // namespace
}  // namespace convoy::padding_test
