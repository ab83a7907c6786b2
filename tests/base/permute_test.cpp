#include "base/permute.h"

#include "convoy/size.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace convoy {
namespace {

template <class T>
struct Permute : testing::Test {};
using Widths = testing::Types<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(Permute, Widths);

// Lengths on both sides of those that are copied in one go: 64, 16, 4 and 1 lines of 8 elements.
TYPED_TEST(Permute, MovesEachElementToItsPlace) {
  for (const auto& shape : {std::array<Size, 3>{85, 3, 7}, {9, 150, 2}, {1, 64, 67}, {2, 1, 33}, {5, 4, 8}}) {
    std::vector<TypeParam> from(static_cast<std::size_t>(shape[0] * shape[1] * shape[2])), to(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<TypeParam>(i * 2654435761u);
    const std::array<Size, 3> step{shape[1] * shape[2], shape[2], 1};
    std::array<Size, 3> axes{0, 1, 2};
    do {
      const auto a = static_cast<std::size_t>(axes[0]), b = static_cast<std::size_t>(axes[1]),
                 c = static_cast<std::size_t>(axes[2]);
      copy_permuted(std::as_bytes(std::span(from)), shape, sizeof(TypeParam), axes,
                    std::as_writable_bytes(std::span(to)).data());
      std::vector<TypeParam> expected;
      for (Size i = 0; i < shape[a]; ++i)
        for (Size j = 0; j < shape[b]; ++j)
          for (Size k = 0; k < shape[c]; ++k)
            expected.push_back(from[static_cast<std::size_t>(i * step[a] + j * step[b] + k * step[c])]);
      EXPECT_EQ(to, expected) << shape[0] << " x " << shape[1] << " x " << shape[2] << ", axes " << a << b << c;
    } while (std::next_permutation(axes.begin(), axes.end()));
  }
}

}  // namespace
}  // namespace convoy
