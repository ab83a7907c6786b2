// Graphs in the text form, and the module that is written for each: tests/formats/torch/*.graph beside *.py.
#include "formats/torch/torch.h"
#include "graph/text.h"
#include "support/files.h"

#include <gtest/gtest.h>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace convoy::torch::source_test {
namespace {

const std::filesystem::path here = "tests/formats/torch";

Graph graph_in(const std::filesystem::path& file) {
  auto graph = parse_graph(content_of(file));
  EXPECT_TRUE(graph) << file << ": " << (graph ? "" : message(graph.error()));
  if (!graph) return {};
  graph->source_format = "Keras 3.15.1";
  return std::move(*graph);
}

SourceOptions options_for(const std::string& name) {
  return {.source_file = name + ".keras",
          .module_name = name,
          .weights_file = name + ".safetensors",
          .check_file = name + ".check.safetensors",
          .weights_sha256 = "0123",
          .fixed_size = name.starts_with("fixed")};
}

// CONVOY_UPDATE=1 writes the expected modules anew; look at the difference before keeping them.
TEST(TorchSource, IsWhatTheFilesSay) {
  int seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(here)) {
    if (entry.path().extension() != ".graph") continue;
    SCOPED_TRACE(entry.path().string());
    const auto expected = std::filesystem::path(entry.path()).replace_extension(".py");
    const auto source = write_source(graph_in(entry.path()), options_for(entry.path().stem().string()));
    ASSERT_TRUE(source) << message(source.error());
    if (std::getenv("CONVOY_UPDATE")) std::ofstream(expected, std::ios::binary) << source->text;
    EXPECT_EQ(source->text, content_of(expected));
    ++seen;
  }
  EXPECT_GT(seen, 0);
}

TEST(TorchSource, NamesTensorsAsPyTorchDoes) {
  const auto parameters = state_dict(graph_in(here / "residual.graph"));
  ASSERT_TRUE(parameters) << message(parameters.error());
  std::vector<std::string> names;
  for (const Parameter& p : *parameters) names.push_back(p.name);
  EXPECT_EQ(names, (std::vector<std::string>{"stem.weight", "stem.bias", "bn.weight", "bn.bias", "bn.running_mean",
                                             "bn.running_var", "bn.num_batches_tracked", "body.weight", "head.weight",
                                             "head.bias"}));
}

TEST(TorchSource, RefusesWhatAPassShouldHaveRewritten) {
  auto graph = parse_graph(
      "input x float32[?,8,8,3]\nconst k float32[3,3,3,4] = seed 1\n"
      "conv = conv(x, k, _) axes=channels_last/2 kernel_order=space_in_out windows=3,3 paddings=valid,valid\noutput "
      "conv\n");
  ASSERT_TRUE(graph) << message(graph.error());
  const auto source = write_source(*graph, options_for("net"));
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().fault, Fault::Internal);
  EXPECT_NE(message(source.error()).find("layer 'conv'"), std::string::npos);
}

TEST(TorchSource, LetsNoNameOutOfItsText) {
  auto graph = parse_graph("input x float32[?,4]\nr = relu(x)\noutput r\n");
  ASSERT_TRUE(graph);
  graph->nodes[0].layer = "a\"\"\"\nimport os; #";
  SourceOptions options = options_for("net");
  options.source_file = "\"\"\"\nimport os\n{os}";
  const auto source = write_source(*graph, options);
  ASSERT_TRUE(source);
  EXPECT_EQ(source->text.find("\nimport os"), std::string::npos);
  EXPECT_EQ(source->text.find("{os}"), std::string::npos);
}

}  // namespace
}  // namespace convoy::torch::source_test
