// What a result becomes in the type of its value: rounded to 16 bits after each operator, computed in 64, wrapped around.
#include "run/held.h"
#include "graph/element_types.h"
#include "run/one_node.h"
#include "support/graphs.h"

namespace convoy::run_test {
namespace {

using test::numbers;

// x + 1 + 1 in this type.
Graph twice_one_more(DType dtype) {
  Graph graph;
  const ValueId x = graph.input("x", {dtype, {2}});
  const ValueId one = graph.constant("one", numbers({2}, {1, 1}).converted(dtype));
  const ValueId first = graph.add(Binary{BinaryFunction::Add}, {x, one}, "first")->front();
  graph.outputs = {graph.add(Binary{BinaryFunction::Add}, {first, one}, "second")->front()};
  graph.output_names = {"second"};
  return graph;
}

std::vector<double> answers(const Graph& graph, const Tensor& x, Precision precision = Precision::Single) {
  const auto values = run(graph, {x}, {.precision = precision});
  EXPECT_TRUE(values) << message(values.error());
  return values ? values->at(graph.outputs[0]).doubles() : std::vector<double>();
}

// From 2048 on float16 has every second number, bfloat16 from 256: a half goes to the even neighbour, twice.
TEST(Held, TypesOf16BitsAreRoundedAfterEachOperator) {
  EXPECT_EQ(answers(twice_one_more(DType::F16), numbers({2}, {2048, 2047})), (std::vector<double>{2048, 2048}));
  EXPECT_EQ(answers(twice_one_more(DType::BF16), numbers({2}, {256, 255})), (std::vector<double>{256, 256}));
  EXPECT_EQ(answers(twice_one_more(DType::F32), numbers({2}, {2048, 2047})), (std::vector<double>{2050, 2049}));
}

TEST(Held, WhatIsFedIsOfTheTypeOfTheInput) {
  EXPECT_EQ(answers(twice_one_more(DType::F16), numbers({2}, {2049, 0.1F})),
            (std::vector<double>{2048, 2.099609375}));  // 0.1 is 0.0999755859375 there, 1.0999755859375 is 1.099609375
}

TEST(Held, TheReferenceRoundsNothing) {
  EXPECT_EQ(answers(twice_one_more(DType::F16), numbers({2}, {2048, 2047}), Precision::Double),
            (std::vector<double>{2050, 2049}));
}

TEST(Held, Float64IsComputedInFloat64) {
  const Tensor x = Tensor::of({2}, std::vector<double>{0x1p24, 0x1p53});
  const auto values = run(twice_one_more(DType::F64), {x});
  ASSERT_TRUE(values) << message(values.error());
  const Tensor& y = values->at(twice_one_more(DType::F64).outputs[0]);
  EXPECT_EQ(y.dtype(), DType::F64);
  EXPECT_EQ(y.doubles(), (std::vector<double>{0x1p24 + 2, 0x1p53}));
}

// 2^24 + 1 is no float32: compared as such the two would be equal.
TEST(Held, AComparisonComputesInTheTypeThatItReads) {
  Graph graph;
  const ValueId x = graph.input("x", {DType::F64, {2}});
  const ValueId limit = graph.constant("limit", Tensor::of({2}, std::vector<double>{0x1p24, 0x1p24}));
  graph.outputs = {graph.add(Binary{BinaryFunction::Greater}, {x, limit}, "more")->front()};
  graph.output_names = {"more"};
  EXPECT_EQ(answers(graph, Tensor::of({2}, std::vector<double>{0x1p24 + 1, 0x1p24})), (std::vector<double>{1, 0}));
}

TEST(Held, AGraphIsCarriedInAnotherTypeWithItsWeightsAndCasts) {
  Graph graph = twice_one_more(DType::F16);
  const ValueId wide = graph.add(Cast{DType::F64}, {graph.outputs[0]}, "wide")->front();
  graph.outputs = {wide};
  EXPECT_FALSE(computes_in(graph, DType::F16));
  ASSERT_TRUE(change_reals(graph, DType::F32));
  EXPECT_TRUE(computes_in(graph, DType::F32));
  EXPECT_EQ(graph.values[1].constant->dtype(), DType::F32);
  EXPECT_EQ(answers(graph, numbers({2}, {2048, 2047})), (std::vector<double>{2050, 2049}));
}

}  // namespace
}  // namespace convoy::run_test
