// For which sizes two paddings agree, against every size up to 400.
#include "ops/agreement.h"
#include "ops/cells.h"
#include "support/share.h"

#include <gtest/gtest.h>
#include <ctime>

namespace convoy::agreement_test {
namespace {

std::vector<Padding> spellings() {
  std::vector<Padding> all{{Spelling::SameUpper}, {Spelling::SameLower}, {Spelling::Causal}, {Spelling::Valid}};
  for (const auto& [before, after] : std::vector<std::pair<Size, Size>>{{0, 1}, {1, 0}, {1, 1}, {2, 1}, {3, 3}, {0, 9}})
    for (const Leftover leftover : {Leftover::Drop, Leftover::CeilInside, Leftover::Ceil})
      all.push_back({Spelling::Explicit, before, after, leftover});
  return all;
}

// Out of the oracle: the places of all taps, in the input or not, and the divisors.
struct Reading {
  std::vector<std::vector<Size>> windows;
  std::vector<Size> divisors;
  friend bool operator==(const Reading&, const Reading&) = default;
};
Reading reading(Padding p, Window w, Size in, Counting counting) {
  const auto rows = oracle::rows_of(p, w, in);
  if (counting == Counting::Inside) return {rows.windows, {}};
  return {rows.windows, oracle::divisors(rows, in, true)};
}

TEST(Agreement, HoldsAtExactlyTheSizesItNames) {
  const auto paddings = spellings();
  int turn = 0, always = 0, never = 0, sometimes = 0;
  for (const Window w : {Window{1, 1, 1}, Window{3, 1, 1}, Window{4, 1, 3}, Window{1, 2, 1}, Window{2, 2, 1},
                         Window{3, 2, 1}, Window{5, 2, 2}, Window{2, 3, 3}, Window{4, 3, 1}, Window{7, 3, 2},
                         Window{3, 4, 1}, Window{6, 4, 2}, Window{2, 5, 1}, Window{7, 5, 3}}) {
    std::vector<std::vector<Reading>> at(paddings.size());
    for (const Counting counting : {Counting::Inside, Counting::WithPadding}) {
      const Size last = turn++ % 5 == 0 ? 400 : 90;
      for (std::size_t a = 0; a < paddings.size(); ++a) {
        at[a].clear();
        for (Size in = 1; in <= last; ++in) at[a].push_back(reading(paddings[a], w, in, counting));
      }
      for (std::size_t a = 0; a < paddings.size(); ++a)
        for (std::size_t b = 0; b < paddings.size(); b += test::share) {
          const Agreement found = agreement(paddings[a], paddings[b], w, counting);
          for (Size in = 1; in <= last; ++in) {
            const auto i = static_cast<std::size_t>(in - 1);
            ASSERT_EQ(found.at(in), at[a][i] == at[b][i])
                << "paddings " << a << " and " << b << ", kernel " << w.kernel << ", stride " << w.stride
                << ", dilation " << w.dilation << ", size " << in;
            if (found.agrees) { ASSERT_FALSE(in < *found.agrees && at[a][i] == at[b][i] && !at[a][i].windows.empty()); }
          }
          ASSERT_EQ(found.always(), same_always(paddings[a], paddings[b], w, counting));
          ++(found.always() ? always : found.never() ? never : sometimes);
          if (!found.differs) continue;
          // The witness is one of cells, not of places in the padding, unless a divisor alone differs.
          const Size in = *found.differs;
          const auto ra = oracle::rows_of(paddings[a], w, in), rb = oracle::rows_of(paddings[b], w, in);
          ASSERT_TRUE(
              oracle::cells_read(ra, in) != oracle::cells_read(rb, in) ||
              (counting == Counting::WithPadding && oracle::divisors(ra, in, true) != oracle::divisors(rb, in, true)));
        }
    }
  }
  EXPECT_GT(always, 100);
  EXPECT_GT(never, 100);
  EXPECT_GT(sometimes, 100);
}

TEST(Agreement, NamesTheRemaindersAsAPersonWould) {
  const Padding same{Spelling::SameUpper}, lower{Spelling::SameLower}, one{Spelling::Explicit, 1, 1};
  // Kernel 3, stride 2: one cell on both sides is SAME at odd sizes.
  const Agreement odd = agreement(same, one, {3, 2, 1});
  EXPECT_EQ(odd.residues, (std::vector<Residues>{{1, 1, 1}}));
  EXPECT_EQ(odd.from, 1);
  EXPECT_EQ(odd.differs, 2);
  EXPECT_EQ(odd.agrees, 1);
  // Stride 8, kernel 9: totals 1, then 8 down to 2: the even ones.
  EXPECT_EQ(agreement(same, lower, {9, 8, 1}).residues, (std::vector<Residues>{{1, 7, 2}}));
  EXPECT_TRUE(same_always(same, lower, {3, 1, 1}));
  EXPECT_TRUE(agreement({Spelling::Valid}, {Spelling::Explicit, 1, 0}, {3, 2, 1}).never());
  // Below the window neither fits, which is no difference.
  EXPECT_TRUE(same_always({Spelling::Valid}, {Spelling::Explicit, 0, 0}, {7, 3, 2}));
}

TEST(Agreement, AnswersAtOnceWhateverTheNumbers) {
  constexpr Size large = Size{1} << 24;
  const std::clock_t start = std::clock();  // of the processor: what else runs there does not count
  for (const Window w : {Window{large, 1, large}, Window{1, 1, 1}, Window{3, 1, large}, Window{large, 7, 3}}) {
    agreement({Spelling::SameUpper}, {Spelling::Causal}, w);
    agreement({Spelling::Explicit, Size{1} << 40, 0}, {Spelling::Explicit, 0, Size{1} << 40}, w);
    agreement({Spelling::Valid}, {Spelling::Explicit, Size{1} << 62, -1}, w);
  }
  const auto regular = agreement({Spelling::SameUpper}, {Spelling::SameLower}, {large, large, 1});
  EXPECT_LE(regular.residues.size(), 2U);
  EXPECT_LT(std::clock() - start, 20 * CLOCKS_PER_SEC);
}

TEST(PadsAtEverySize, ReadTheSameCellsOrDoNotExist) {
  for (Size kernel = 1; kernel <= 7; ++kernel)
    for (Size stride = 1; stride <= 5; ++stride)
      for (Size dilation = 1; dilation <= 3; ++dilation)
        for (const Padding& p : spellings()) {
          const Window w{kernel, stride, dilation};
          if (const auto pads = pads_at_every_size(p, w)) {
            const Padding fixed{Spelling::Explicit, pads->before, pads->after};
            for (Size in = 1; in <= 30; ++in)
              ASSERT_EQ(reading(p, w, in, Counting::Inside), reading(fixed, w, in, Counting::Inside));
            continue;
          }
          // No pads in front of cell 0 hold for all sizes, or a pad longer than the window.
          if (p.spelling == Spelling::Explicit) {
            ASSERT_GE(p.after, w.reach());
          } else {
            ASSERT_NE(place(p, w, stride)->before, place(p, w, stride + 1)->before);
          }
        }
}

TEST(PoolDivisor, CountsTheTaps) {
  for (Size kernel = 1; kernel <= 5; ++kernel)
    for (Size stride = 1; stride <= 4; ++stride)
      for (Size dilation = 1; dilation <= 3; ++dilation)
        for (const Padding& p : spellings())
          for (Size in = 1; in <= 13; ++in) {
            const Window w{kernel, stride, dilation};
            const auto at = place(p, w, in);
            const auto rows = oracle::rows_of(p, w, in);
            ASSERT_EQ(at ? at->out : 0, std::ssize(rows.windows));
            for (const Counting counting : {Counting::Inside, Counting::WithPadding}) {
              const auto wanted = oracle::divisors(rows, in, counting == Counting::WithPadding);
              for (Size o = 0; at && o < at->out; ++o)
                ASSERT_EQ(divisor(*at, w, in, o, counting), wanted[static_cast<std::size_t>(o)])
                    << kernel << " " << stride << " " << dilation << " " << in << " " << o;
            }
          }
}

// PyTorch 2.13: avg_pool1d(x, 3, 2, 1, ceil_mode=True) over 4 cells counts 3, 3 and, of the window that hangs over, 2.
TEST(PoolDivisor, NeverCountsTheOverhangOfACeilWindow) {
  const Window w{3, 2, 1};
  const auto at = place({Spelling::Explicit, 1, 1, Leftover::CeilInside}, w, 4);
  ASSERT_TRUE(at);
  ASSERT_EQ(at->out, 3);
  EXPECT_EQ(divisor(*at, w, 4, 0, Counting::WithPadding), 3);
  EXPECT_EQ(divisor(*at, w, 4, 2, Counting::WithPadding), 2);
  EXPECT_EQ(divisor(*at, w, 4, 0, Counting::Inside), 2);
  EXPECT_EQ(divisor(*at, w, 4, 2, Counting::Inside), 1);
}

// Theano's `same` of a pool, as Keras 1 and 2 ask for it: kernel - 2 cells in front of an odd kernel longer than 2,
// kernel - 1 of any other, cut to as many windows as SAME has. The average leaves padding out.
constexpr Padding theano_same_pool(Window w) {
  const Size front = w.kernel - (w.kernel > 2 && w.kernel % 2 == 1 ? 2 : 1);
  return {Spelling::Explicit, front, w.reach() - 1 - front};
}

TEST(Theano, SamePadsHalfTheKernelWhateverTheStride) {
  EXPECT_EQ(theano_same({3, 2, 1}), (Padding{Spelling::Explicit, 1, 1}));
  EXPECT_EQ(theano_same({4, 1, 1}), (Padding{Spelling::Explicit, 2, 1}));
  EXPECT_EQ(theano_same({3, 1, 2}), (Padding{Spelling::Explicit, 2, 2}));
  // Pools: kernel - 2 in front of odd kernels, kernel - 1 of even ones; as many windows as SAME.
  EXPECT_EQ(theano_same_pool({2, 2, 1}), (Padding{Spelling::Explicit, 1, 0}));
  EXPECT_EQ(theano_same_pool({3, 2, 1}), (Padding{Spelling::Explicit, 1, 1}));
  EXPECT_EQ(theano_same_pool({5, 3, 1}), (Padding{Spelling::Explicit, 3, 1}));
  for (Size kernel = 1; kernel <= 7; ++kernel)
    for (Size stride = 1; stride <= 5; ++stride)
      for (Size in = 1; in <= 20; ++in) {
        const Window w{kernel, stride, 1};
        EXPECT_EQ(place(theano_same(w), w, in)->out, place({Spelling::SameUpper}, w, in)->out);
        EXPECT_EQ(place(theano_same_pool(w), w, in)->out, place({Spelling::SameUpper}, w, in)->out);
      }
}

}  // namespace
}  // namespace convoy::agreement_test
