// What a program asked of its sizes, asked of others.
#include "graph/size_condition.h"

#include <gtest/gtest.h>

#include <string>

namespace convoy::size_condition_test {
namespace {

// Whether a condition on x [2, 3, 8, 7] and y [8] is refused there.
bool refuses(const std::string& condition) {
  Graph graph;
  const Shape x{Dim(2), Dim(3), Dim(8), Dim(7)}, y{Dim(8)};
  graph.inputs = {graph.input("x", {DType::F32, Shape(4, Dim::unknown())}), graph.input("y", {DType::F32, y})};
  graph.conditions = {condition};
  const auto met = expect_conditions(graph, {x, y});
  if (!met) {
    EXPECT_EQ(met.error().fault, Fault::Usage);
    EXPECT_EQ(message(met.error()),
              "the program holds where " + condition +
                  ": at [2, 3, 8, 7], [8] it fails, or goes another way, which is not in the file");
  }
  return !met;
}

TEST(SizeCondition, IsAnsweredAsPythonDoes) {
  for (const char* holds :
       {"x.shape[2] > x.shape[3]", "(x.shape[3] % 2) != 0", "x.shape[2] == y.shape[0]", "x.shape[3] // 2 == 3",
        "-x.shape[3] // 2 == -4", "-7 % 4 == 1", "2 < x.shape[1] <= 3", "x.shape[1]*x.shape[2] == 24",
        "not x.shape[2] < x.shape[3]", "x.shape[2] < 3 or x.shape[3] == 7", "x.shape[2] - x.shape[3] - 1 == 0",
        "x.shape[2] / 4 == 2", "math.trunc(1.1*torch.sym_float(x.shape[2])) == 8", "math.ceil(x.shape[3] / 2) == 4",
        "-2 ** 2 == -4"})
    EXPECT_FALSE(refuses(holds)) << holds;
  for (const char* fails : {"x.shape[2] < x.shape[3]", "(x.shape[3] % 2) == 0", "x.shape[2] != y.shape[0]",
                            "x.shape[3] // 2 == 4", "2 < x.shape[1] < 3", "x.shape[2] > 3 and x.shape[3] == 8",
                            "not (x.shape[2] == 8)", "1 + 2*x.shape[3] == 21", "x.shape[2] - (x.shape[3] - 1) == 0",
                            "math.trunc(1.1*torch.sym_float(x.shape[2])) == 9", "x.shape[2] / 3 == 1"})
    EXPECT_TRUE(refuses(fails)) << fails;
}

TEST(SizeCondition, WhatIsNotUnderstoodAsksNothing) {
  for (const char* unknown :
       {"", "x.shape[9] == 1", "z.shape[0] == 1", "x.stride()[0] == 1", "math.log(x.shape[2]) == 1",
        "x.shape[2] == 9 if 1 else 2", "x.shape[2] % 0 == 1", "9223372036854775807 + x.shape[0] == 1", "x.shape[2 == 1",
        "1 == 2)", "orx.shape[2] == 1"})
    EXPECT_FALSE(refuses(unknown)) << unknown;
  EXPECT_FALSE(refuses(std::string(100000, '(') + "1 == 2"));
  EXPECT_FALSE(refuses(std::string(100000, '-') + "1 == 2"));
}

TEST(SizeCondition, AFreeSizeAsksNothingAndAnInferredGraphIsRefused) {
  Graph graph;
  graph.inputs = {graph.input("x", {DType::F32, {Dim::unknown(), Dim::unknown()}})};
  graph.outputs = {graph.add(Relu{}, graph.inputs, "act")->front()};
  graph.output_names = {"act"};
  graph.conditions = {"x.shape[0] > x.shape[1]"};
  EXPECT_TRUE(expect_conditions(graph, {{Dim(2), Dim::unknown()}}));
  EXPECT_TRUE(with_input_shapes(graph, {{Dim(4), Dim(3)}}));
  EXPECT_FALSE(with_input_shapes(graph, {{Dim(3), Dim(4)}}));
}

}  // namespace
}  // namespace convoy::size_condition_test
