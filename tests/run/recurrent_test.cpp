// Recurrent cells against a walk written in numpy, float64: batch 2, time 3, 2 features, 3 units.
#include "run/one_node.h"

namespace convoy::recurrent_test {
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

TEST(Recurrent, AnLstmBeginsWithStatesAndGivesItsLastCell) {
  const Tensor kernel = filled({12, 2}, 5), recurrent = filled({12, 3}, 7), bias = filled({12}, 4);
  const std::vector<Tensor> inputs{
      x, kernel, recurrent, bias, numbers({12}, std::vector<double>(12, 0)), filled({2, 3}, 2), filled({2, 3}, 6)};
  const Lstm cell{.gates = GateOrder::Torch, .returns_sequence = true, .returns_cell = true};
  expect_numbers(cell, inputs, {2, 3, 3},
                 {-0.184969735, 0.105712035, -0.03691616, -0.085916123, 0.118200732, 0.126199078, -0.120140004,
                  0.084541897, 0.224448297, 0.040664241, -0.03039905, 0.159356221, -0.039531599, 0.036394992,
                  0.239629482, -0.078095498, -0.029787753, 0.186719143},
                 1e-6);
  const auto out = test::ran(cell, inputs);
  ASSERT_TRUE(out) << message(out.error());
  ASSERT_EQ(out->size(), 2U);
  EXPECT_EQ(out->at(1).shape(), (Sizes{2, 3}));
  const auto last = out->at(1).doubles();
  const std::vector<double> wanted{-0.245381623, 0.133825419, 0.570567049, -0.211758771, -0.06001202, 0.757077435};
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(last[i], wanted[i], 1e-6) << "at " << i;
}

TEST(Recurrent, PeepholesSeeTheCellBeforeAndBehindTheStep) {
  const Tensor none = numbers({12}, std::vector<double>(12, 0)), zeros = numbers({2, 3}, std::vector<double>(6, 0));
  expect_numbers(
      Lstm{.gates = GateOrder::Torch, .returns_sequence = true},
      {x, filled({12, 2}, 5), filled({12, 3}, 7), filled({12}, 4), none, zeros, filled({2, 3}, 6), filled({9}, 3)},
      {2, 3, 3},
      {-0.186035229, 0.056864478, -0.008844923, -0.076350623, 0.112064331, 0.118387532, -0.117424782, 0.077982521,
       0.200194327, 0.044809782, 0.008578455, 0.142449348, -0.039202441, 0.052590743, 0.199565974, -0.079998301,
       -0.027246364, 0.151194899},
      1e-6);
}

TEST(Recurrent, OtherCellsBeginWithAStateToo) {
  expect_numbers(Gru{.gates = GateOrder::Torch, .returns_sequence = true},
                 {x, filled({9, 2}, 5), filled({9, 3}, 7), filled({9}, 4), filled({9}, 2), filled({2, 3}, 2)},
                 {2, 3, 3},
                 {-0.596482227, -0.168333471, 0.035322515, -0.306811402, 0.071392844, 0.22630293, -0.461989819,
                  0.072323915, 0.324406441, -0.009489945, 0.334958911, 0.655067517, -0.326904114, 0.248126154,
                  0.662435543, -0.556271833, 0.107421695, 0.628871143},
                 1e-6);
  const Tensor none = numbers({3}, {0, 0, 0});
  expect_numbers(SimpleRnn{.backwards = true},
                 {x, filled({2, 3}, 5), filled({3, 3}, 7), filled({3}, 4), none, filled({2, 3}, 2)}, {2, 3},
                 {0.313571608, -0.372341153, 0.032753243, -0.626445415, 0.08919823, 0.405363297}, 1e-6);
}

// 1.75 * 1.0078125 = 1.763671875 lies between 1.7578125 and 1.765625 of bfloat16, and the bias is half of that distance.
TEST(Recurrent, StepsOf16BitsRoundInTheOrderOfTheirFramework) {
  const Tensor input = numbers({2, 2, 1}, {1.75, 1.75, 1.75, 1.75}), one = numbers({1, 2, 1}, {1.75, 1.75});
  const Tensor kernel = numbers({1, 1}, {1.0078125}), none = numbers({1, 1}, {0}), bias = numbers({1}, {-0.00390625});
  const auto expect = [&](StepOrder steps, const Tensor& in, double wanted) {
    const Size samples = in.shape()[0];
    const SimpleRnn cell{.activation = CellFunction::Linear, .steps = steps, .rounds = DType::BF16};
    expect_numbers(cell, {in, kernel, none, bias}, {samples, 1},
                   std::vector<double>(static_cast<std::size_t>(samples), wanted), 0);
  };
  expect(StepOrder::Keras, input, 1.75);  // cut to 1.7578125, then half way down to the even one
  expect(StepOrder::TorchTimeFirst, input, 1.7578125);  // 1.759765625 rounded once
  expect(StepOrder::TorchBatchFirst, input, 1.765625);  // rounded to 1.765625, then half way back to the even one
  expect(StepOrder::TorchBatchFirst, one, 1.7578125);  // of one sample the numbers lie in the order of time
}

TEST(Recurrent, AStateOfAnotherSizeIsRefused) {
  const Tensor none = numbers({3}, {0, 0, 0});
  const auto out =
      test::ran(SimpleRnn{}, {x, filled({2, 3}, 5), filled({3, 3}, 7), filled({3}, 4), none, filled({3, 3}, 2)});
  ASSERT_FALSE(out);
  EXPECT_NE(message(out.error()).find("first state has shape [3, 3], expected [2, 3]"), std::string::npos)
      << message(out.error());
}

}  // namespace
}  // namespace convoy::recurrent_test
