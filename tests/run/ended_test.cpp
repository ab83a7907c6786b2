// Kernels whose caller has cancelled: they end before all of their numbers are made, however many these are.
#include "convoy/cancellation.h"
#include "run/one_node.h"
#include "run/plain/folds.h"
#include "run/plain/kernels.h"

#include <cstdint>
#include <vector>

namespace convoy::ended_test {
namespace {

using test::counting;
using test::ran;

// What the kernel itself leaves, its outputs cleared before, of the shapes that it gives when nobody cancels.
template <class O>
bool comes_to_its_end(const O& op, const std::vector<Tensor>& inputs, const std::vector<Tensor>& shapes) {
  std::vector<std::vector<float>> numbers, made;
  std::vector<std::vector<std::int64_t>> positions;
  for (const Tensor& one : inputs) numbers.push_back(one.floats());
  for (const Tensor& one : shapes) {
    made.emplace_back(static_cast<std::size_t>(one.count()));
    positions.emplace_back(static_cast<std::size_t>(one.count()));
  }
  std::vector<plain::Operand<float>> in;
  std::vector<plain::Output<float>> out;
  for (std::size_t i = 0; i < inputs.size(); ++i) in.push_back({numbers[i], inputs[i].shape(), true, &inputs[i]});
  for (std::size_t i = 0; i < shapes.size(); ++i) out.push_back({made[i], shapes[i].shape(), positions[i]});
  const auto done = plain::run_kernel(op, plain::Call<float>{in, out});
  // None of these gives 0 at the end.
  return done && (made[0].back() != 0 || positions[0].back() != 0);
}

template <class O>
void expect_ended(const O& op, const std::vector<Tensor>& inputs) {
  const auto made = ran(op, inputs);
  ASSERT_TRUE(made) << O::name;
  EXPECT_TRUE(comes_to_its_end(op, inputs, *made)) << O::name;
  Cancellation stop;
  stop.cancel();
  const Listening listening(stop);
  EXPECT_FALSE(comes_to_its_end(op, inputs, *made)) << O::name;
}

TEST(Ended, KernelsLookUpWhileTheyWork) {
  const Tensor lines = counting({700, 300}), line = counting({210'000}), planes = counting({70, 60, 50});
  Sizes every;
  for (Size i = 0; i < 300; ++i) every.push_back(i);
  expect_ended(Softmax{{1}}, {lines});
  expect_ended(Softmax{{0}, true}, {line});
  expect_ended(Hardmax{1}, {lines});
  expect_ended(Reduce{Reduction::Sum, {1}}, {lines});
  expect_ended(ArgExtreme{true, 1}, {lines});
  expect_ended(TopK{1, 7}, {lines});
  expect_ended(TopK{0, 7}, {line});
  expect_ended(Accumulate{Reduction::Sum, 1}, {lines});
  expect_ended(Transpose{{1, 0}}, {lines});
  expect_ended(Transpose{{2, 0, 1}}, {planes});
  expect_ended(LayerNorm{{1}}, {lines});
  expect_ended(UnitNorm{{1}}, {lines});
  expect_ended(Pad{{3, 2}, {0, 0}}, {lines});
  expect_ended(Take{1, every}, {lines});
  expect_ended(Where{}, {lines, lines, lines});
}

TEST(Ended, TheTableOfOneLongLineAndTheNumbersMadeOfOthersAreGivenUp) {
  constexpr Size count = 5 << 20;
  const plain::Groups whole({count}, {0});
  EXPECT_EQ(static_cast<Size>(whole.places().size()), count);
  const Tensor ones = Tensor::of({count}, std::vector<std::int64_t>(count, 1));
  Cancellation stop;
  stop.cancel();
  const Listening listening(stop);
  const plain::Groups groups({count}, {0});
  EXPECT_LT(static_cast<Size>(groups.places().size()), count / 2);
  EXPECT_EQ(ones.doubles().back(), 0);  // nobody reads it
}

}  // namespace
}  // namespace convoy::ended_test
