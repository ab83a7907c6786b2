// What operators state of themselves holds of what they compute.
#include "run/one_node.h"

#include <algorithm>
#include <concepts>
#include <tuple>
#include <type_traits>

namespace convoy::traits_test {
namespace {

using test::ran;
using test::whole;

template <class O>
concept StatesTraits = requires {
  { O::traits } -> std::same_as<const Traits&>;
};
struct Silent {
  static constexpr std::string_view name = "silent";
};
static_assert(!StatesTraits<Silent>);
static_assert(!std::is_default_constructible_v<Traits> && !std::is_constructible_v<Traits, LayerKind, AxisUse>);

template <class Visit>
void each_operator(Visit&& visit) {
  AnyOp::tuple all;
  std::apply([&](const auto&... op) { (visit(op), ...); }, all);
}

TEST(Traits, WhatIsElementwiseDoesNotSeeAxes) {
  const Tensor x = whole({2, 3, 5}, 7);
  const Tensor turned = ran(Transpose{{2, 0, 1}}, {x})->front();
  int met = 0;
  each_operator([&]<class O>(const O& op) {
    EXPECT_EQ(traits_of(Op(op)), O::traits);
    if constexpr (O::traits.axes == AxisUse::Elementwise) {
      static_assert(O::least_inputs == 1 && O::most_inputs == 1);
      const auto y = ran(op, {x}), z = ran(op, {turned});
      ASSERT_TRUE(y && z) << O::name;
      const auto back = ran(Transpose{{1, 2, 0}}, {z->front()});
      EXPECT_EQ(back->front().shape(), y->front().shape()) << O::name;
      EXPECT_EQ(back->front().doubles(), y->front().doubles()) << O::name;
      ++met;
    }
  });
  EXPECT_EQ(met, 14);
}

TEST(Traits, WhatKeepsNumbersGivesTheBytesThatItReads) {
  const Tensor x = whole({2, 1, 5}, 3);
  const std::vector<Op> all{Reshape{{5, -1}}, Flatten{}, Unsqueeze{{1}}, Squeeze{{1}}, Identity{}, Dropout{}};
  std::size_t stated = 0;
  each_operator([&]<class O>(const O&) { stated += O::traits.contents == Contents::Kept ? 1U : 0U; });
  EXPECT_EQ(stated, all.size());
  for (const Op& op : all) {
    EXPECT_EQ(traits_of(op).contents, Contents::Kept) << name_of(op);
    const auto y = ran(op, {x});
    ASSERT_TRUE(y) << name_of(op);
    EXPECT_TRUE(std::ranges::equal(y->front().bytes(), x.bytes())) << name_of(op);
  }
}

TEST(Traits, WhatMovesNumbersGivesOnlyThoseThatItReads) {
  const Tensor x = test::counting({1, 4, 2, 6});
  const std::vector<Op> all{Transpose{{3, 1, 0, 2}},
                            DepthToSpace{.block = 2},
                            SpaceToDepth{.block = 2},
                            Concat{1},
                            Slice{3, 1, 5, 2},
                            Split{3, {2, 4}},
                            Tile{2, 3},
                            Take{3, {5, 0, 0}}};
  for (const Op& op : all) {
    EXPECT_EQ(traits_of(op).contents, Contents::Moved) << name_of(op);
    const auto y = ran(op, {x});
    ASSERT_TRUE(y) << name_of(op);
    for (const double number : y->front().doubles()) EXPECT_TRUE(number >= 1 && number <= 48) << name_of(op);
  }
}

TEST(Traits, LearntNumbersAreInputsBehindTheFirst) {
  each_operator([]<class O>(const O&) {
    if constexpr (O::traits.learnt == Learnt::Weights) static_assert(O::most_inputs > 1);
    if constexpr (O::traits.indices == Indices::SecondInput) static_assert(O::most_inputs > 1);
  });
}

}  // namespace
}  // namespace convoy::traits_test
