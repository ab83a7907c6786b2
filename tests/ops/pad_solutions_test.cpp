// The solver's answers against trying every pair of pads and every pair of crops.
#include "ops/pad_solutions.h"
#include "ops/cells.h"
#include "support/share.h"

#include <gtest/gtest.h>

namespace convoy::pad_solutions_test {
namespace {

template <class F>
void for_small(const F& check) {
  int turn = 0;
  for (Size kernel = 1; kernel <= 5; ++kernel)
    for (Size stride = 1; stride <= 4; ++stride)
      for (Size dilation = 1; dilation <= 3; ++dilation)
        for (Size in = 1; in <= 9; ++in)
          if (turn++ % test::share == 0) check(Window{kernel, stride, dilation}, in);
}

TEST(PadsFor, AreAllThatGiveTheSize) {
  for_small([](Window w, Size in) {
    for (const Leftover leftover : {Leftover::Drop, Leftover::Ceil, Leftover::CeilInside})
      for (Size out = 1; out <= 7; ++out) {
        const auto regions = pads_for(out, w, in, leftover);
        const auto symmetric = symmetric_pads_for(out, w, in, leftover);
        for (Size before = 0; before <= 9; ++before)
          for (Size after = 0; after <= 9; ++after) {
            // place() is held to the oracle elsewhere; pads as long as that are looked at here alone.
            const auto at = place({Spelling::Explicit, before, after, leftover}, w, in);
            const bool wanted = at && at->out == out;
            bool found = false;
            for (const PadRegion& r : regions) found = found || r.has(before, after);
            ASSERT_EQ(found, wanted) << w.kernel << " " << w.stride << " " << w.dilation << ", " << in << " to " << out
                                     << ", pads " << before << " " << after;
            if (before != after) continue;
            bool both = false;
            for (const Range& r : symmetric) both = both || r.has(before);
            ASSERT_EQ(both, wanted);
          }
      }
  });
}

TEST(PadsFor, AnswersTheQuestionOfTheManual) {
  // --kernel 5 --dilation 2 --stride 3 --in 50 --out 17: reach 9, total 7, 8 or 9.
  const Window w{5, 3, 2};
  const auto regions = pads_for(17, w, 50);
  ASSERT_EQ(regions.size(), 1U);
  EXPECT_EQ(regions[0].total, (Range{7, 9}));
  EXPECT_EQ(symmetric_pads_for(17, w, 50), (std::vector<Range>{{4, 4}}));
  EXPECT_EQ(afters_like({3, 17, 4}, w, 50), (Range{4, 6}));
  EXPECT_TRUE(pads_for(40, {3, 2, 1}, 9).size() == 1);
  EXPECT_TRUE(symmetric_pads_for(5, {2, 1, 1}, 5).empty());  // an odd total and stride 1
  EXPECT_TRUE(pads_for(2, {3, 1, 1}, 9).empty());            // smaller than without any pad
  EXPECT_TRUE(pads_for(0, w, 50).empty());
  EXPECT_TRUE(pads_for(Size{1} << 62, w, 50).empty());
}

TEST(AftersLike, AreTheTrailingPadsThatReadTheSameCells) {
  for_small([](Window w, Size in) {
    for (const Padding p : {Padding{Spelling::SameUpper}, Padding{Spelling::SameLower}, Padding{Spelling::Causal},
                            Padding{Spelling::Explicit, 1, 2}, Padding{Spelling::Explicit, 0, 1, Leftover::CeilInside}})
      for (const Leftover leftover : {Leftover::Drop, Leftover::CeilInside}) {
        const auto at = place(p, w, in);
        if (!at) continue;
        const auto range = afters_like(*at, w, in, leftover);
        for (Size after = 0; after <= 30; ++after) {
          const auto b = place({Spelling::Explicit, at->before, after, leftover}, w, in);
          ASSERT_EQ(range && range->has(after), b && b->reads_like(*at));
        }
      }
  });
}

TEST(CropsFor, AreAllThatGiveTheSize) {
  for_small([](Window w, Size in) {
    if (in > 5) return;
    for (Size out = 1; out <= 24; ++out) {
      const auto total = crop_total_for(out, w, in);
      ASSERT_TRUE(total);
      const auto paddings = torch_paddings_for(out, w, in);
      for (Size p = 0; p <= 12; ++p) {
        bool wanted = false;
        for (Size extra = 0; extra < std::max(w.stride, w.dilation); ++extra)
          if (const auto crops = torch_crops(p, extra, w);
              crops && place(*crops, w, in) && place(*crops, w, in)->out == out) {
            wanted = true;
            ASSERT_EQ(torch_extra_of(p, *total), extra);
          }
        ASSERT_EQ(paddings && paddings->has(p), wanted);
      }
      Size words = 0;
      for (const CropSpelling word : {CropSpelling::KerasSame, CropSpelling::KerasValid})
        for (Size extra = -1; extra < w.stride; ++extra) {
          const auto at = place({word, 0, 0, extra < 0 ? std::nullopt : std::optional(extra)}, w, in);
          words += at && at->out == out;
        }
      ASSERT_EQ(std::ssize(keras_crops_for(out, w, in)), words);
      for (const Spelling word : gradient_words_for(out, w, in))
        ASSERT_TRUE(gradient_output_sizes({word}, w, in)->has(out));
    }
  });
}

}  // namespace
}  // namespace convoy::pad_solutions_test
