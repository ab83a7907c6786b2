#include "port/pair.h"

#include "formats/source.h"
#include "port/port.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace convoy::pair_test {
namespace {

namespace fs = std::filesystem;

class Pairs : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path written(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }

  const fs::path folder_ = fs::temp_directory_path() / ("convoy-pairs-" + std::to_string(getpid()));
  const fs::path digits_ = "examples/digits.keras";
};

TEST_F(Pairs, SourceTakesTheShapeOfTheOtherAsItsFrameworkHasIt) {
  PortOptions options;
  options.output = folder_ / "net.py";
  ASSERT_TRUE(port(digits_, options));
  ASSERT_FALSE(load(options.output));  // a module leaves its shape to its caller
  for (const bool turned : {false, true}) {
    LoadOptions of_a, of_b;
    const auto pair =
        turned ? load_pair(options.output, of_a, digits_, of_b) : load_pair(digits_, of_a, options.output, of_b);
    ASSERT_TRUE(pair) << message(pair.error());
    const Graph& module = turned ? pair->a : pair->b;
    EXPECT_EQ(text_of(module[module.inputs[0]].type.shape), "[N, 1, 8, 8]");
    EXPECT_EQ((turned ? of_a : of_b).shapes.count(""), 1U);
  }
}

TEST_F(Pairs, SourceTakesShapesAndTypesOfSeveralInputsByName) {
  const std::string net =
      "import torch.nn as nn\nclass Net(nn.Module):\n    def forward(self, x, rows):\n        return x[:, :4] * 2 + "
      "rows\n";
  LoadOptions of_a, of_b;
  of_a.shapes = {{"x", {Dim(2), Dim(5)}}, {"rows", {Dim(2), Dim(4)}}};
  of_a.types = {{"rows", DType::U8}};
  const auto pair = load_pair(written("a.py", net), of_a, written("b.py", net), of_b);
  ASSERT_TRUE(pair) << message(pair.error());
  const Graph& module = pair->b;
  ASSERT_EQ(module.inputs.size(), 2U);
  EXPECT_EQ(text_of(module[module.inputs[0]].type.shape), "[2, 5]");
  EXPECT_EQ(text_of(module[module.inputs[1]].type.shape), "[2, 4]");
  EXPECT_EQ(module[module.inputs[1]].type.dtype, DType::U8);
}

TEST_F(Pairs, AShapeInTheOthersOrderOfAxesIsTurned) {
  const fs::path module = written("net.py",
                                  "import torch.nn as nn\nmodel = nn.Sequential(nn.Conv2d(1, 4, 3), nn.Flatten(), "
                                  "nn.Linear(4 * 6 * 6, 10))\n");
  LoadOptions of_a, of_b;
  of_a.for_one_model = of_b.for_one_model = false;
  of_a.shapes[""] = of_b.shapes[""] = {Dim::unknown(), Dim(8), Dim(8), Dim(1)};
  const auto pair = load_pair(digits_, of_a, module, of_b);
  ASSERT_TRUE(pair) << message(pair.error());
  EXPECT_EQ(text_of(pair->b[pair->b.inputs[0]].type.shape), "[N, 1, 8, 8]");
}

// The sizes fit either way, for a pool has no weights: the layers behind the transpose tell where the input's channels are.
TEST_F(Pairs, SourceThatTurnsItsInputItselfTakesItAsItStands) {
  const fs::path original = written("pool.py",
                                    "import keras\nfrom keras import layers\nx = keras.Input((7, 5))\n"
                                    "model = keras.Model(x, layers.MaxPooling1D(2)(x))\n");
  const std::string head =
      "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\nclass Net(nn.Module):\n";
  const std::vector<std::pair<std::string, std::string>> rows{
      {"F.max_pool1d(x.transpose(1, 2), 2).transpose(1, 2)", "[N, 7, 5]"},
      {"F.max_pool1d(x.permute(0, 2, 1), 2)", "[N, 7, 5]"},
      {"F.max_pool1d(x, 2)", "[N, 5, 7]"},
      {"F.max_pool1d(x, 2).transpose(1, 2)", "[N, 5, 7]"},
      {"x.transpose(1, 2) * 2", "[N, 5, 7]"},
  };
  for (const auto& [body, shape] : rows) {
    const fs::path module = written("net.py", head + "    def forward(self, x):\n        return " + body + "\n");
    for (const bool turned : {false, true}) {
      LoadOptions of_a, of_b;
      const std::string net = module.string() + ":Net";
      const auto pair = turned ? load_pair(net, of_a, original, of_b) : load_pair(original, of_a, net, of_b);
      ASSERT_TRUE(pair) << body << message(pair.error());
      const Graph& read = turned ? pair->a : pair->b;
      EXPECT_EQ(text_of(read[read.inputs[0]].type.shape), shape) << body;
    }
  }
}

TEST_F(Pairs, WhatIsWrongWithSourceIsStillSaid) {
  const fs::path broken = written("net.py", "import torch.nn as nn\nmodel = nn.Conv2d(1, 4, kernel=3)\n");
  LoadOptions of_a, of_b;
  const auto pair = load_pair(digits_, of_a, broken, of_b);
  ASSERT_FALSE(pair);
  EXPECT_NE(message(pair.error()).find("kernel"), std::string::npos) << message(pair.error());
}

TEST_F(Pairs, APortBringsItsWeights) {
  PortOptions options;
  options.output = folder_ / "net.py";
  ASSERT_TRUE(port(digits_, options));
  EXPECT_EQ(*weights_beside(options.output), folder_ / "net.safetensors");
  EXPECT_EQ(*weights_beside(folder_ / "net.py:Digits(3)"), folder_ / "net.safetensors");
  std::ofstream(folder_ / "net.safetensors", std::ios::app) << "x";
  const auto other = weights_beside(options.output);  // no longer those that it names
  ASSERT_FALSE(other);
  EXPECT_NE(message(other.error()).find("net.py: names other weights than 'net.safetensors'"), std::string::npos)
      << message(other.error());
  EXPECT_FALSE(weights_beside(written("other.py", "model = 1\n"))->has_value());
  EXPECT_FALSE(weights_beside("-")->has_value());
}

}  // namespace
}  // namespace convoy::pair_test
