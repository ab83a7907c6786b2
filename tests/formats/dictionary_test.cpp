// Models that take and give dictionaries: their names, the order of them, and text that says the same again.
#include "formats/source.h"
#include "formats/torch/torch.h"
#include "graph/graph.h"

#include <gtest/gtest.h>

namespace convoy::dictionary_test {
namespace {

std::vector<std::string> inputs_of(const Graph& graph) {
  std::vector<std::string> names;
  for (const ValueId v : graph.inputs) names.push_back(graph[v].name);
  return names;
}

using Words = std::vector<std::string>;

// Keras flattens a dictionary sorted by its keys: keras.tree.flatten.
TEST(Dictionary, OfAKerasModelIsSortedByName) {
  const std::string text = R"(
import keras
from keras import layers

def build():
    zebra, apple = keras.Input((4,), name="zebra"), keras.Input((3,), name="apple")
    outputs = {"two": layers.Dense(2)(zebra), "one": layers.Dense(5)(apple)}
    return keras.Model({"zebra": zebra, "apple": apple}, outputs)
)";
  const auto graph = read_source_text(text, "build", {});
  ASSERT_TRUE(graph) << message(graph.error());
  EXPECT_TRUE(graph->inputs_by_name);
  EXPECT_TRUE(graph->outputs_by_name);
  EXPECT_EQ(inputs_of(*graph), (Words{"apple", "zebra"}));
  EXPECT_EQ(graph->output_names, (Words{"one", "two"}));
  EXPECT_EQ((*graph)[graph->outputs[0]].type.shape[1], Dim(5));
}

TEST(Dictionary, OfAKerasModelWithoutOneIsNone) {
  const std::string text = R"(
import keras
from keras import layers

def build():
    zebra, apple = keras.Input((4,), name="zebra"), keras.Input((3,), name="apple")
    return keras.Model([zebra, apple], [layers.Dense(2)(zebra), layers.Dense(5)(apple)])
)";
  const auto graph = read_source_text(text, "build", {});
  ASSERT_TRUE(graph) << message(graph.error());
  EXPECT_FALSE(graph->inputs_by_name || graph->outputs_by_name);
  EXPECT_EQ(inputs_of(*graph), (Words{"zebra", "apple"}));
}

TEST(Dictionary, OfAModuleKeepsItsOrderAndIsWrittenAgain) {
  const std::string text = R"(
import torch
from torch import nn

class Net(nn.Module):
    def forward(self, batch):
        return {"main": batch["zebra"].relu(), "also": batch["apple"] * 2}
)";
  LoadOptions options;
  options.shapes["zebra"] = {Dim(2), Dim(4)};
  options.shapes["apple"] = {Dim(2), Dim(3)};
  const auto graph = read_source_text(text, "Net", options);
  ASSERT_TRUE(graph) << message(graph.error());
  EXPECT_TRUE(graph->inputs_by_name);
  EXPECT_TRUE(graph->outputs_by_name);
  EXPECT_EQ(inputs_of(*graph), (Words{"zebra", "apple"}));
  EXPECT_EQ(graph->output_names, (Words{"main", "also"}));
  const auto written = torch::write_source(*graph, {.source_file = "net.py", .module_name = "port"});
  ASSERT_TRUE(written) << message(written.error());
  EXPECT_NE(written->text.find("def forward(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:"), std::string::npos)
      << written->text;
  EXPECT_NE(written->text.find("zebra = inputs[\"zebra\"]\n"), std::string::npos) << written->text;
  EXPECT_NE(written->text.find("return {\"main\": "), std::string::npos) << written->text;
}

TEST(Dictionary, OfNoneKeepsATupleOfOne) {
  for (const auto& [answer, in_tuple] :
       {std::pair{"(y,)", true}, {"[y]", true}, {"(y, None)", true}, {"y", false}, {"(y, y * 2)", false}}) {
    const std::string text = std::string(R"(
import torch
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        y = x.relu()
        return )") + answer + "\n";
    LoadOptions options;
    options.shapes["x"] = {Dim(2), Dim(4)};
    const auto graph = read_source_text(text, "Net", options);
    ASSERT_TRUE(graph) << message(graph.error());
    EXPECT_EQ(graph->one_output_in_tuple, in_tuple) << answer;
    const auto written = torch::write_source(*graph, {.source_file = "net.py", .module_name = "port"});
    ASSERT_TRUE(written) << message(written.error());
    EXPECT_EQ(written->text.find(",)\n") != std::string::npos, in_tuple) << written->text;
    EXPECT_EQ(written->text.find("-> tuple[Tensor]:") != std::string::npos, in_tuple) << written->text;
    EXPECT_EQ(written->text.find("load()(stored[\"input\"])[0]") != std::string::npos, in_tuple) << written->text;
  }
}

TEST(Dictionary, IsNoneWhereTheParameterIsReadWhole) {
  const std::string text = R"(
import torch
from torch import nn

class Net(nn.Module):
    def forward(self, batch):
        return torch.relu(batch)
)";
  LoadOptions options;
  options.shapes["batch"] = {Dim(2), Dim(4)};
  const auto graph = read_source_text(text, "Net", options);
  ASSERT_TRUE(graph) << message(graph.error());
  EXPECT_FALSE(graph->inputs_by_name || graph->outputs_by_name);
}

}  // namespace
}  // namespace convoy::dictionary_test
