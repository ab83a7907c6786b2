#include "graph/time_first.h"

#include "graph/text.h"

#include <gtest/gtest.h>

namespace convoy::time_first_test {
namespace {

Graph parsed(const std::string& text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << message(graph.error());
  return graph ? std::move(*graph) : Graph();
}

constexpr const char* weights = R"(
const w float32[12,5] = seed 1
const r float32[12,3] = seed 2
)";

TEST(TimeFirst, TakesTheTransposesOnBothSidesOfACell) {
  const Graph graph = parsed(std::string("input x float32[4,2,5]") + weights +
                             "turned = transpose(x) permutation=1,0,2\n"
                             "cell = lstm(turned, w, r) gates=torch returns_sequence=true\n"
                             "back = transpose(cell) permutation=1,0,2\n"
                             "y = unsqueeze(back) axes=1\n"
                             "output y\n");
  const TimeFirst found = time_first(graph);
  EXPECT_EQ(found.transposes, 0U);
  ASSERT_EQ(found.cells.size(), 1U);
  const TimeFirst::Cell& cell = found.cells.begin()->second;
  EXPECT_EQ(graph[cell.x].name, "x");
  EXPECT_EQ(graph[cell.y].name, "y");
  EXPECT_TRUE(cell.made);
}

TEST(TimeFirst, LeavesATransposeThatSomebodyElseReads) {
  const Graph graph = parsed(std::string("input x float32[4,2,5]") + weights +
                             "turned = transpose(x) permutation=1,0,2\n"
                             "cell = lstm(turned, w, r) gates=torch returns_sequence=true\n"
                             "back = transpose(cell) permutation=1,0,2\n"
                             "y = unsqueeze(back) axes=1\n"
                             "also = relu(turned)\n"
                             "more = relu(back)\n"
                             "output y\noutput also\noutput more\n");
  const TimeFirst found = time_first(graph);
  EXPECT_EQ(found.transposes, 3U);  // both stay, and the cell's output has to be turned
  EXPECT_FALSE(found.cells.begin()->second.made);
}

TEST(TimeFirst, WantsTheSequenceOfABackwardsCellInTheOrderOfTime) {
  const std::string before = std::string("input x float32[4,2,5]") + weights +
                             "turned = transpose(x) permutation=1,0,2\n"
                             "cell = lstm(turned, w, r) gates=torch backwards=true returns_sequence=true\n";
  const Graph as_walked = parsed(before +
                                 "back = transpose(cell) permutation=1,0,2\n"
                                 "y = unsqueeze(back) axes=1\noutput y\n");
  EXPECT_FALSE(time_first(as_walked).cells.begin()->second.made);
  const Graph in_time = parsed(before +
                               "timely = slice(cell) axis=1 step=-1\n"
                               "back = transpose(timely) permutation=1,0,2\n"
                               "y = unsqueeze(back) axes=1\noutput y\n");
  EXPECT_TRUE(time_first(in_time).cells.begin()->second.made);
  const Graph read_so = parsed(before + "timely = slice(cell) axis=1 step=-1\ny = relu(timely)\noutput y\n");
  const TimeFirst found = time_first(read_so);
  EXPECT_EQ(read_so[found.cells.begin()->second.in_time].name, "timely");
  EXPECT_EQ(found.transposes, 1U);
}

TEST(TimeFirst, TakesStatesAndTheLastCellWithTheirAxisInFront) {
  const Graph graph =
      parsed(std::string("input x float32[4,2,5]\ninput h float32[1,2,3]\ninput c float32[1,2,3]\n") + weights +
             "turned = transpose(x) permutation=1,0,2\n"
             "h0 = squeeze(h) axes=0\n"
             "c0 = squeeze(c) axes=0\n"
             "cell, last = lstm(turned, w, r, _, _, h0, c0) gates=torch returns_sequence=true "
             "returns_cell=true\n"
             "back = transpose(cell) permutation=1,0,2\n"
             "y = unsqueeze(back) axes=1\n"
             "z = unsqueeze(last) axes=0\n"
             "again = relu(c0)\n"
             "output y\noutput z\noutput again\n");
  const TimeFirst found = time_first(graph);
  const TimeFirst::Cell& cell = found.cells.begin()->second;
  EXPECT_TRUE(cell.made);
  EXPECT_EQ(graph[cell.first_state].name, "h");
  EXPECT_EQ(graph[cell.first_cell].name, "c");
  EXPECT_EQ(graph[cell.last_cell].name, "z");
  EXPECT_TRUE(found.goes[1]);   // the squeeze of h
  EXPECT_FALSE(found.goes[2]);  // that of c, which somebody else reads
}

}  // namespace
}  // namespace convoy::time_first_test
