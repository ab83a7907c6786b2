// Networks made node by node, whose plans are held to the plain kernels.
#pragma once
#include "run/one_node.h"
#include "run/plan/engine.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace convoy::test {

inline Tensor random(Sizes shape, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(*checked_count(shape)));
  for (float& value : values) value = normal(engine);
  return Tensor::of(std::move(shape), std::move(values));
}

inline Tensor whole_floats(Sizes shape, unsigned seed) {
  const auto values = whole(shape, seed).floats();
  return Tensor::of(std::move(shape), values);
}

// A graph under construction whose nodes must fit.
struct Net {
  Graph graph;
  unsigned seed = 1;
  bool whole = false;  // weights are whole numbers

  ValueId input(Shape shape) {
    const ValueId x = graph.input("x" + std::to_string(graph.inputs.size()), {DType::F32, std::move(shape)});
    return x;
  }
  ValueId weight(Sizes shape) {
    ++seed;
    return graph.constant(graph.unique_name("w"),
                          whole ? whole_floats(std::move(shape), seed) : random(std::move(shape), seed));
  }
  ValueId positive(Sizes shape) {
    const Tensor numbers = random(shape, ++seed);
    std::vector<float> values;
    for (const float v : numbers.floats()) values.push_back(0.5F + std::abs(v));
    return graph.constant(graph.unique_name("v"), Tensor::of(std::move(shape), std::move(values)));
  }
  ValueId add(Op op, std::vector<ValueId> inputs) {
    auto made = graph.add(std::move(op), std::move(inputs), "layer" + std::to_string(graph.nodes.size()));
    EXPECT_TRUE(made) << message(made.error());
    return made ? made->front() : ValueId{};
  }
  ValueId conv(ValueId x, Size from, Size to, Size taps, Size stride = 1, Size groups = 1) {
    Conv conv{.axes = {Order::ChannelsFirst, 2},
              .windows = {{taps, stride, 1}, {taps, stride, 1}},
              .paddings = {{Spelling::SameUpper, 0, 0, {}}, {Spelling::SameUpper, 0, 0, {}}},
              .groups = groups};
    return add(conv, {x, weight({to, from / groups, taps, taps})});
  }
  ValueId norm(ValueId x, Size channels) {
    return add(BatchNorm{}, {x, weight({channels}), weight({channels}), weight({channels}), positive({channels})});
  }
  void give(ValueId y) {
    graph.outputs.push_back(y);
    graph.output_names.push_back("y" + std::to_string(graph.outputs.size()));
  }
};

inline void expect_agreement(const Graph& graph, const std::vector<Tensor>& inputs, double tolerance = 2e-6) {
  const auto plain = run(graph, inputs, {.threads = 1, .kernels = KernelChoice::Plain});
  ASSERT_TRUE(plain) << message(plain.error());
  const Engine engine(std::make_shared<const Graph>(graph));
  const auto one = engine.run(inputs, {.threads = 1});
  ASSERT_TRUE(one) << message(one.error());
  const auto plan = engine.plan_for(inputs, {});
  ASSERT_TRUE(plan && *plan);
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const auto wanted = plain->at(graph.outputs[i]).doubles(), got = (*one)[i].doubles();
    ASSERT_EQ(wanted.size(), got.size());
    double most = 1;
    for (const double v : wanted) most = std::max(most, std::abs(v));
    for (std::size_t k = 0; k < wanted.size(); ++k) ASSERT_NEAR(wanted[k], got[k], tolerance * most) << i << ", " << k;
  }
  for (int threads = 2; threads <= 8; ++threads) {
    const auto more = engine.run(inputs, {.threads = threads});
    ASSERT_TRUE(more);
    for (std::size_t i = 0; i < graph.outputs.size(); ++i)
      EXPECT_TRUE(std::ranges::equal((*one)[i].bytes(), (*more)[i].bytes())) << threads << " threads";
  }
}

inline std::vector<std::string> steps_of(const Graph& graph, const std::vector<Tensor>& inputs) {
  const Engine engine(std::make_shared<const Graph>(graph));
  const auto plan = engine.plan_for(inputs, {});
  std::vector<std::string> all;
  if (plan && *plan)
    for (const auto& step : (*plan)->steps()) all.push_back(step->what);
  return all;
}

}  // namespace convoy::test
