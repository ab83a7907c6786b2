// Which model of a program is meant: by an expression of its names, or by which class makes which.
#include "formats/source.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace convoy::source_target_test {
namespace {

const std::string program =
    "import torch.nn as nn\n"
    "class Net(nn.Module):\n"
    "    def __init__(self, block, sizes):\n"
    "        super().__init__()\n"
    "        self.first = block(3, sizes[0])\n"
    "    def forward(self, x):\n"
    "        return self.first(x)\n"
    "    @classmethod\n"
    "    def from_name(cls, name):\n"
    "        return cls(Block, [len(name)])\n"
    "class Block(nn.Module):\n"
    "    def __init__(self, i, o):\n"
    "        super().__init__()\n"
    "        self.c = nn.Conv2d(i, o, (3, 2))\n"
    "    def forward(self, x):\n"
    "        return self.c(x)\n"
    "class Maker:\n"
    "    def __init__(self, n):\n"
    "        self.n = n\n"
    "    def model(self):\n"
    "        return nn.Sequential(nn.Conv2d(3, self.n, 1))\n";

// The output's shape of what is meant, for [1, 3, 9, 7]; else the sentence of the refusal.
std::string shape_of(const std::string& text, const std::string& part) {
  LoadOptions options;
  options.shapes[""] = Shape{1, 3, 9, 7};
  const auto graph = read_source_text(text, part, options);
  if (!graph) return message(graph.error());
  std::string sizes;
  for (const Dim n : (*graph)[graph->outputs[0]].type.shape) sizes += std::to_string(*n) + " ";
  return sizes;
}

TEST(SourceTarget, IsAnyExpressionOfTheFilesNames) {
  EXPECT_EQ(shape_of(program, "Net(Block, [5, 4])"), "1 5 7 6 ");
  EXPECT_EQ(shape_of(program, "Net.from_name('abcd')"), "1 4 7 6 ");
  EXPECT_EQ(shape_of(program, "Net.from_name(')(')"), "1 2 7 6 ");
  EXPECT_EQ(shape_of(program, "Maker(6).model()"), "1 6 9 7 ");
  EXPECT_NE(shape_of(program, "Maker(6).n").find("'Maker(6).n' is a int, which is no model"), std::string::npos);
}

TEST(SourceTarget, WithoutANameIsTheClassThatNoOtherMakes) {
  const std::string with_default = program.substr(0, program.find("block, sizes")) + "block=None, sizes=(8,)" +
                                   program.substr(program.find("block, sizes") + 12);
  std::string text = with_default;
  text.replace(text.find("block(3"), 5, "Block");
  EXPECT_EQ(shape_of(text, ""), "1 8 7 6 ");
}

TEST(SourceTarget, MayStandInANotebook) {
  const std::filesystem::path file = ::testing::TempDir() + "convoy_notebook.ipynb";
  std::ofstream(file) << R"json({"cells":[{"cell_type":"markdown","source":["no code"]},
    {"cell_type":"code","source":["%matplotlib inline\n","import torch.nn as nn"]},
    {"cell_type":"code","source":"net = nn.Conv2d(3, 4, (3, 2))"}],"nbformat":4})json";
  LoadOptions options;
  options.shapes[""] = Shape{1, 3, 9, 7};
  const auto graph = read_source(file, options);
  ASSERT_TRUE(graph) << message(graph.error());
  EXPECT_EQ(graph->nodes.size(), 1U);
  EXPECT_TRUE(is_source("book.ipynb:net"));
  EXPECT_EQ(file_of("book.ipynb:net"), "book.ipynb");
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace convoy::source_target_test
