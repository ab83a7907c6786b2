// Kernels whose caller has cancelled: they end before all of their numbers are made, however many these are.
#include "convoy/cancellation.h"
#include "run/one_node.h"

#include <algorithm>
#include <string>

namespace convoy::ended_test {
namespace {

using test::counting;
using test::ran;

// The last number stands where the kernel came to its end: none of these gives 0 there.
bool comes_to_its_end(const Op& op, const std::vector<Tensor>& inputs) {
  const auto made = ran(op, inputs);
  return made && made->front().doubles().back() != 0;
}

TEST(Ended, KernelsLookUpWhileTheyWork) {
  const Tensor lines = counting({700, 300}), line = counting({210'000}), planes = counting({70, 60, 50});
  const std::vector<std::pair<Op, std::vector<Tensor>>> rows{
      {Softmax{{1}}, {lines}},
      {Softmax{{0}, true}, {line}},
      {Hardmax{1}, {lines}},
      {Reduce{Reduction::Sum, {1}}, {lines}},
      {ArgExtreme{true, 1}, {lines}},
      {TopK{1, 7}, {lines}},
      {TopK{0, 7}, {line}},
      {Accumulate{Reduction::Sum, 1}, {lines}},
      {Transpose{{1, 0}}, {lines}},
      {Transpose{{2, 0, 1}}, {planes}},
      {LayerNorm{{1}}, {lines}},
      {UnitNorm{{1}}, {lines}},
      {Pad{{3, 2}, {0, 0}}, {lines}},
      {Take{1,
            [] {
              Sizes all(300);
              for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<Size>(i);
              return all;
            }()},
       {lines}},
      {Where{}, {lines, lines, lines}},
  };
  Cancellation stop;
  stop.cancel();
  for (const auto& [op, inputs] : rows) {
    const std::string name(name_of(op));
    EXPECT_TRUE(comes_to_its_end(op, inputs)) << name;
    const Listening listening(stop);
    EXPECT_FALSE(comes_to_its_end(op, inputs)) << name;
  }
}

}  // namespace
}  // namespace convoy::ended_test
