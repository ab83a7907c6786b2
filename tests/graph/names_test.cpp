// What values are called when others come or are renamed.
#include "graph/graph.h"

#include <gtest/gtest.h>

namespace convoy::names_test {
namespace {

const TensorType numbers{DType::F32, {Dim(2), Dim(3)}};

TEST(Names, a_renamed_value_keeps_its_name_from_later_ones) {
  Graph graph;
  const ValueId table = graph.input("constant", numbers);
  const ValueId other = graph.input("other", numbers);
  graph.rename(table, "index");
  EXPECT_EQ(graph[table].name, "index");
  const auto made = graph.add(Relu{}, {other}, "index");
  ASSERT_TRUE(made);
  EXPECT_EQ(graph[made->front()].name, "index.1");
}

TEST(Names, a_renamed_value_leaves_its_former_name_to_others) {
  Graph graph;
  const ValueId first = graph.input("x", numbers);
  const ValueId second = graph.input("y", numbers);
  EXPECT_EQ(graph.unique_name("x"), "x.1");
  graph.rename(first, "x");  // its own name stays
  EXPECT_EQ(graph[first].name, "x");
  graph.rename(first, "y");
  EXPECT_EQ(graph[first].name, "y.1");
  graph.rename(second, "x");
  EXPECT_EQ(graph[second].name, "x");
}

}  // namespace
}  // namespace convoy::names_test
