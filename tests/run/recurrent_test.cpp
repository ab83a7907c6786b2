// Recurrent cells against a walk written in numpy, float64: batch 2, time 3, 2 features, 3 units.
#include "run/one_node.h"

namespace convoy {
namespace {

using test::expect_numbers;
using test::numbers;

// The numbers ((i * step) mod 11 - 5) / 8.
Tensor filled(Sizes shape, Size step) {
  std::vector<double> values;
  for (Size i = 0; i < *checked_count(shape); ++i) values.push_back(static_cast<double>(i * step % 11 - 5) / 8);
  return numbers(std::move(shape), values);
}
const Tensor x = filled({2, 3, 2}, 3);

TEST(Recurrent, AnLstmWalksTimeInEitherOrderOfAxes) {
  const std::vector<double> wanted{-0.104853448, 0.071757959, 0.115767446, -0.110099397, 0.08475223,  0.145415824,
                                   -0.152540438, 0.117324037, 0.23466095,  -0.063039,    0.049404365, 0.067726147,
                                   -0.123582825, 0.092801385, 0.16612475,  -0.039652678, 0.027614113, 0.205012028};
  const Tensor kernel = filled({2, 12}, 5), recurrent = filled({3, 12}, 7), bias = filled({12}, 4);
  expect_numbers(Lstm{.returns_sequence = true}, {x, kernel, recurrent, bias}, {2, 3, 3}, wanted, 1e-6);
  const Sizes turned{1, 0};
  expect_numbers(Lstm{.gates = GateOrder::Torch, .returns_sequence = true},
                 {x, kernel.permuted(turned), recurrent.permuted(turned), bias}, {2, 3, 3}, wanted, 1e-6);
  expect_numbers(Lstm{}, {x, kernel, recurrent, bias}, {2, 3},
                 {-0.152540438, 0.117324037, 0.23466095, -0.039652678, 0.027614113, 0.205012028}, 1e-6);
}

TEST(Recurrent, AGruResetsBehindOrInFrontOfTheProduct) {
  const Tensor kernel = filled({2, 9}, 5), recurrent = filled({3, 9}, 7), bias = filled({9}, 4);
  expect_numbers(Gru{.returns_sequence = true}, {x, kernel, recurrent, bias, filled({9}, 2)}, {2, 3, 3},
                 {-0.499163942, 0.185033463, 0.177778894, -0.365667273, -0.05422975, 0.480706942, -0.600308306,
                  0.233464072, 0.512992581, -0.141673943, -0.177178315, 0.360552671, -0.51148669, 0.126860429,
                  0.421014406, -0.622903509, 0.125068445, 0.480778195},
                 1e-6);
  expect_numbers(Gru{.reset_after = false, .returns_sequence = true}, {x, kernel, recurrent, bias}, {2, 3, 3},
                 {-0.329960213, 0.214789579, 0.166600918, -0.208098647, 0.081954366, 0.435922789, -0.426523153,
                  0.323509544, 0.460954166, 0.023401358, -0.063633496, 0.337882661, -0.302700339, 0.195370637,
                  0.404309599, -0.458881045, 0.249016026, 0.438098284},
                 1e-6);
}

TEST(Recurrent, WalkingBackwardsBeginsAtTheEnd) {
  expect_numbers(SimpleRnn{.backwards = true}, {x, filled({2, 3}, 5), filled({3, 3}, 7), filled({3}, 4)}, {2, 3},
                 {0.357772164, -0.371315931, -0.020328699, -0.780978466, 0.165679588, 0.388010907}, 1e-6);
}

}  // namespace
}  // namespace convoy
