#include "convoy/tensor.h"

#include "base/half.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

namespace convoy::tensor_test {
namespace {

std::span<const std::byte> as_bytes(const std::vector<float>& values) { return std::as_bytes(std::span(values)); }

TEST(Tensor, AShapeThatIsNotTheBytesIsRefused) {
  const std::vector<float> values(6);
  EXPECT_TRUE(Tensor::view(DType::F32, {2, 3}, as_bytes(values), nullptr));
  const auto wrong = Tensor::view(DType::F32, {2, 4}, as_bytes(values), nullptr);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().what, "24 bytes, expected 32 for float32 of shape [2, 4]");
}

TEST(Tensor, AShapeThatOverflowsIsRefusedEvenBesideAZero) {
  for (const Sizes& shape : {Sizes{Size{1} << 62, 4}, Sizes{0, Size{1} << 62, 4}, Sizes{-1}}) {
    const auto wrong = Tensor::view(DType::F32, shape, {}, nullptr);
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().fault, Fault::Limit);
  }
}

TEST(Tensor, EveryPermutationOfUnlikeSizesMovesEachElementToItsPlace) {
  const Sizes sizes{2, 3, 37, 41};
  std::vector<float> values(2 * 3 * 37 * 41);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const Tensor t = Tensor::of(sizes, values);
  const Sizes step{3 * 37 * 41, 37 * 41, 41, 1};
  std::array<Size, 4> axes{0, 1, 2, 3};
  do {
    const Tensor p = t.permuted(axes);
    const auto at = [&](int i) { return static_cast<std::size_t>(axes[static_cast<std::size_t>(i)]); };
    const auto got = p.floats();
    std::size_t k = 0;
    bool same = true;
    for (Size a = 0; a < sizes[at(0)]; ++a)
      for (Size b = 0; b < sizes[at(1)]; ++b)
        for (Size c = 0; c < sizes[at(2)]; ++c)
          for (Size d = 0; d < sizes[at(3)]; ++d) {
            const Size from = a * step[at(0)] + b * step[at(1)] + c * step[at(2)] + d * step[at(3)];
            same = same && got[k++] == static_cast<float>(from);
          }
    EXPECT_TRUE(same) << axes[0] << axes[1] << axes[2] << axes[3];
  } while (std::next_permutation(axes.begin(), axes.end()));
}

// Large enough that a permutation waits until its bytes are asked for.
TEST(Tensor, PermutationsOneBehindTheOtherAreOne) {
  const Sizes shape{24, 3, 40, 35};  // output, channel, height, width
  std::vector<float> values(24 * 3 * 40 * 35);
  std::iota(values.begin(), values.end(), 0.0F);
  const Tensor x = Tensor::of(shape, values);
  const Tensor channels_last = x.permuted(std::vector<Size>{0, 2, 3, 1});
  const auto at = [&](Size o, Size c, Size h, Size w) { return static_cast<float>(((o * 3 + c) * 40 + h) * 35 + w); };
  const auto expect = [&](const Tensor& y, auto index) {  // index(o, c, h, w): where the number lies in y
    const auto numbers = y.floats();
    for (Size o = 0; o < 24; ++o)
      for (Size c = 0; c < 3; ++c)
        for (Size h = 0; h < 40; h += 3)
          for (Size w = 0; w < 35; ++w)
            ASSERT_EQ(numbers[static_cast<std::size_t>(index(o, c, h, w))], at(o, c, h, w)) << o << c << h << w;
  };
  const Tensor flat = channels_last.reshaped({24, 40 * 35 * 3}).permuted(std::vector<Size>{1, 0});
  EXPECT_EQ(flat.shape(), (Sizes{40 * 35 * 3, 24}));
  expect(flat, [](Size o, Size c, Size h, Size w) { return ((h * 35 + w) * 3 + c) * 24 + o; });
  const Tensor with_ones =
      channels_last.reshaped({1, 24, 40, 1, 35 * 3, 1}).permuted(std::vector<Size>{4, 0, 3, 1, 5, 2});
  expect(with_ones, [](Size o, Size c, Size h, Size w) { return ((w * 3 + c) * 24 + o) * 40 + h; });
  // 40 is cut in two, so the first permutation is carried out.
  const Tensor cut = channels_last.reshaped({24, 8, 5 * 35, 3}).permuted(std::vector<Size>{1, 0, 3, 2});
  expect(cut, [](Size o, Size c, Size h, Size w) { return ((h / 5 * 24 + o) * 3 + c) * 175 + h % 5 * 35 + w; });
  const Tensor back = channels_last.permuted(std::vector<Size>{0, 3, 1, 2});
  expect(back, [](Size o, Size c, Size h, Size w) { return ((o * 3 + c) * 40 + h) * 35 + w; });
}

TEST(Tensor, PermutingAnEmptyTensorOrAScalarIsFine) {
  const std::array<Size, 2> axes{1, 0};
  EXPECT_EQ(Tensor::of({0, 3}, std::vector<float>()).permuted(axes).shape(), (Sizes{3, 0}));
  EXPECT_EQ(Tensor::of({}, std::vector<float>{7}).permuted({}).floats(), (std::vector<float>{7}));
}

TEST(Tensor, AViewAtAnOddByteIsReadAndCanBeRealigned) {
  std::vector<std::byte> bytes(9);
  const float two = 2;
  std::memcpy(bytes.data() + 1, &two, 4);
  const auto t = Tensor::view(DType::F32, {1}, std::span(bytes).subspan(1, 4), nullptr);
  ASSERT_TRUE(t);
  EXPECT_FALSE(t->aligned());
  EXPECT_EQ(t->floats(), std::vector<float>{2});
  EXPECT_TRUE(t->realigned().aligned());
  EXPECT_TRUE(same_bytes(*t, t->realigned()));
}

TEST(Half, EveryBitPatternWidensAndNarrowsToItself) {
  int wrong = 0;
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    if (const float wide = widen_half(half); !std::isnan(wide)) wrong += half_of(wide) != half;
    else wrong += !std::isnan(widen_half(half_of(wide)));
    if (const float wide = widen_bfloat(half); !std::isnan(wide)) wrong += bfloat_of(wide) != half;
    else wrong += !std::isnan(widen_bfloat(bfloat_of(wide)));
  }
  EXPECT_EQ(wrong, 0);
}

TEST(Tensor, WholeNumbersOfWhatHasNoneStayInRange) {
  using Int = std::numeric_limits<std::int64_t>;
  const auto values = Tensor::of({6}, std::vector<float>{2.75F, -3.0F, 0x1p63F, -0x1.1p63F, NAN, INFINITY});
  EXPECT_EQ(values.integers(), (std::vector<std::int64_t>{2, -3, Int::max(), Int::min(), 0, Int::max()}));
}

TEST(Half, NarrowingRoundsOnceToNearestEven) {
  EXPECT_EQ(half_of(1.0), 0x3C00);
  EXPECT_EQ(half_of(65504.0), 0x7BFF);
  EXPECT_EQ(half_of(65519.999), 0x7BFF);
  EXPECT_EQ(half_of(65520.0), 0x7C00);
  EXPECT_EQ(half_of(-std::numeric_limits<double>::infinity()), 0xFC00);
  EXPECT_EQ(half_of(0x1p-24), 0x0001);
  EXPECT_EQ(half_of(0x1p-25), 0x0000);                 // a tie goes to even
  EXPECT_EQ(half_of(0x1.0000000000001p-25), 0x0001);   // float in between would have made it a tie
  EXPECT_EQ(half_of(1 + 0x1p-11), 0x3C00);
  EXPECT_EQ(half_of(1 + 0x1p-11 + 0x1p-40), 0x3C01);
  EXPECT_EQ(half_of(-0.0), 0x8000);
  EXPECT_EQ(bfloat_of(1 + 0x1p-8), 0x3F80);
  EXPECT_EQ(bfloat_of(1 + 0x1p-8 + 0x1p-40), 0x3F81);
  EXPECT_EQ(bfloat_of(std::numeric_limits<float>::max()), 0x7F80);
}

}  // namespace
}  // namespace convoy::tensor_test
