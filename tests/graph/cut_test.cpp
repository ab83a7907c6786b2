// A graph that ends at layers of its own.
#include "graph/cut.h"

#include "graph/text.h"

#include <gtest/gtest.h>

namespace convoy::cut_test {
namespace {

TEST(Cut, names_that_are_none_say_what_is_near) {
  Graph graph;
  const ValueId x = graph.input("x", {DType::F32, {Dim(2), Dim(3)}});
  const auto first = graph.add(Relu{}, {x}, "encoder.act");
  ASSERT_TRUE(first);
  const auto second = graph.add(Relu{}, {first->front()}, "encoder.last");
  ASSERT_TRUE(second);
  const auto third = graph.add(Binary{BinaryFunction::Add}, {first->front(), second->front()}, "head");
  ASSERT_TRUE(third);
  graph.outputs = {third->front()};
  graph.output_names = {"head"};

  const auto cut = cut_at(graph, {"encoder.last", "encoder.act"});
  ASSERT_TRUE(cut) << message(cut.error());
  EXPECT_EQ(cut->nodes.size(), 2u);
  EXPECT_EQ(cut->output_names, (std::vector<std::string>{"encoder.last", "encoder.act"}));
  EXPECT_EQ((*cut)[cut->outputs[0]].name, "encoder.last");
  EXPECT_TRUE(check(*cut)) << text_of(*cut);

  const auto none = cut_at(graph, {"encoder.lats"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().fault, Fault::Usage);
  EXPECT_EQ(none.error().what, "the model has no layer 'encoder.lats' to cut at; did you mean 'encoder.last'?");

  // Both of its values are read behind it.
  const auto several = cut_at(graph, {"encoder"});
  ASSERT_FALSE(several);
  EXPECT_NE(
      several.error().what.find("gives 2 values to what is behind it; cut at one of them: encoder.act, encoder.last"),
      std::string::npos)
      << several.error().what;
}

}  // namespace
}  // namespace convoy::cut_test
