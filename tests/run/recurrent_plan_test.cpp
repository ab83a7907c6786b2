// Cells that walk along time as steps of a plan, in every form that the operators have.
#include "run/net.h"

#include <limits>

namespace convoy::recurrent_plan_test {
namespace {

using test::expect_agreement;
using test::Net;
using test::random;
using test::steps_of;

struct Form {
  Size samples = 1, times = 4, features = 5, units = 7;
  bool units_first = false, has_biases = true, has_states = false, has_peepholes = false;
};

// Seldom anything but zero, so that sums and products stay whole numbers that float32 holds.
Tensor sparse(Sizes shape, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<float> values(static_cast<std::size_t>(*checked_count(shape)));
  for (float& value : values) {
    const auto drawn = engine() % 16;
    value = drawn == 0 ? 1.0F : drawn == 1 ? -1.0F : 0.0F;
  }
  return Tensor::of(std::move(shape), std::move(values));
}

// A graph of one cell, or of one whose sequence is turned around; its inputs are x and what the form has of states.
struct OneCell {
  Net net;
  std::vector<Tensor> inputs;
  bool whole = false;

  Tensor numbers(Sizes shape) {
    ++net.seed;
    return whole ? sparse(std::move(shape), net.seed) : random(std::move(shape), net.seed);
  }
  ValueId weight(Sizes shape, double scale) {
    std::vector<float> values = numbers(shape).floats();
    for (float& value : values) value *= static_cast<float>(whole ? 1 : scale);
    return net.graph.constant(net.graph.unique_name("w"), Tensor::of(std::move(shape), std::move(values)));
  }
  ValueId given(Sizes shape) {
    inputs.push_back(numbers(shape));
    return net.input(Shape(shape.begin(), shape.end()));
  }

  template <class O>
  void add(O op, const Form& form, Size gates) {
    op.gates = form.units_first ? GateOrder::Torch : GateOrder::Keras;
    const Size width = gates * form.units;
    const auto matrix = [&](Size depth) {
      return weight(form.units_first ? Sizes{width, depth} : Sizes{depth, width},
                    1 / std::sqrt(static_cast<double>(depth)));
    };
    const ValueId x = given({form.samples, form.times, form.features});
    std::vector<ValueId> in{x, matrix(form.features), matrix(form.units)};
    in.push_back(form.has_biases ? weight({width}, 1) : ValueId{});
    in.push_back(form.has_biases ? weight({width}, 1) : ValueId{});
    in.push_back(form.has_states ? given({form.samples, form.units}) : ValueId{});
    if constexpr (std::is_same_v<O, Lstm>) {
      in.push_back(form.has_states ? given({form.samples, form.units}) : ValueId{});
      in.push_back(form.has_peepholes ? weight({3 * form.units}, 1) : ValueId{});
    }
    const auto made = net.graph.add(op, in, "cell");
    ASSERT_TRUE(made) << message(made.error());
    if (op.backwards && op.returns_sequence) net.give(net.add(Slice{1, {}, {}, -1}, {made->front()}));
    else net.give(made->front());
    if (made->size() > 1) net.give(made->at(1));
  }

  void expect(double tolerance) {
    expect_agreement(net.graph, inputs, tolerance);
    for (const std::string& step : steps_of(net.graph, inputs)) EXPECT_FALSE(step.contains("(plain)")) << step;
  }
};

template <class O>
void expect_cell(const O& op, const Form& form, Size gates, bool whole = false) {
  OneCell cell;
  cell.whole = whole;
  cell.add(op, form, gates);
  cell.expect(whole ? 0 : 3e-6);
}

const Form forms[] = {
    {.samples = 1, .times = 9, .features = 1, .units = 1},
    {.samples = 1, .times = 40, .features = 5, .units = 150},
    {.samples = 3, .times = 7, .features = 33, .units = 64, .units_first = true},
    {.samples = 2, .times = 1, .features = 4, .units = 70, .has_biases = false, .has_states = true},
    {.samples = 61, .times = 5, .features = 6, .units = 33, .units_first = true, .has_states = true},
};

TEST(RecurrentPlan, GivesWhatTheNodesGive) {
  for (const Form& form : forms)
    for (const bool backwards : {false, true})
      for (const bool sequence : {false, true}) {
        expect_cell(Lstm{.backwards = backwards, .returns_sequence = sequence, .returns_cell = sequence}, form, 4);
        expect_cell(Gru{.reset_after = true, .backwards = backwards, .returns_sequence = sequence}, form, 3);
        expect_cell(Gru{.reset_after = false, .backwards = backwards, .returns_sequence = sequence}, form, 3);
        expect_cell(SimpleRnn{.backwards = backwards, .returns_sequence = sequence}, form, 1);
      }
}

TEST(RecurrentPlan, GivesTheBitsOfTheNodesForWholeNumbers) {
  constexpr CellFunction relu = CellFunction::Relu, linear = CellFunction::Linear;
  for (Form form : forms) {
    form.times = 2;
    expect_cell(Lstm{.activation = relu, .recurrent_activation = linear, .returns_cell = true}, form, 4, true);
    for (const bool reset_after : {false, true})
      expect_cell(Gru{.activation = linear, .recurrent_activation = relu, .reset_after = reset_after}, form, 3, true);
    expect_cell(SimpleRnn{.activation = relu, .backwards = true, .returns_sequence = true}, form, 1, true);
  }
}

TEST(RecurrentPlan, SeesTheCellThroughPeepholes) {
  for (Form form : forms) {
    form.has_peepholes = true;
    expect_cell(Lstm{.returns_sequence = true, .returns_cell = true}, form, 4);
  }
}

TEST(RecurrentPlan, HasOtherFunctionsOrLeavesThemToThePlainKernel) {
  for (const CellFunction gate : {CellFunction::HardSigmoid5, CellFunction::HardSigmoid6})
    expect_cell(Lstm{.activation = CellFunction::Elu, .recurrent_activation = gate}, {.units = 21}, 4);
  OneCell cell;
  cell.add(Lstm{.activation = CellFunction::Softsign}, {}, 4);
  expect_agreement(cell.net.graph, cell.inputs, 3e-6);
  EXPECT_EQ(steps_of(cell.net.graph, cell.inputs), (std::vector<std::string>{"lstm (plain)"}));
}

// Both directions are written where they lie side by side, in the order of time.
TEST(RecurrentPlan, WritesBothDirectionsInPlace) {
  Net net;
  const ValueId x = net.input({2, 6, 5});
  const auto walked = [&](bool backwards) {
    return net.add(Gru{.backwards = backwards, .returns_sequence = true},
                   {x, net.weight({5, 27}), net.weight({9, 27}), net.weight({27})});
  };
  const ValueId forwards = walked(false), turned = net.add(Slice{1, {}, {}, -1}, {walked(true)});
  net.give(net.add(Relu{}, {net.add(Concat{2}, {forwards, turned})}));
  const std::vector<Tensor> inputs{random({2, 6, 5}, 5)};
  expect_agreement(net.graph, inputs, 3e-6);
  EXPECT_EQ(steps_of(net.graph, inputs), (std::vector<std::string>{"gru", "gru", "relu"}));
}

TEST(RecurrentPlan, KeepsWhatIsNoNumberToItsSampleAndTheStepsBehind) {
  for (const float odd : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    OneCell cell;
    cell.add(Lstm{.returns_sequence = true}, {.samples = 3, .times = 6}, 4);
    std::vector<float> numbers = cell.inputs[0].floats();
    numbers[6 * 5 + 2 * 5] = odd;  // sample 1, step 2
    cell.inputs[0] = Tensor::of({3, 6, 5}, numbers);
    const auto plain = run(cell.net.graph, cell.inputs, {.threads = 1, .kernels = KernelChoice::Plain});
    const auto fast = Engine(std::make_shared<const Graph>(cell.net.graph)).run(cell.inputs);
    ASSERT_TRUE(plain && fast);
    const auto wanted = plain->at(cell.net.graph.outputs[0]).doubles(), got = (*fast)[0].doubles();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      ASSERT_EQ(std::isnan(wanted[i]), std::isnan(got[i])) << i;
      if (std::isnan(wanted[i])) continue;
      ASSERT_NEAR(wanted[i], got[i], 1e-6) << i;
    }
  }
}

}  // namespace
}  // namespace convoy::recurrent_plan_test
